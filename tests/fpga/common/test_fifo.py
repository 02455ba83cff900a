# SPDX-License-Identifier: Apache-2.0
"""Skid buffer and FIFO: beats come out once and in order, one a cycle where nothing holds them up."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_fifo.py")
BEATS = 400


@pytest.mark.smoke
@pytest.mark.parametrize("module", ["skid_buffer", "fifo"])
@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.4, 0.4)])
def test_beats_come_out_in_order(module, idle, pause, tmp_path, simulator):
    design = Design(module, {"WIDTH": 37} | ({"DEPTH": 4} if module == "fifo" else {}))
    settings = {"width": 37, "beats": BEATS, "seed": 5, "idle": idle, "pause": pause}
    report = run_bench(design, simulator, BENCH, tmp_path, settings=settings)
    if not idle and not pause:
        assert report["cycles"] == BEATS + 1  # one beat a cycle, latency 1
