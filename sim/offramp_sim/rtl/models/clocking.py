# SPDX-License-Identifier: Apache-2.0
"""Clock and reset of every test bench: 250 MHz, synchronous reset, high."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

PERIOD_NS = 4


async def start(dut: Any, cycles: int = 4) -> None:
    """Start the clock and hold reset for ``cycles`` cycles."""
    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    await reset(dut, cycles)


async def reset(dut: Any, cycles: int = 4) -> None:
    """Hold reset for ``cycles`` cycles."""
    dut.rst.value = 1
    await ClockCycles(dut.clk, cycles)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


class CycleCounter:
    """Counts the clock's edges from its creation on."""

    def __init__(self, dut: Any) -> None:
        self.count = 0
        self._dut = dut
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            await RisingEdge(self._dut.clk)
            self.count += 1


class Handshakes:
    """Records the cycles in which beats of a stream were accepted, for exact counts."""

    def __init__(self, dut: Any, prefix: str, cycles: CycleCounter) -> None:
        self.at: list[int] = []
        self._dut, self._cycles = dut, cycles
        self._valid, self._ready = getattr(dut, f"{prefix}_tvalid"), getattr(dut, f"{prefix}_tready")
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            await RisingEdge(self._dut.clk)
            if self._valid.value == 1 and self._ready.value == 1:
                self.at.append(self._cycles.count)
