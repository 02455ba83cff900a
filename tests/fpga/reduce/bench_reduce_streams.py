# SPDX-License-Identifier: Apache-2.0
"""Eight streams at once against the model: sums to the bit, line rate, damaged packets, aborts."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout
from offramp_pynq.packets import answer, request

from offramp.device import Status
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.streams import pauses, sink
from rtl.coverage import Coverage
from rtl.reduce_cases import case


class Streams:
    """Drives the eight streams of the flat port, each with idle cycles of its own."""

    def __init__(self, dut, idle, seed):
        self.dut = dut
        self.beat = len(dut.m_axis_tdata) // 8
        self.queues = [deque() for _ in range(8)]
        self.taken = []
        self._idle = [pauses(seed + stream, idle) for stream in range(8)]
        dut.s_axis_tvalid.value = 0
        dut.cancel.value = 0
        cocotb.start_soon(self._run())

    def send(self, stream, packet):
        """Queue a packet as whole beats with what is kept of the last."""
        for at in range(0, len(packet), self.beat):
            chunk = packet[at : at + self.beat]
            last = at + self.beat >= len(packet)
            self.queues[stream].append((int.from_bytes(chunk, "little"), (1 << len(chunk)) - 1, last))

    def send_case(self, wanted, number):
        head = request(wanted.head, number, [], self.beat)
        empty = not wanted.vectors.shape[1]
        self.send(0, head if empty else head + wanted.parts[0])
        for stream, part in enumerate([] if empty else wanted.parts[1:], 1):
            self.send(stream, part)

    async def _run(self):
        valid, cycle = 0, 0
        while True:
            await RisingEdge(self.dut.clk)
            cycle += 1
            if int(self.dut.rst.value):
                valid = 0
                self.dut.s_axis_tvalid.value = 0
                continue
            done = valid & int(self.dut.s_axis_tready.value)
            data = keep = last = 0
            for stream, queue in enumerate(self.queues):
                if done >> stream & 1 and queue:  # a test may have cleared it
                    queue.popleft()
                    self.taken.append(cycle)
                    valid &= ~(1 << stream)
                if queue and (valid >> stream & 1 or not next(self._idle[stream])):
                    valid |= 1 << stream
                    beat = queue[0]
                    data |= beat[0] << 8 * self.beat * stream
                    keep |= beat[1] << self.beat * stream
                    last |= beat[2] << stream
            self.dut.s_axis_tvalid.value = valid
            self.dut.s_axis_tdata.value, self.dut.s_axis_tkeep.value, self.dut.s_axis_tlast.value = data, keep, last


class Bench:
    def __init__(self, dut, seed=1, idle=0.0, pause=0.0):
        self.dice = random.Random(seed)
        self.streams = Streams(dut, idle, seed)
        self.answers = sink(dut, "m_axis", pause=pause, seed=seed + 9)

    async def receive(self):
        frame = await with_timeout(self.answers.recv(), 400_000, "ns")
        return answer(bytes(frame.tdata), self.streams.beat)

    async def expect(self, wanted, number):
        got = await self.receive()
        assert (got.status, got.number, got.count) == (Status.OK, number, wanted.vectors.shape[1])
        assert got.payload[: len(wanted.expected)] == wanted.expected, (wanted.kind, wanted.vectors.shape)


@cocotb.test()
async def random_requests(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"], chosen["pause"])
    cover = Coverage(kind=range(4), number=range(1, 9), empty=(True, False))
    await start(dut)
    sent = [(bench.dice.getrandbits(64), case(bench.dice, chosen["longest"])) for _ in range(chosen["packets"])]
    for number, wanted in sent:
        bench.streams.send_case(wanted, number)
        cover.hit(kind=int(wanted.kind), number=len(wanted.vectors), empty=not wanted.expected)
    for number, wanted in sent:
        await bench.expect(wanted, number)
    cover.check()
    await ClockCycles(dut.clk, 3)
    assert int(dut.idle.value) == 1


@cocotb.test()
async def line_rate(dut):
    """Back to back: eight beats are taken in every cycle; a request costs a vector's beats, and one for the header."""
    chosen = settings()
    bench = Bench(dut)
    cycles = CycleCounter(dut)
    await start(dut)
    given = Handshakes(dut, "m_axis", cycles)
    cases = [case(bench.dice, 0, kind, 8, chosen["count"]) for kind in (2, 0, 2, 1)]
    before = cycles.count
    for number, wanted in enumerate(cases):
        bench.streams.send_case(wanted, number)
    for number, wanted in enumerate(cases):
        await bench.expect(wanted, number)
    beats = sum(1 + -(-len(wanted.expected) // bench.streams.beat) for wanted in cases)
    report(
        beats=beats, cycles=bench.streams.taken[-1] - bench.streams.taken[0] + 1, latency=given.at[-1] - before - beats
    )


@cocotb.test()
async def bad_requests(dut):
    bench = Bench(dut, 3, idle=0.2, pause=0.2)
    await start(dut)
    good = case(bench.dice, 0, 2, 3, 37)
    beat = bench.streams.beat

    def bad(head, parts, status, header_alone=False):
        packet = request(head, 77, [], beat)
        bench.streams.send(0, packet if header_alone else packet + parts[0])
        for stream, part in enumerate(parts[1:], 1):
            bench.streams.send(stream, part)
        return status

    head, parts = good.head, good.parts
    cases = [
        lambda: bad(b"\x04" + head[1:], parts, Status.UNKNOWN_FUNCTION),
        lambda: bad(head[:1] + b"\0" + head[2:], parts[:1], Status.BAD_LENGTH),
        lambda: bad(head[:2] + b"\1" + head[3:], parts, Status.BAD_LENGTH),
        lambda: bad(head, [parts[0], parts[1][:-40], parts[2]], Status.BAD_LENGTH),
        lambda: bad(head, [parts[0][:-40], parts[1], parts[2]], Status.BAD_LENGTH),
        lambda: bad(head, [parts[0], parts[1], parts[2] + bytes(100)], Status.BAD_LENGTH),
        lambda: bad(head, [parts[0], parts[1], parts[2][:-1]], Status.BAD_LENGTH),
        lambda: bad(head, parts, Status.BAD_LENGTH, header_alone=True),
        lambda: bad(head[:4] + bytes(4), parts, Status.BAD_LENGTH),
        lambda: bad(head[:4] + b"\xff" * 4, parts, Status.OUT_OF_BOUNDS),
    ]
    for number, send in enumerate(cases):
        status = send()
        bench.streams.send_case(good, 1)
        got = await bench.receive()
        assert (got.status, got.number) == (status, 77), number
        await bench.expect(good, 1)


@cocotb.test()
async def aborts_and_resets(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], idle=0.3, pause=0.3)
    await start(dut)
    outcomes = {Status.OK: 0, Status.ABORTED: 0}
    for number in range(chosen["rounds"]):
        cases = [case(bench.dice, 60) for _ in range(3)]
        for place, wanted in enumerate(cases):
            bench.streams.send_case(wanted, 10 * number + place)
        await ClockCycles(dut.clk, bench.dice.randrange(1, 60))
        if number % 2:
            await FallingEdge(dut.clk)
            dut.cancel.value = 1
            await FallingEdge(dut.clk)
            dut.cancel.value = 0
            for place, wanted in enumerate(cases):
                got = await bench.receive()
                outcomes[Status(got.status)] += 1
                assert got.number == 10 * number + place
                if got.status == Status.OK:
                    assert got.payload[: len(wanted.expected)] == wanted.expected
            continue
        for queue in bench.streams.queues:
            queue.clear()
        await reset(dut)
        bench.answers.clear()
        bench.streams.send_case(cases[0], 5)
        await bench.expect(cases[0], 5)
    assert all(outcomes.values()), outcomes
