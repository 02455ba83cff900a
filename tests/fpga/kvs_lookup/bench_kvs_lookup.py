# SPDX-License-Identifier: Apache-2.0
"""The engine against ``offramp.leo.functions.kvs``: every address, in order, whatever memory and streams do."""

import random
import struct

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame
from offramp_pynq.packets import answer, request
from offramp_pynq.registers import KVS_LOOKUP_REGS as REGISTERS
from offramp_pynq.registers import KVS_LOOKUP_REGS_VERSION

from offramp.device import Status
from offramp.leo.functions import kvs
from offramp.leo.memory import HostMemory
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.memory import AxiMemory
from offramp_sim.rtl.models.streams import registers, sink, source
from rtl.coverage import Coverage

BUCKETS = 64
BASE = 0x1_0000_0040
UNKNOWN = 1 << 63  # set in no key of the table


class Bench:
    """An engine with a table of random keys behind it."""

    def __init__(self, dut, seed=1, idle=0.0, pause=0.0, latency=1, stall=0.0):
        self.dut = dut
        self.dice = random.Random(seed)
        self.beat = len(dut.s_axis_tdata) // 8
        self.requests = source(dut, "s_axis", idle=idle, seed=seed)
        self.answers = sink(dut, "m_axis", pause=pause, seed=seed + 1)
        self.registers = registers(dut)
        table = HostMemory(BUCKETS * kvs.LINE)
        self.index = kvs.KeyIndex(table, BUCKETS)
        for _ in range(BUCKETS * 3):
            self.index.insert(self.dice.getrandbits(63), 1 + self.dice.getrandbits(63))
        content = table.read(0, table.size)
        self.table = np.frombuffer(content, np.uint64).reshape(BUCKETS, 4, 2)
        self.known = [int(key) for key, address in self.table.reshape(-1, 2) if address]
        self.memories = [
            AxiMemory(dut, f"m_axi_{port}", len(content), base=BASE, latency=latency, stall=stall, seed=seed + port)
            for port in (0, 1)
        ]
        for memory in self.memories:
            memory.content[:] = content

    async def start(self):
        await start(self.dut)
        await self.configure()

    async def configure(self):
        assert await self.read("VERSION") == KVS_LOOKUP_REGS_VERSION
        await self.write("BASE_LOW", BASE & 0xFFFFFFFF)
        await self.write("BASE_HIGH", BASE >> 32)
        await self.write("MASK", BUCKETS - 1)

    async def read(self, name):
        return int.from_bytes((await self.registers.read(REGISTERS[name], 4)).data, "little")

    async def write(self, name, value):
        await self.registers.write(REGISTERS[name], value.to_bytes(4, "little"))

    def keys(self, count):
        return [
            self.dice.choice(self.known) if self.dice.random() < 0.7 else UNKNOWN | self.dice.getrandbits(63)
            for _ in range(count)
        ]

    def packet(self, keys, number, count=None, head=0):
        header = struct.pack("<II", head, len(keys) if count is None else count)
        return request(header, number, [b"".join(struct.pack("<Q", key) for key in keys)], self.beat)

    async def send(self, packet):
        await self.requests.send(AxiStreamFrame(packet))

    async def receive(self):
        frame = await with_timeout(self.answers.recv(), 400_000, "ns")
        return answer(bytes(frame.tdata), self.beat)

    def expect(self, keys):
        return kvs.lookup(self.table, np.array(keys, np.uint64)).tobytes() if keys else b""

    def check_bounds(self):
        assert not [memory.violations for memory in self.memories if memory.violations]


