# SPDX-License-Identifier: Apache-2.0
"""``reduce_streams``: eight streams at line rate."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_reduce_streams.py")


def run(case, simulator, work, width=128, **settings):
    return run_bench(
        Design("reduce_streams", {"WIDTH": width}), simulator, BENCH, work, case=case, settings={"seed": 6} | settings
    )


@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.3, 0.5)])
def test_sums_equal_the_models(fast, idle, pause, tmp_path):
    run("random_requests", fast, tmp_path, packets=120, longest=60, idle=idle, pause=pause)


def test_eight_streams_at_line_rate(fast, tmp_path):
    report = run("line_rate", fast, tmp_path, count=100)
    assert report["cycles"] == report["beats"]


@pytest.mark.slow
def test_ten_thousand_requests_of_a_hundred_gigabits(fast, tmp_path):
    run("random_requests", fast, tmp_path, width=512, packets=10_000, longest=200, idle=0.1, pause=0.1)
    report = run("line_rate", fast, tmp_path, width=512, count=1000)
    assert report["cycles"] == report["beats"]


def test_bad_requests(fast, tmp_path):
    run("bad_requests", fast, tmp_path)


def test_aborts_and_resets(fast, tmp_path):
    run("aborts_and_resets", fast, tmp_path, rounds=40)
