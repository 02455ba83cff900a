# SPDX-License-Identifier: Apache-2.0
"""``quantpack`` against Sylvie's model, both ways at once: codes, bounds and values to the bit, whatever streams do."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame
from offramp_pynq.packets import answer
from offramp_pynq.registers import QUANTPACK_REGS as REGISTERS
from offramp_pynq.registers import QUANTPACK_REGS_VERSION

from offramp.device import Status
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.streams import registers, sink, source
from rtl import quantpack_cases as cases
from rtl.coverage import Coverage

WAYS = {
    "values": (cases.quantise_request, cases.quantise_payload),
    "codes": (cases.dequantise_request, cases.dequantise_payload),
}
"""Requests and answers of each way, by the stream that goes in."""


class Way:
    """One direction: what goes in by ``way`` comes out by the other."""

    def __init__(self, dut, way, seed, idle, pause):
        self.way, self.beat = way, len(dut.s_axis_values_tdata) // 8
        self.requests = source(dut, f"s_axis_{way}", idle=idle, seed=seed)
        self.answers = sink(dut, f"m_axis_{'codes' if way == 'values' else 'values'}", pause=pause, seed=seed + 1)
        self._request, self.payload = WAYS[way]

    def packet(self, wanted, number):
        return self._request(wanted, number, self.beat)

    async def send(self, packet):
        await self.requests.send(AxiStreamFrame(packet))

    async def receive(self):
        frame = await with_timeout(self.answers.recv(), 400_000, "ns")
        return answer(bytes(frame.tdata), self.beat)

    async def expect(self, wanted, number):
        got = await self.receive()
        status = wanted.status if self.way == "values" else Status.OK
        assert (got.status, got.number) == (status, number)
        assert got.count == (len(wanted.x) if status == Status.OK else 0)
        assert got.payload == self.payload(wanted, self.beat), (self.way, wanted.bits, wanted.compact, wanted.x.shape)


class Bench:
    def __init__(self, dut, seed=1, idle=0.0, pause=0.0):
        self.dut, self.dice = dut, random.Random(seed)
        self.ways = [Way(dut, way, seed + 10 * place, idle, pause) for place, way in enumerate(WAYS)]
        self.registers = registers(dut)

    async def read(self, name):
        return int.from_bytes((await self.registers.read(REGISTERS[name], 4)).data, "little")

    def columns(self, longest, most):
        few = (1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100)
        return min(most, self.dice.choice((*few, self.dice.randrange(1, longest + 1), longest)))


@cocotb.test()
async def random_requests(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"], chosen["pause"])
    cover = Coverage(
        bits=(1, 2, 4, 8), compact=(True, False), wrong=(True, False), rows=("none", "some", "groups"),
        length=("part of a beat", "beats", "all that fits"), row=("constant", "other"),
    )  # fmt: skip
    await start(dut)
    assert await bench.read("VERSION") == QUANTPACK_REGS_VERSION
    most, lanes = await bench.read("COLUMNS"), await bench.read("LANES") // 4
    group = lanes // 2
    sent = []
    for place in range(chosen["packets"]):
        columns = most if place % 16 == 5 else bench.columns(chosen["longest"], most)
        rows = bench.dice.choice((0, 1, 2, 3, group, group + 1, bench.dice.randrange(3 * group)))
        wanted = cases.case(bench.dice, columns, min(rows, 2) if columns == most else rows, odd=0.1)
        number = bench.dice.getrandbits(64)
        sent.append((number, wanted))
        for way in bench.ways:
            await way.send(way.packet(wanted, number))
        cover.hit(bits=wanted.bits, compact=wanted.compact, wrong=bool(wanted.wrong.any()))
        cover.hit(rows="none" if not rows else "groups" if rows > group else "some")
        cover.hit(length="all that fits" if columns == most else "part of a beat" if columns % lanes else "beats")
        for least, greatest in wanted.bounds.tolist():
            cover.hit(row="constant" if least == greatest else "other")
    for number, wanted in sent:
        for way in bench.ways:
            await way.expect(wanted, number)
    failed = sum(wanted.wrong.any() for _, wanted in sent)
    counts = [await bench.read(name) for name in ("QUANTISED", "DEQUANTISED", "FAULTS", "STATUS")]
    assert counts == [len(sent) - failed, len(sent), failed, 0]
    cover.check()


@cocotb.test()
async def throughput(dut):
    """Back to back: the cycles from the first beat of values to the last, each way, and from a row to its answer."""
    chosen = settings()
    bench = Bench(dut)
    cycles = CycleCounter(dut)
    await start(dut)
    rates = {}
    for way in bench.ways:
        values = Handshakes(dut, "s_axis_values" if way.way == "values" else "m_axis_values", cycles)
        codes = Handshakes(dut, "m_axis_codes" if way.way == "values" else "s_axis_codes", cycles)
        wanted = [cases.case(bench.dice, columns, rows, 8) for columns, rows in chosen["shapes"]]
        for number, one in enumerate(wanted):
            await way.send(way.packet(one, number))
        for number, one in enumerate(wanted):
            await way.expect(one, number)
        lanes, group = way.beat // 4, way.beat // 8
        beats = sum(1 + rows * -(-columns // lanes) for columns, rows in chosen["shapes"])
        groups = sum(-(-rows // group) for _, rows in chosen["shapes"])
        rates[way.way] = {
            "beats": beats + (groups if way.way == "values" else 0), "cycles": values.at[-1] - values.at[0] + 1,
        }  # fmt: skip
        one = cases.case(bench.dice, lanes, 1)
        await way.send(way.packet(one, 1))
        await way.expect(one, 1)
        pair = (values, codes) if way.way == "values" else (codes, values)
        rates[way.way]["latency"] = pair[1].at[-3 if way.way == "values" else -2] - pair[0].at[-1]
    report(**rates)


@cocotb.test()
async def bad_requests(dut):
    bench = Bench(dut, 3, idle=0.2, pause=0.2)
    await start(dut)
    most = await bench.read("COLUMNS")
    good = cases.case(bench.dice, 37, 5, 4)
    faults = 0
    for way in bench.ways:
        beat, whole = way.beat, way.packet(good, 7)
        nothing = cases.HEADER.pack(4, 0, 37, 0, 7, 0).ljust(beat, b"\0")
        bad = [
            (b"\x03" + whole[1:], Status.UNKNOWN_FUNCTION),
            (b"\x00" + whole[1:], Status.UNKNOWN_FUNCTION),
            (b"\x10" + whole[1:], Status.UNKNOWN_FUNCTION),
            (whole[:1] + b"\x02" + whole[2:], Status.UNKNOWN_FUNCTION),
            (whole[:2] + bytes(2) + whole[4:], Status.BAD_LENGTH),  # no columns
            (whole[:2] + (most + 1).to_bytes(2, "little") + whole[4:], Status.OUT_OF_BOUNDS),
            (whole[:2] + b"\xff\xff" + whole[4:], Status.OUT_OF_BOUNDS),
            (whole[:4] + (4).to_bytes(4, "little") + whole[8:], Status.BAD_LENGTH),  # a row too many
            (whole[:4] + (6).to_bytes(4, "little") + whole[8:], Status.BAD_LENGTH),  # and one too few
            (whole[:4] + bytes(4) + whole[8:], Status.BAD_LENGTH),
            (nothing[:4] + b"\xff\xff\xff\xff" + nothing[8:], Status.BAD_LENGTH),
            (whole[:-1], Status.BAD_LENGTH),
            (whole + bytes(beat), Status.BAD_LENGTH),
            (whole[: 2 * beat], Status.BAD_LENGTH),  # no rows
            (whole[: 3 * beat], Status.BAD_LENGTH),
        ]
        if way.way == "codes":
            bad.append((whole[:1] + b"\x01" + whole[2:], Status.UNKNOWN_FUNCTION))
        for packet, status in bad:
            await way.send(packet)
            await way.send(whole)
            got = await way.receive()
            assert (got.status, got.number, got.count) == (status, 7, 0), (way.way, status)
            await way.expect(good, 7)
        await way.send(whole[:9])
        assert (await way.receive()).status == Status.BAD_LENGTH
        await way.send(nothing)
        got = await way.receive()
        assert (got.status, got.number, got.count, got.payload) == (Status.OK, 7, 0, b"")
        faults += len(bad) + 1
    assert await bench.read("FAULTS") == faults
    assert await bench.read("STATUS") == 0


@cocotb.test()
async def aborts_and_resets(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], idle=0.3, pause=0.3)
    await start(dut)
    outcomes = {Status.OK: 0, Status.ABORTED: 0}
    for number in range(chosen["rounds"]):
        wanted = [cases.case(bench.dice, bench.dice.randrange(1, 100), bench.dice.randrange(9)) for _ in range(3)]
        for way in bench.ways:
            for place, one in enumerate(wanted):
                await way.send(way.packet(one, 10 * number + place))
        await ClockCycles(dut.clk, bench.dice.randrange(1, 200))
        if number % 2:
            await bench.registers.write(REGISTERS["CONTROL"], bytes([1, 0, 0, 0]))
            for way in bench.ways:
                for place, one in enumerate(wanted):
                    got = await way.receive()
                    outcomes[Status(got.status)] += 1
                    assert got.number == 10 * number + place
                    if got.status == Status.OK:
                        assert got.payload == way.payload(one, way.beat)
            continue
        for way in bench.ways:
            way.requests.clear()
        await reset(dut, 30)
        for way in bench.ways:
            way.requests.clear()
            way.answers.clear()
        await RisingEdge(dut.clk)
        for way in bench.ways:
            await way.send(way.packet(wanted[0], 5))
            await way.expect(wanted[0], 5)
    assert all(outcomes.values()), outcomes
