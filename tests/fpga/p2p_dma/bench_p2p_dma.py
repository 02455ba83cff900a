# SPDX-License-Identifier: Apache-2.0
"""Copies between three memories against ``offramp.leo.dma``, whatever streams and memories do."""

import random

import cocotb
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiStreamFrame
from offramp_pynq.registers import P2P_DMA_REGS as REGISTERS
from offramp_pynq.registers import P2P_DMA_REGS_VERSION

from offramp.device import Status
from offramp.leo import dma
from offramp.leo.memory import HostMemory
from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.memory import AxiMemory
from offramp_sim.rtl.models.streams import registers, sink, source
from rtl.copies import carry_out
from rtl.coverage import Coverage

NAMES = ("host", "acc", "nic")
LIMITS = ("HOST", "ACCELERATOR", "NIC")


class Bench:
    def __init__(self, dut, seed=1, size=8192, idle=0.0, pause=0.0, latency=1, stall=0.0):
        self.dut = dut
        self.dice = random.Random(seed)
        self.lanes = len(dut.s_axis_tkeep)
        self.descriptors = source(dut, "s_axis", idle=idle, seed=seed)
        self.completions = sink(dut, "m_axis", pause=pause, seed=seed + 1)
        self.registers = registers(dut)
        self.size = size
        self.memories = [
            AxiMemory(dut, f"m_axi_{name}", size, latency=latency, stall=stall, seed=seed + n)
            for n, name in enumerate(NAMES)
        ]
        self.models = [HostMemory(size) for _ in NAMES]
        for memory, model in zip(self.memories, self.models, strict=True):
            model.view[:] = memory.content[:] = self.dice.randbytes(size)

    async def start(self):
        await start(self.dut)
        await self.configure()

    async def configure(self):
        assert await self.read("VERSION") == P2P_DMA_REGS_VERSION
        assert await self.read("LANES") == self.lanes
        for name in LIMITS:
            await self.write(f"{name}_LOW", self.size)

    async def read(self, name):
        return int.from_bytes((await self.registers.read(REGISTERS[name], 4)).data, "little")

    async def write(self, name, value):
        await self.registers.write(REGISTERS[name], value.to_bytes(4, "little"))

    def send(self, wanted):
        self.descriptors.send_nowait(AxiStreamFrame(wanted.pack().ljust(self.lanes, b"\0")))

    async def receive(self):
        frame = await with_timeout(self.completions.recv(), 400_000, "ns")
        assert len(frame.tdata) == self.lanes
        return bytes(frame.tdata[: dma.COMPLETION.size])

    def copy(self, number, length, source, destination, memories=(0, 1)):
        return dma.Descriptor(dma.COPY, *memories, 0, length, number, source, destination)

    def same(self):
        for memory, model in zip(self.memories, self.models, strict=True):
            assert memory.content == bytes(model.view)
            assert not memory.violations, memory.violations[:3]


def some_length(dice, lanes, size):
    return dice.choice(
        [0, 1, lanes - 1, lanes, lanes + 1, 4096, 2**32 - 1, dice.randrange(4 * lanes), dice.randrange(size)]
    )


