# SPDX-License-Identifier: Apache-2.0
"""A board in simulation: the engines, DRAM, a DMA engine or XRT's shell for each, and a bus behind a Unix socket.

The cocotb module of :mod:`offramp_sim.rtl.board`. Simulated time passes while something is in progress, and stands
still while the bus is silent.
"""

from __future__ import annotations

import mmap
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiStreamFrame
from offramp_pynq.cores import DMAS, DRAM_BASE, MEMORY_PORTS, PAGE, TIMER, dmas_at, registers_at

from offramp.fpga.kernels import PACKETS
from offramp_sim.rtl.bench import settings
from offramp_sim.rtl.models.clocking import start
from offramp_sim.rtl.models.memory import AxiMemory
from offramp_sim.rtl.models.streams import registers, sink, source

REQUEST: Final = struct.Struct("<BQI")
"""A request: ``R`` or ``W``, address, value; the answer has 4 bytes."""

ROUTER_PORTS: Final = ("ep0", "ep1", "acc", "nic")
STEP: Final = 16
"""Cycles between looks at the bus while a transfer runs."""

DRAM_LATENCY: Final = 40
"""Latency of DRAM in cycles: DDR4 behind an interconnect at 250 MHz."""

_HALTED, _IDLE, _INTERNAL, _DECODE = 1, 2, 1 << 4, 1 << 6
_CHANNELS: Final = {"to_engine": 0x00, "from_engine": 0x30}


class Dma:
    """AMD's AXI DMA in simple mode (PG021): registers, and transfers between DRAM and an engine's streams."""

    def __init__(self, dut: Any, to: str, back: str, dram: mmap.mmap) -> None:
        self._registers: dict[int, int] = {0x04: _HALTED, 0x34: _HALTED}
        self._dram = dram
        self._source, self._sink = source(dut, to), sink(dut, back)
        self._sink.pause = True  # an engine waits until a buffer is there
        self.running = 0

    def read(self, offset: int) -> int:
        """Read a register."""
        return self._registers.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Write a register; LENGTH starts a transfer, RESET ends all."""
        if offset in {0x00, 0x30}:
            if value & 4:
                self._reset()
                return
            self._registers[offset] = value
            self._registers[offset + 4] = 0 if value & 1 else _HALTED
        elif offset in {0x04, 0x34}:
            self._registers[offset] &= ~(value & 0x7000)
        else:
            self._registers[offset] = value
            if offset == 0x28:
                cocotb.start_soon(self._to_engine(value))
            elif offset == 0x58:
                cocotb.start_soon(self._from_engine(value))

    def _reset(self) -> None:
        self._registers = {0x04: _HALTED, 0x34: _HALTED}
        self._source.clear()

    def _place(self, channel: int, length: int) -> int | None:
        """Offset in DRAM; None if it is outside."""
        at = self._registers.get(channel + 0x18, 0) | self._registers.get(channel + 0x1C, 0) << 32
        at -= DRAM_BASE
        return at if at >= 0 and at + length <= len(self._dram) else None

    async def _to_engine(self, length: int) -> None:
        self._registers[0x04] &= ~_IDLE
        at = self._place(0x00, length)
        if at is None:
            self._registers[0x04] |= _DECODE | _HALTED
            return
        self.running += 1
        await self._source.send(AxiStreamFrame(self._dram[at : at + length]))
        await self._source.wait()
        self._registers[0x04] |= _IDLE
        self.running -= 1

    async def _from_engine(self, room: int) -> None:
        self._registers[0x34] &= ~_IDLE
        at = self._place(0x30, room)
        if at is None:
            self._registers[0x34] |= _DECODE | _HALTED
            return
        self.running += 1
        self._sink.pause = False
        frame = await self._sink.recv()
        self._sink.pause = True
        content = bytes(frame.tdata)[:room]
        self._dram[at : at + len(content)] = content
        self._registers[0x58] = len(content)
        self._registers[0x34] |= _IDLE if len(frame.tdata) <= room else _INTERNAL | _HALTED
        self.running -= 1


class KernelRun:
    """Tracks whether a kernel runs: from the write that starts it until a read shows that it has ended (UG1393)."""

    CONTROL, START, DONE = 0, 1, 2

    def __init__(self) -> None:
        self.running = 0

    def write(self, offset: int, value: int) -> None:
        """Note a write to the kernel."""
        if offset == self.CONTROL and value & self.START:
            self.running = 1

    def read(self, offset: int, value: int) -> None:
        """Note a value that was read from the kernel."""
        if offset == self.CONTROL and value & self.DONE:
            self.running = 0


class RegisterBus:
    """The bus: registers that a processor reads and writes, by address."""

    def __init__(self, dut: Any, dram: mmap.mmap, engines: Sequence[str], *, kernels: bool) -> None:
        self._dut = dut
        port = "s_axi_control" if kernels else "s_axil"
        self._engines = {registers_at(name): registers(dut, f"{name}_{port}") for name in engines}
        self._runs = {registers_at(name): KernelRun() for name in engines if kernels}
        self._dmas = {
            dmas_at(name)[dma]: Dma(dut, f"{name}_{to}", f"{name}_{back}", dram)
            for name in engines
            if not kernels
            for dma, (to, back) in DMAS[name].items()
        }
        self.cycles = 0

    def busy(self) -> bool:
        """Whether simulated time has to pass while the bus is silent."""
        return any(dma.running for dma in self._dmas.values()) or any(run.running for run in self._runs.values())

    async def count(self) -> None:
        """Count cycles from now on, for the board's timer."""
        while True:
            await RisingEdge(self._dut.clk)
            self.cycles += 1

    async def access(self, operation: int, address: int, value: int) -> int:
        """Read or write a word; returns the value read, or 0 after a write; unmapped addresses read as all ones."""
        page, offset = address & ~(PAGE - 1), address & (PAGE - 1)
        if page in self._engines:
            if operation == ord("R"):
                word = int.from_bytes((await self._engines[page].read(offset, 4)).data, "little")
                if page in self._runs:
                    self._runs[page].read(offset, word)
                return word
            await self._engines[page].write(offset, value.to_bytes(4, "little"))
            if page in self._runs:
                self._runs[page].write(offset, value)
            return 0
        if page in self._dmas:
            if operation == ord("R"):
                return self._dmas[page].read(offset)
            self._dmas[page].write(offset, value)
            return 0
        return self.cycles & 0xFFFFFFFF if page == TIMER else 0xFFFFFFFF


