# SPDX-License-Identifier: Apache-2.0
"""The engine against ``offramp.leo.functions.ebs``: every answer and every bucket, whatever memory and streams do."""

import random
import struct

import cocotb
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiStreamFrame
from offramp_pynq.packets import answer, request
from offramp_pynq.registers import EBS_LOOKUP_REGS as REGISTERS
from offramp_pynq.registers import EBS_LOOKUP_REGS_VERSION

from offramp.device import Status
from offramp.leo.functions import ebs
from offramp.leo.memory import HostMemory
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.memory import AxiMemory
from offramp_sim.rtl.models.streams import registers, sink, source
from rtl.coverage import Coverage

BASE = 0x2_0000_0000
LAYOUT = ebs.TableLayout(16, 100, 60)
BLOCKS = (5000, 1, 512, 513, 2048, 600, 700, 800, 900, 1000, 100)


class Bench:
    """An engine with tables behind it, and the model with the same."""

    def __init__(self, dut, seed=1, idle=0.0, pause=0.0, latency=1, stall=0.0, rate=50, burst=2**18):
        self.dut = dut
        self.dice = random.Random(seed)
        self.beat = len(dut.s_axis_tdata) // 8
        self.requests = source(dut, "s_axis", idle=idle, seed=seed)
        self.answers = sink(dut, "m_axis", pause=pause, seed=seed + 1)
        self.registers = registers(dut)
        self.memory = HostMemory(LAYOUT.size)
        self.model = ebs.EbsTables(self.memory, LAYOUT)
        for volume, blocks in enumerate(BLOCKS):
            self.model.add_volume(volume, blocks, self.dice.randrange(rate), self.dice.randrange(burst))
            for segment in range(-(-blocks // ebs.SEGMENT)):
                if self.dice.random() < 0.8:
                    place = self.dice.randrange(60), 1 + self.dice.getrandbits(63)
                    self.model.map(volume, segment, self.dice.getrandbits(32), *place)
        self.ports = [
            AxiMemory(dut, f"m_axi_{name}", LAYOUT.size, base=BASE, latency=latency, stall=stall, seed=seed + n)
            for n, name in enumerate(("volumes", "entries", "addresses"))
        ]
        self.content = self.ports[0].content
        self.content[:] = self.memory.view
        for port in self.ports[1:]:
            port.content = self.content
        self.now = 0

    async def start(self):
        await start(self.dut)
        await self.configure()

    async def configure(self):
        assert await self.read("VERSION") == EBS_LOOKUP_REGS_VERSION
        for name, value in (
            ("BASE_LOW", BASE & 0xFFFFFFFF),
            ("BASE_HIGH", BASE >> 32),
            ("VOLUMES", LAYOUT.volumes),
            ("ENTRIES", LAYOUT.blocks_at),
            ("ADDRESSES", LAYOUT.addresses_at),
            ("SEGMENTS", LAYOUT.segments),
        ):
            await self.write(name, value)

    async def read(self, name):
        return int.from_bytes((await self.registers.read(REGISTERS[name], 4)).data, "little")

    async def write(self, name, value):
        await self.registers.write(REGISTERS[name], value.to_bytes(4, "little"))

    def reads(self, count):
        """Messages to the model and to the engine alike."""
        requests = []
        for _ in range(count):
            self.now += self.dice.randrange(20)
            start = self.dice.getrandbits(64) if self.dice.random() < 0.05 else self.dice.randrange(1100)
            blocks = self.dice.choice([1, 1, 1, 2, 4, 16, 0, 512, 513, 2**32 - 1])
            tick = self.dice.choice([self.now] * 40 + [0, 2**40 + self.now])
            requests.append(ebs.REQUEST.pack(self.dice.randrange(len(BLOCKS) + 7), blocks, start, tick))
        return requests

    def packet(self, reads, number, words=None, head=0):
        header = struct.pack("<II", head, 3 * len(reads) if words is None else words)
        return request(header, number, [b"".join(reads)], self.beat)

    async def send(self, packet):
        await self.requests.send(AxiStreamFrame(packet))

    async def receive(self):
        frame = await with_timeout(self.answers.recv(), 2_000_000, "ns")
        return answer(bytes(frame.tdata), self.beat)

    def same(self):
        assert self.content == bytes(self.memory.view)
        for port in self.ports:
            assert not port.violations, port.violations[:3]


@cocotb.test()
async def random_reads(dut):
    chosen = settings()
    bench = Bench(dut, **{name: chosen[name] for name in ("seed", "idle", "pause", "latency", "stall")})
    cover = Coverage(outcome=list(ebs.EbsStatus), reads=("none", "one", "more"))
    await bench.start()
    sent, total = [], 0
    for number in range(chosen["packets"]):
        reads = bench.reads(bench.dice.choice((0, 1, 2, 3, 8, bench.dice.randrange(30))))
        await bench.send(bench.packet(reads, number))
        sent.append((number, reads))
        total += len(reads)
        cover.hit(reads=("none", "one")[len(reads)] if len(reads) < 2 else "more")
    for number, reads in sent:
        got = await bench.receive()
        expected = b"".join(bench.model.lookup(each) for each in reads)
        assert (got.status, got.count, got.number) == (0, 2 * len(reads), number)
        assert got.payload[: 16 * len(reads)] == expected
        assert not any(got.payload[16 * len(reads) :])
        for outcome, _, _ in ebs.ANSWER.iter_unpack(expected):
            cover.hit(outcome=ebs.EbsStatus(outcome))
    bench.same()
    assert await bench.read("LOOKUPS") == total
    assert await bench.read("FAULTS") == 0
    assert await bench.read("STATUS") == 0
    cover.check()


@cocotb.test()
async def throughput(dut):
    chosen = settings()
    bench = Bench(dut, latency=chosen["latency"], rate=2, burst=2**30)
    cycles = CycleCounter(dut)
    await bench.start()
    came, went = Handshakes(dut, "s_axis", cycles), Handshakes(dut, "m_axis", cycles)
    volumes = chosen["volumes"]
    reads = [ebs.REQUEST.pack(number % volumes, 1, 0, number) for number in range(chosen["reads"])]
    await bench.send(bench.packet(reads, 1))
    got = await bench.receive()
    assert got.payload[: 16 * len(reads)] == b"".join(bench.model.lookup(each) for each in reads)
    bench.same()
    report(cycles=went.at[-1] - came.at[0])


@cocotb.test()
async def bad_requests(dut):
    bench = Bench(dut, latency=5, idle=0.2, pause=0.2)
    await bench.start()
    reads = bench.reads(5)
    bad = [
        (bench.packet(reads, 2, head=1), Status.UNKNOWN_FUNCTION),
        (bench.packet([], 3, words=1), Status.BAD_LENGTH),
        (bench.packet(reads, 4)[:-8], Status.BAD_LENGTH),
        (bench.packet(reads, 5)[:-3], Status.BAD_LENGTH),
        (bench.packet([*reads, bytes(8)], 6, words=16), Status.BAD_LENGTH),
    ]
    for number, (packet, status) in enumerate(bad, 2):
        await bench.send(packet)
        got = await bench.receive()
        assert (got.status, got.number) == (status, number)
        bench.memory.view[:] = bench.content  # reads of a bad packet may have taken tokens
        await bench.send(bench.packet(reads, 1))
        got = await bench.receive()
        assert (got.status, got.number) == (Status.OK, 1)
        assert got.payload[: 16 * len(reads)] == b"".join(bench.model.lookup(each) for each in reads)
        bench.same()
    for port, volume in ((0, 0), (1, 0), (2, 0)):
        bench.ports[port].fail = set(range(BASE, BASE + LAYOUT.size))
        await bench.send(bench.packet([ebs.REQUEST.pack(volume, 1, start, 10**6) for start in (0, 600, 1100, 1600)], 7))
        assert (await bench.receive()).status == Status.FAILED
        bench.ports[port].fail = set()
    await bench.write("VOLUMES", 1 << 20)  # more than there is memory for
    await bench.send(bench.packet([ebs.REQUEST.pack(1 << 19, 1, 0, 0)], 8))
    assert (await bench.receive()).status == Status.OUT_OF_BOUNDS
    await bench.write("VOLUMES", LAYOUT.volumes)
    bench.ports[0].violations.clear()
    bench.memory.view[:] = bench.content
    await bench.send(bench.packet(reads, 9))
    assert (await bench.receive()).payload[: 16 * len(reads)] == b"".join(bench.model.lookup(each) for each in reads)
    bench.same()


@cocotb.test()
async def aborts_and_resets(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], latency=20, idle=0.3, pause=0.3)
    await bench.start()
    outcomes = {Status.OK: 0, Status.ABORTED: 0}
    for number in range(chosen["rounds"]):
        packets = [bench.reads(bench.dice.randrange(20)) for _ in range(3)]
        for place, reads in enumerate(packets):
            await bench.send(bench.packet(reads, 10 * number + place))
        await ClockCycles(dut.clk, bench.dice.randrange(1, 300))
        if number % 2:
            await bench.write("CONTROL", 1)
            known = True  # what the buckets hold: of an aborted packet some reads may have taken tokens
            for place, reads in enumerate(packets):
                got = await bench.receive()
                outcomes[Status(got.status)] += 1
                assert got.number == 10 * number + place
                known = known and got.status == Status.OK
                if known:
                    expected = b"".join(bench.model.lookup(each) for each in reads)
                    assert got.payload[: 16 * len(reads)] == expected
        else:
            bench.requests.clear()
            await reset(dut, 30)
            bench.requests.clear()
            bench.answers.clear()
            await bench.configure()
        await ClockCycles(dut.clk, 30)
        bench.memory.view[:] = bench.content
        reads = bench.reads(7)
        await bench.send(bench.packet(reads, 5))
        got = await bench.receive()
        expected = b"".join(bench.model.lookup(each) for each in reads)
        assert (got.status, got.payload[: 16 * len(reads)]) == (Status.OK, expected)
        bench.same()
    assert all(outcomes.values()), outcomes
