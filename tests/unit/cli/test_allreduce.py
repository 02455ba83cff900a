# SPDX-License-Identifier: Apache-2.0
"""The table of ``offramp allreduce``; sums and times are tested elsewhere."""

from __future__ import annotations

import pytest
from rich.console import Console

from offramp_cli.allreduce import _show
from offramp_sim.allreduce.experiment import AllReduceTimings, Experiment, SizeTiming


@pytest.mark.parametrize("compare", [False, True])
def test_gloo_has_a_column_only_where_it_was_measured(*, compare: bool) -> None:
    ways = ("offramp", "gloo") if compare else ("offramp",)
    outcome = AllReduceTimings(tuple(SizeTiming(way, 1.0, (0.02,)) for way in ways), 10, 0, 0)
    console = Console(record=True, width=120)
    _show(console, Experiment(ranks=2, compare=compare), outcome)
    shown = console.export_text()
    assert "20 ms" in shown
    assert ("gloo's time over ours" in shown) == compare
