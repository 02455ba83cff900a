# SPDX-License-Identifier: Apache-2.0
"""``reduce`` against its model: sums to the bit, in order, whatever the streams do."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame
from offramp_pynq.packets import answer, request
from offramp_pynq.registers import REDUCE_REGS as REGISTERS
from offramp_pynq.registers import REDUCE_REGS_VERSION

from offramp.device import Status
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.streams import registers, sink, source
from rtl.coverage import Coverage
from rtl.reduce_cases import case


class Bench:
    def __init__(self, dut, seed=1, idle=0.0, pause=0.0):
        self.dut = dut
        self.dice = random.Random(seed)
        self.beat = len(dut.s_axis_tdata) // 8
        self.requests = source(dut, "s_axis", idle=idle, seed=seed)
        self.answers = sink(dut, "m_axis", pause=pause, seed=seed + 1)
        self.registers = registers(dut)

    async def read(self, name):
        return int.from_bytes((await self.registers.read(REGISTERS[name], 4)).data, "little")

    async def send(self, packet):
        await self.requests.send(AxiStreamFrame(packet))

    async def receive(self):
        frame = await with_timeout(self.answers.recv(), 400_000, "ns")
        return answer(bytes(frame.tdata), self.beat)

    async def expect(self, wanted, number):
        got = await self.receive()
        assert (got.status, got.number, got.count) == (Status.OK, number, wanted.vectors.shape[1])
        assert got.payload[: len(wanted.expected)] == wanted.expected, (wanted.kind, wanted.vectors.shape)
        assert len(got.payload) == -(-len(wanted.expected) // self.beat) * self.beat

    def packet(self, wanted, number):
        return request(wanted.head, number, wanted.parts, self.beat)


@cocotb.test()
async def random_requests(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"], chosen["pause"])
    cover = Coverage(kind=range(4), number=range(1, 9), length=("none", "part of a beat", "beats", "all that fits"))
    await start(dut)
    assert await bench.read("VERSION") == REDUCE_REGS_VERSION
    capacity = await bench.read("CAPACITY") * await bench.read("LANES")
    sent = []
    for place in range(chosen["packets"]):
        wanted = case(bench.dice, chosen["longest"])
        if place % 16 == 5:
            kind = bench.dice.randrange(4)
            wanted = case(bench.dice, 0, kind, count=capacity // (2 if kind == 3 else 4))
        sent.append((bench.dice.getrandbits(64), wanted))
        await bench.send(bench.packet(wanted, sent[-1][0]))
        size = len(wanted.expected)
        length = "none" if not size else "all that fits" if size == capacity else None
        cover.hit(kind=int(wanted.kind), number=len(wanted.vectors))
        cover.hit(length=length or ("part of a beat" if size % bench.beat else "beats"))
    for number, wanted in sent:
        await bench.expect(wanted, number)
    assert await bench.read("SUMS") == len(sent)
    assert await bench.read("FAULTS") == await bench.read("STATUS") == 0
    cover.check()


@cocotb.test()
async def throughput(dut):
    """Back-to-back requests: the cycles from the first beat taken to the last, and from there to the sum's first."""
    chosen = settings()
    bench = Bench(dut)
    cycles = CycleCounter(dut)
    await start(dut)
    taken, given = Handshakes(dut, "s_axis", cycles), Handshakes(dut, "m_axis", cycles)
    cases = [case(bench.dice, 0, kind, 8, chosen["count"]) for kind in (0, 1, 2, 2, 1)]
    for number, wanted in enumerate(cases):
        await bench.send(bench.packet(wanted, number))
    for number, wanted in enumerate(cases):
        await bench.expect(wanted, number)
    report(
        beats=sum(len(bench.packet(wanted, 0)) for wanted in cases) // bench.beat,
        cycles=taken.at[-1] - taken.at[0] + 1,
        latency=given.at[-1] - taken.at[-1],
    )


@cocotb.test()
async def bad_requests(dut):
    bench = Bench(dut, 3, idle=0.2, pause=0.2)
    await start(dut)
    capacity = await bench.read("CAPACITY") * await bench.read("LANES") // 4
    good = case(bench.dice, 0, 2, 3, 37)
    whole = bench.packet(good, 1)
    bad = [
        (bench.packet(good, 2).replace(good.head, b"\x04" + good.head[1:], 1), Status.UNKNOWN_FUNCTION),
        (bench.packet(good, 3).replace(good.head, b"\xff" + good.head[1:], 1), Status.UNKNOWN_FUNCTION),
        (bench.packet(good, 4).replace(good.head, b"\x02\x00" + good.head[2:], 1), Status.BAD_LENGTH),
        (bench.packet(good, 5).replace(good.head, b"\x02\x09" + good.head[2:], 1), Status.BAD_LENGTH),
        (bench.packet(good, 6).replace(good.head, b"\x02\x03\x01" + good.head[3:], 1), Status.BAD_LENGTH),
        (bench.packet(good, 7).replace(good.head, b"\x02\x04" + good.head[2:], 1), Status.BAD_LENGTH),
        (bench.packet(good, 8).replace(good.head, b"\x02\x02" + good.head[2:], 1), Status.BAD_LENGTH),
        (bench.packet(good, 9)[:-4], Status.BAD_LENGTH),
        (bench.packet(good, 10) + bytes(bench.beat), Status.BAD_LENGTH),
        (bench.packet(good, 11)[: bench.beat], Status.BAD_LENGTH),
        (bench.packet(good, 12).replace(good.head, good.head[:4] + bytes(4), 1), Status.BAD_LENGTH),
        (
            request(bytes([2, 1, 0, 0]) + (capacity + 1).to_bytes(4, "little"), 13, [bytes(64)], bench.beat),
            Status.OUT_OF_BOUNDS,
        ),
        (request(b"\x02\x01\0\0\xff\xff\xff\xff", 14, [bytes(640)], bench.beat), Status.OUT_OF_BOUNDS),
    ]
    for number, (packet, status) in enumerate(bad, 2):
        await bench.send(packet)
        await bench.send(whole)
        got = await bench.receive()
        assert (got.status, got.number) == (status, number)
        await bench.expect(good, 1)
    await bench.send(whole[:9])
    assert (await bench.receive()).status == Status.BAD_LENGTH
    assert await bench.read("FAULTS") == len(bad) + 1
    assert await bench.read("STATUS") == 0


@cocotb.test()
async def aborts_and_resets(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], idle=0.3, pause=0.3)
    await start(dut)
    outcomes = {Status.OK: 0, Status.ABORTED: 0}
    for number in range(chosen["rounds"]):
        cases = [case(bench.dice, 60) for _ in range(3)]
        for place, wanted in enumerate(cases):
            await bench.send(bench.packet(wanted, 10 * number + place))
        await ClockCycles(dut.clk, bench.dice.randrange(1, 120))
        if number % 2:
            await bench.registers.write(REGISTERS["CONTROL"], bytes([1, 0, 0, 0]))
            for place, wanted in enumerate(cases):
                got = await bench.receive()
                outcomes[Status(got.status)] += 1
                assert got.number == 10 * number + place
                if got.status == Status.OK:
                    assert got.payload[: len(wanted.expected)] == wanted.expected
            continue
        bench.requests.clear()
        await reset(dut, 30)
        bench.requests.clear()
        bench.answers.clear()
        await RisingEdge(dut.clk)
        await bench.send(bench.packet(cases[0], 5))
        await bench.expect(cases[0], 5)
    assert all(outcomes.values()), outcomes
