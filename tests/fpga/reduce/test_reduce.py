# SPDX-License-Identifier: Apache-2.0
"""``reduce``: sums equal to the model's to the bit, a beat a cycle, bad requests, aborts."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_reduce.py")


def run(case, simulator, work, width=128, depth=16, **settings):
    design = Design("reduce", {"WIDTH": width, "DEPTH": depth})
    return run_bench(design, simulator, BENCH, work, case=case, settings={"seed": 9} | settings)


@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.3, 0.5)])
def test_sums_equal_the_models(fast, idle, pause, tmp_path):
    run("random_requests", fast, tmp_path, packets=50, longest=40, idle=idle, pause=pause)


@pytest.mark.slow
@pytest.mark.parametrize("width", [128, 512])
def test_ten_thousand_requests(fast, width, tmp_path):
    chosen = {"packets": 10_000, "longest": 60, "idle": 0.1, "pause": 0.1}
    run("random_requests", fast, tmp_path, width=width, depth=16, **chosen)


def test_a_beat_a_cycle(fast, tmp_path):
    report = run("throughput", fast, tmp_path, count=64)
    assert report["cycles"] == report["beats"]
    assert report["latency"] <= 26


def test_bad_requests(fast, tmp_path):
    run("bad_requests", fast, tmp_path)


def test_aborts_and_resets(fast, tmp_path):
    run("aborts_and_resets", fast, tmp_path, rounds=40)


@pytest.mark.parametrize(("inputs", "floats", "kinds"), [(2, 0, (0, 1)), (4, 1, (0, 1, 2))])
def test_a_smaller_engine_says_what_it_lacks(simulator, inputs, floats, kinds, tmp_path):
    parameters = {"WIDTH": 128, "DEPTH": 16, "INPUTS": inputs, "FLOAT32S": floats, "BFLOAT16S": 0}
    bench = Path(__file__).with_name("bench_reduce_small.py")
    chosen = {"inputs": inputs, "kinds": kinds}
    run_bench(Design("reduce", parameters), simulator, bench, tmp_path, settings=chosen)
