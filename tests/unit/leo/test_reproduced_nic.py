# SPDX-License-Identifier: Apache-2.0
"""What the measured figure of the file system says of rates that are made up."""

from __future__ import annotations

import os
from typing import Any

import pytest

from offramp.leo.applications.dfs import CHUNK
from offramp_sim.nic.dfs import Throughput
from offramp_sim.reproduce.leo import nic


def test_rates_are_megabytes_on_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = 1e6 / CHUNK

    def measure(seconds: float, rounds: int, **options: Any) -> Throughput:
        assert (seconds, rounds, options["seed"]) == (0.5, 3, 4)
        return Throughput([3 * unit, 6 * unit], [200 * unit, 400 * unit], [150 * unit])

    monkeypatch.setattr(nic, "measure", measure)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {*range(5)} if process == 0 else set())
    figure = nic.figure611_measured(0.25, 4)
    said = {each.what: each.ours for each in figure.comparisons}
    assert said["CPU: MB/s with 1 to 2 cores"] == "3.0, 6.0"
    assert said["agent: MB/s with 1 to 2 cores"] == "200.0, 400.0"
    assert said["both, cores of each: MB/s with 1 to 1 cores"] == "150.0"
    assert said["both over the sum of each alone, 1 + 1 cores"] == f"{150 / 203:.2f}"
    (panel,) = figure.panels
    names, rates = panel.lines["measured"]
    assert names == ["CPU 1", "CPU 2", "agent 1", "agent 2", "both 1 + 1"]
    assert rates == pytest.approx([3.0, 6.0, 200.0, 400.0, 150.0])
    assert (figure.settings["processors"], figure.settings["rounds"]) == (5, 3)
