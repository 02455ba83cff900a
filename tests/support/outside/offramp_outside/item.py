# SPDX-License-Identifier: Apache-2.0
"""Something to reproduce."""

from __future__ import annotations

from offramp_sim.reproduce.item import Evidence, Item, PaperComparison, Reproduction


def _table1(scale: float, seed: int) -> Reproduction:
    return Reproduction([PaperComparison("scale", "1", f"{scale:g}")], (), {"seed": seed}, "")


table1 = Item("outside/table1", "What a package outside brings", 1, _table1, Evidence.CONTEXT)