@cocotb.test()
async def random_requests(dut):
    """Packets of 0 to 40 keys and a few long ones; the model's answer to each, in order."""
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"], chosen["pause"], chosen["latency"], chosen["stall"])
    cover = Coverage(keys=("none", "one", "part of a beat", "beats", "many"), found=(True, False))
    await bench.start()
    sent = []
    for number in range(chosen["packets"]):
        count = bench.dice.choice((0, 1, 2, 3, 8, 16, bench.dice.randrange(40), chosen["longest"]))
        keys = bench.keys(count)
        sent.append((number | bench.dice.getrandbits(20) << 40, keys))
        await bench.send(bench.packet(keys, sent[-1][0]))
        size = "none" if not count else "one" if count == 1 else "many" if count > 40 else None
        cover.hit(keys=size or ("beats" if count % (bench.beat // 8) == 0 else "part of a beat"))
    for number, keys in sent:
        got = await bench.receive()
        expected = bench.expect(keys)
        assert (got.status, got.count, got.number, got.payload[: 8 * len(keys)]) == (0, len(keys), number, expected)
        assert len(got.payload) == -(-8 * len(keys) // bench.beat) * bench.beat
        assert not any(got.payload[8 * len(keys) :])
        for address in np.frombuffer(expected, np.uint64):
            cover.hit(found=bool(address))
    assert await bench.read("LOOKUPS") == sum(len(keys) for _, keys in sent)
    assert await bench.read("FAULTS") == 0
    assert await bench.read("STATUS") == 0
    bench.check_bounds()
    cover.check()


@cocotb.test()
async def throughput(dut):
    """Cycles of one packet of many keys with a far memory, and of a packet of one key with a near one."""
    chosen = settings()
    bench = Bench(dut, latency=chosen["latency"])
    cycles = CycleCounter(dut)
    await bench.start()
    taken, given = Handshakes(dut, "s_axis", cycles), Handshakes(dut, "m_axis", cycles)
    keys = bench.keys(chosen["keys"])
    await bench.send(bench.packet(keys, 7))
    got = await bench.receive()
    assert got.payload[: 8 * len(keys)] == bench.expect(keys)
    for memory in bench.memories:
        assert memory.most_in_flight <= chosen["flight"]
    report(cycles=given.at[-1] - taken.at[0], in_flight=bench.memories[0].most_in_flight)


@cocotb.test()
async def bad_requests(dut):
    """Each gets its status and its number, no read goes astray, and the next good one is answered."""
    bench = Bench(dut, latency=5, idle=0.2, pause=0.2)
    await bench.start()
    keys = bench.keys(11)
    good = bench.packet(keys, 1)
    bad = [
        (bench.packet(keys, 2, head=1), Status.UNKNOWN_FUNCTION),
        (bench.packet(keys, 3, head=0x10000), Status.UNKNOWN_FUNCTION),
        (bench.packet([], 4, head=9), Status.UNKNOWN_FUNCTION),
        (bench.packet(keys, 5, count=12), Status.BAD_LENGTH),
        (bench.packet(keys, 6, count=10), Status.BAD_LENGTH),
        (bench.packet([], 7, count=1), Status.BAD_LENGTH),
        (bench.packet(keys, 8, count=(1 << 32) - 1), Status.BAD_LENGTH),
        (bench.packet(keys, 9)[:-3], Status.BAD_LENGTH),
        (bench.packet(keys, 10)[:-8], Status.BAD_LENGTH),
    ]
    for number, (packet, status) in enumerate(bad, 2):
        await bench.send(packet)
        await bench.send(good)
        got = await bench.receive()
        assert (got.status, got.number) == (status, number)
        got = await bench.receive()
        assert (got.status, got.payload[: 8 * 11]) == (Status.OK, bench.expect(keys))
    await bench.send(good[:3])  # not even a header
    assert (await bench.receive()).status == Status.BAD_LENGTH
    assert await bench.read("FAULTS") == len(bad) + 1
    bench.check_bounds()
    for memory in bench.memories:
        memory.fail = set(range(BASE, BASE + len(memory.content), 64))
    await bench.send(good)
    assert (await bench.receive()).status == Status.FAILED
    for memory in bench.memories:
        memory.fail = set()
    await bench.write("MASK", 4 * BUCKETS - 1)  # a table larger than the memory behind it
    await bench.send(bench.packet(bench.keys(40), 1))
    assert (await bench.receive()).status == Status.OUT_OF_BOUNDS
    await bench.write("MASK", BUCKETS - 1)
    await bench.send(good)
    assert (await bench.receive()).payload[: 8 * 11] == bench.expect(keys)


@cocotb.test()
async def aborts_and_resets(dut):
    """An abort at any moment ends what is unfinished with ABORTED; a reset forgets it; both leave the engine alive."""
    chosen = settings()
    bench = Bench(dut, chosen["seed"], latency=20, idle=0.3, pause=0.3)
    await bench.start()
    outcomes = {Status.OK: 0, Status.ABORTED: 0}
    for number in range(chosen["rounds"]):
        keys = [bench.keys(bench.dice.randrange(60)) for _ in range(3)]
        for place, some in enumerate(keys):
            await bench.send(bench.packet(some, 10 * number + place))
        await ClockCycles(dut.clk, bench.dice.randrange(1, 120))
        if number % 2:
            await bench.write("CONTROL", 1)
            for place, some in enumerate(keys):
                got = await bench.receive()
                outcomes[Status(got.status)] += 1
                assert got.number == 10 * number + place
                if got.status == Status.OK:
                    assert got.payload[: 8 * len(some)] == bench.expect(some)
            continue
        bench.requests.clear()
        await reset(dut, 30)
        bench.requests.clear()
        bench.answers.clear()
        await RisingEdge(dut.clk)
        await bench.configure()
        await bench.send(bench.packet(keys[0], 5))
        got = await bench.receive()
        assert (got.status, got.payload[: 8 * len(keys[0])]) == (Status.OK, bench.expect(keys[0]))
    assert all(outcomes.values()), outcomes
    bench.check_bounds()
