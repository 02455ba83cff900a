# SPDX-License-Identifier: Apache-2.0
"""A switch of a card between a MAC's streams, with its registers, for cocotb's benches."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from offramp_sim.rtl.models.clocking import start

BEAT: Final = 16
_LINE: Final = 25
"""Eighths of a byte's time on the wire in a cycle of 40 ns: frames come at a gigabit per second."""


class SwitchBoard:
    """The engine; what leaves it is in ``frames``.

    Args:
        dut: the engine.
        registers: their offsets by name.
        seed: seed of the times at which nobody takes what leaves.
        pause: how often that is.
    """

    def __init__(self, dut: Any, registers: Mapping[str, int], seed: int = 1, pause: float = 0.0) -> None:
        self.dut, self.dice, self.pause = dut, random.Random(seed), pause
        self.frames: list[bytes] = []
        self.cycles = self.overflows = 0
        self._registers = registers
        for name in ("in_valid", "out_ready", "in_fault", *(f"s_axil_{channel}valid" for channel in ("aw", "w", "ar"))):
            getattr(dut, name).value = 0
        dut.s_axil_awprot.value = dut.s_axil_arprot.value = 0
        dut.s_axil_wstrb.value, dut.s_axil_bready.value, dut.s_axil_rready.value = 0xF, 1, 1

    async def begin(self) -> None:
        """Reset, then take what leaves."""
        await start(self.dut)
        cocotb.start_soon(self._receive())

    async def _receive(self) -> None:
        dut, frame, ready = self.dut, bytearray(), False
        while True:
            await RisingEdge(dut.clk)
            self.cycles += 1
            self.overflows += int(dut.overflow.value)
            if ready and dut.out_valid.value == 1:
                frame += int(dut.out_data.value).to_bytes(BEAT, "little")[: int(dut.out_count.value) + 1]
                if dut.out_last.value == 1:
                    self.frames.append(bytes(frame))
                    frame = bytearray()
            ready = self.dice.random() >= self.pause
            dut.out_ready.value = int(ready)

    async def send(self, frame: bytes, fault: int = 0) -> None:
        """A frame at the line's pace: a beat in three cycles or four, and the gap behind it."""
        dut = self.dut
        due, begun = 0, self.cycles
        for at in range(0, len(frame), BEAT):
            beat = frame[at : at + BEAT]
            dut.in_data.value = int.from_bytes(beat, "little")
            dut.in_count.value = len(beat) - 1
            dut.in_last.value = int(at + BEAT >= len(frame))
            dut.in_fault.value = fault
            dut.in_valid.value = 1
            await RisingEdge(dut.clk)
            dut.in_valid.value = 0
            due += 8 * len(beat)
            while _LINE * (self.cycles - begun) * 8 // 5 < due:
                await RisingEdge(dut.clk)
        await ClockCycles(dut.clk, 7)  # preamble, check sequence, gap

    async def write(self, name: str, value: int) -> None:
        """Set a register."""
        dut = self.dut
        dut.s_axil_awaddr.value, dut.s_axil_wdata.value = self._registers[name], value
        waits = {"aw", "w"}
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
        while waits:
            await RisingEdge(dut.clk)
            for channel in sorted(waits):
                if getattr(dut, f"s_axil_{channel}ready").value == 1:
                    getattr(dut, f"s_axil_{channel}valid").value = 0
                    waits.remove(channel)
        while dut.s_axil_bvalid.value != 1:
            await RisingEdge(dut.clk)

    async def read(self, name: str) -> int:
        """A register's value."""
        dut = self.dut
        dut.s_axil_araddr.value, dut.s_axil_arvalid.value = self._registers[name], 1
        while True:
            await RisingEdge(dut.clk)
            if dut.s_axil_arready.value == 1:
                dut.s_axil_arvalid.value = 0
            if dut.s_axil_rvalid.value == 1:
                return int(dut.s_axil_rdata.value)

    async def idle(self) -> None:
        """The engine has nothing in hand."""
        while await self.read("STATUS") & 1:
            pass

    async def quiet(self) -> None:
        """Nothing has left for a while."""
        before = -1
        while before != len(self.frames):
            before = len(self.frames)
            await ClockCycles(self.dut.clk, 300)
