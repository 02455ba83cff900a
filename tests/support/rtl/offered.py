# SPDX-License-Identifier: Apache-2.0
"""The cycles in which the beats of a stream are offered, whether or not they are taken in the same cycle."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from offramp_sim.rtl.models.clocking import CycleCounter


class Offers:
    """``packets``: for each, the cycles in which its beats were first valid."""

    def __init__(self, dut: Any, prefix: str, cycles: CycleCounter) -> None:
        self.packets: list[list[int]] = [[]]
        self._dut, self._cycles = dut, cycles
        self._valid, self._ready, self._last = (
            getattr(dut, f"{prefix}_t{name}") for name in ("valid", "ready", "last")
        )
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        waits = False
        while True:
            await RisingEdge(self._dut.clk)
            if self._valid.value != 1:
                continue
            if not waits:
                self.packets[-1].append(self._cycles.count)
            waits = self._ready.value != 1
            if not waits and self._last.value == 1:
                self.packets.append([])