@cocotb.test()
async def board(dut: Any) -> None:
    """Serve the bus until the other end closes it."""
    chosen = settings()
    with Path(chosen["dram"]).open("r+b") as file, mmap.mmap(file.fileno(), 0) as dram:
        for engine in chosen["engines"]:
            for port in (*MEMORY_PORTS.get(engine, ()), *((PACKETS,) if chosen["kernels"] else ())):
                AxiMemory(dut, f"{engine}_{port}", 0, base=DRAM_BASE, latency=DRAM_LATENCY, content=dram)
        if "path_router" in chosen["engines"]:  # nothing is plugged into its ports
            for port in ROUTER_PORTS:
                source(dut, f"path_router_s_axis_{port}"), sink(dut, f"path_router_m_axis_{port}")
        bus = RegisterBus(dut, dram, chosen["engines"], kernels=chosen["kernels"])
        await start(dut)
        cocotb.start_soon(bus.count())
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(chosen["socket"])
            await _serve(dut, bus, line)


async def _serve(dut: Any, bus: RegisterBus, line: socket.socket) -> None:
    received = b""
    while True:
        busy = bus.busy()
        line.setblocking(not busy)
        try:
            more = line.recv(4096)
            if not more:
                return
            received += more
        except BlockingIOError:
            await ClockCycles(dut.clk, STEP)
        line.setblocking(True)
        while len(received) >= REQUEST.size:
            operation, address, value = REQUEST.unpack_from(received)
            received = received[REQUEST.size :]
            line.sendall((await bus.access(operation, address, value)).to_bytes(4, "little"))
            await ClockCycles(dut.clk, 1)
