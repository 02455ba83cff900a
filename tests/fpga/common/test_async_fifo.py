# SPDX-License-Identifier: Apache-2.0
"""The queue between two clocks: beats come out once and in order, one for each cycle of the slower clock.

Blind spot: a simulator's flip-flops are never metastable; ``tests/fpga/formal`` has late bits.
"""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_async_fifo.py")
BEATS = 300


@pytest.mark.parametrize(("in_ps", "out_ps"), [(8000, 40000), (8000, 8002), (40000, 7998), (3002, 7918)])
@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.4, 0.4)])
def test_beats_cross_in_order(in_ps, out_ps, idle, pause, tmp_path, simulator):
    settings = {"width": 37, "beats": BEATS, "seed": 5, "idle": idle, "pause": pause, "in_ps": in_ps, "out_ps": out_ps}
    report = run_bench(Design("async_fifo", {"WIDTH": 37, "DEPTH": 16}), simulator, BENCH, tmp_path, settings=settings)
    if not idle and not pause:
        assert report["slow_cycles"] < BEATS + 20
