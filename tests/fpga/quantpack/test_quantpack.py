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


@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.3, 0.5)])
def test_rows_equal_the_models(fast, idle, pause, tmp_path):
    run("random_requests", fast, tmp_path, packets=100, longest=100, idle=idle, pause=pause)


def test_a_beat_a_cycle(fast, tmp_path):
    found = run("throughput", fast, tmp_path, shapes=[[128, 9], [8, 40], [128, 5], [30, 21]])
    for way in found.values():
        assert way["cycles"] == way["beats"]
    assert found["values"]["latency"] <= 75
    assert found["codes"]["latency"] <= 60


def test_bad_requests(fast, tmp_path):
    run("bad_requests", fast, tmp_path)


def test_aborts_and_resets(fast, tmp_path):
    run("aborts_and_resets", fast, tmp_path, rounds=30)
