# SPDX-License-Identifier: Apache-2.0
"""``quantpack``: codes and values equal to the model's to the bit, a beat a cycle, bad requests, aborts."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_quantpack.py")


def run(case, simulator, work, width=256, depth=16, **settings):
    design = Design("quantpack", {"WIDTH": width, "DEPTH": depth})
    return run_bench(design, simulator, BENCH, work, case=case, settings={"seed": 9} | settings)


def test_rows_equal_the_models(fast, tmp_path):
    run("random_requests", fast, tmp_path, packets=40, longest=100, idle=0.3, pause=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "depth"), [(256, 16), (512, 64)])
def test_ten_thousand_requests(fast, width, depth, tmp_path):
    run("random_requests", fast, tmp_path, width, depth, packets=10_000, longest=60, idle=0.1, pause=0.1)
    shapes = [[16 * depth, 9], [16, 40], [100, 21], [8 * depth, 30]]
    report = run("throughput", fast, tmp_path, 512, 64, shapes=shapes)
    assert all(way["cycles"] == way["beats"] for way in report.values())


@pytest.mark.slow
def test_icarus_says_the_same(simulator, tmp_path):
    run("random_requests", simulator, tmp_path, packets=200, longest=60, idle=0.1, pause=0.1)


def test_a_beat_a_cycle(fast, tmp_path):
    report = run("throughput", fast, tmp_path, shapes=[[128, 9], [8, 40], [128, 5], [30, 21]])
    for way in report.values():
        assert way["cycles"] == way["beats"]
    assert report["values"]["latency"] <= 81
    assert report["codes"]["latency"] <= 60


def test_bad_requests(fast, tmp_path):
    run("bad_requests", fast, tmp_path)


def test_aborts_and_resets(fast, tmp_path):
    run("aborts_and_resets", fast, tmp_path, rounds=30)