def some_place(dice, size):
    return dice.choice([dice.randrange(size), 64 * dice.randrange(size // 64), 4090])


@cocotb.test()
async def random_copies(dut):
    chosen = settings()
    bench = Bench(
        dut,
        chosen["seed"],
        idle=chosen["idle"],
        pause=chosen["pause"],
        latency=chosen["latency"],
        stall=chosen["stall"],
    )
    cover = Coverage(
        status=[Status.OK, Status.UNKNOWN_FUNCTION, Status.OUT_OF_BOUNDS, Status.FAILED],
        way=[(a, b) for a in range(3) for b in range(3)],
        shift=["none", "left", "right"],
    )
    await bench.start()
    done = good = 0
    while done < chosen["copies"]:
        expected = []
        for _ in range(min(25, chosen["copies"] - done)):
            length = some_length(bench.dice, bench.lanes, bench.size // 4)
            places = [some_place(bench.dice, bench.size) for _ in range(2)]
            if bench.dice.random() < 0.03:
                places[bench.dice.randrange(2)] = 2**64 - 1 - bench.dice.randrange(99)
            memories = [bench.dice.randrange(3) if bench.dice.random() < 0.98 else 3, bench.dice.randrange(3)]
            opcode, spare = (
                (1, 0) if bench.dice.random() < 0.95 else bench.dice.choice([(0, 0), (2, 0), (1, 1), (255, 9)])
            )
            number = bench.dice.getrandbits(64)
            wanted = dma.Descriptor(opcode, *memories, spare, length, number, *places)
            bench.send(wanted)
            expected.append(carry_out(wanted, bench.models))
            status = Status(expected[-1][0])
            good += status == Status.OK
            shift = (places[0] - places[1]) % bench.lanes
            cover.hit(status=status)
            if status == Status.OK:
                cover.hit(
                    way=tuple(memories), shift="none" if not shift else "left" if shift < bench.lanes // 2 else "right"
                )
        for one in expected:
            assert await bench.receive() == one
        done += len(expected)
        bench.same()
    assert await bench.read("COPIES") == good
    assert await bench.read("FAULTS") == done - good
    assert await bench.read("STATUS") == 0
    cover.check()


@cocotb.test()
async def a_line_in_each_cycle(dut):
    chosen = settings()
    bench = Bench(dut, size=1 << 16, latency=chosen["latency"])
    cycles = CycleCounter(dut)
    await bench.start()
    came = Handshakes(dut, "s_axis", cycles)
    went = Handshakes(dut, "m_axis", cycles)
    wanted = bench.copy(1, 512 * bench.lanes, chosen["source"], chosen["destination"])
    bench.send(wanted)
    assert await bench.receive() == carry_out(wanted, bench.models)
    bench.same()
    report(cycles=went.at[0] - came.at[0], most_in_flight=bench.memories[0].most_in_flight)


@cocotb.test()
async def faults(dut):
    bench = Bench(dut, latency=7, idle=0.2, pause=0.2, stall=0.2)
    await bench.start()
    good = bench.copy(7, 1000, 3, 77)
    cases = [
        (bench.copy(1, 100, 0, 0).pack()[:20], Status.BAD_LENGTH),
        (bench.copy(2, 100, 0, 0).pack().ljust(3 * bench.lanes, b"\0"), Status.BAD_LENGTH),
        (bench.copy(3, 100, bench.size - 99, 0).pack(), Status.OUT_OF_BOUNDS),
        (bench.copy(4, 100, 0, bench.size - 99).pack(), Status.OUT_OF_BOUNDS),
        (bench.copy(5, 2, 2**64 - 1, 0).pack(), Status.OUT_OF_BOUNDS),
        (bench.copy(6, 100, 0, 50, (2, 2)).pack(), Status.FAILED),
    ]
    for number, (packet, status) in enumerate(cases, 1):
        content = packet if status is Status.BAD_LENGTH else packet.ljust(bench.lanes, b"\0")
        bench.descriptors.send_nowait(AxiStreamFrame(content))
        bench.send(good)
        got = dma.COMPLETION.unpack(await bench.receive())
        assert got == (status, 0, number)
        assert await bench.receive() == carry_out(good, bench.models)
    bench.same()
    bench.memories[0].fail = {512}  # a line of the host that cannot be read
    before = bytes(bench.memories[1].content)
    bench.send(bench.copy(8, 2048, 0, 0))
    assert dma.COMPLETION.unpack(await bench.receive()) == (Status.FAILED, 0, 8)
    assert bench.memories[1].content[512:] == before[512:]  # nothing that depends on it was written
    bench.memories[0].fail = set()
    await bench.write("NIC_LOW", 2 * bench.size)  # a limit beyond the memory behind it
    bench.send(bench.copy(9, 64, bench.size + 64, 0, (2, 1)))
    assert dma.COMPLETION.unpack(await bench.receive()) == (Status.OUT_OF_BOUNDS, 0, 9)
    await bench.write("NIC_LOW", bench.size)
    bench.memories[2].violations.clear()
    bench.models[1].view[:] = bench.memories[1].content
    bench.send(good)
    assert await bench.receive() == carry_out(good, bench.models)
    bench.same()


@cocotb.test()
async def aborts_and_resets(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], latency=20, idle=0.3, pause=0.3, stall=0.2)
    await bench.start()
    statuses = {Status.OK: 0, Status.ABORTED: 0}
    for number in range(chosen["rounds"]):
        sizes = [[bench.dice.randrange(most) for most in (3000, 4000, 4000)] for _ in range(4)]
        wanted = [bench.copy(10 * number + n, *each) for n, each in enumerate(sizes)]
        for each in wanted:
            bench.send(each)
        await ClockCycles(dut.clk, bench.dice.randrange(1, 250))
        if number % 2:
            await bench.write("CONTROL", 1)
            for each in wanted:
                status, copied, name = dma.COMPLETION.unpack(await bench.receive())
                statuses[Status(status)] += 1
                assert (name, copied) == (each.request, each.length if status == Status.OK else 0)
                if status == Status.OK:
                    first, last = each.source, each.source + each.length
                    assert bench.memories[0].content[first:last] == bench.models[0].view[first:last]
        else:
            bench.descriptors.clear()
            await reset(dut, 30)
            bench.descriptors.clear()
            bench.completions.clear()
            await bench.configure()
        # Whatever was written was the copies' own; afterwards all goes on.
        touched = [(each.destination, each.destination + each.length) for each in wanted]
        for place in range(bench.size):
            if not any(low <= place < high for low, high in touched):
                assert bench.memories[1].content[place] == bench.models[1].view[place]
        bench.models[1].view[:] = bench.memories[1].content
        bench.send(bench.copy(5, 700, 10, 20, (0, 2)))
        assert await bench.receive() == carry_out(bench.copy(5, 700, 10, 20, (0, 2)), bench.models)
        bench.same()
    assert all(statuses.values()), statuses
