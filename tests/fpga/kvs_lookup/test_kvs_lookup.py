# SPDX-License-Identifier: Apache-2.0
"""``kvs_lookup``: addresses equal to the model's, cycles, bad requests, aborts."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_kvs_lookup.py")
LATENCY = 100


def run(case, simulator, work, width=512, flight=64, **settings):
    design = Design("kvs_lookup", {"WIDTH": width, "FLIGHT": flight})
    return run_bench(design, simulator, BENCH, work, case=case, settings={"seed": 4, "flight": flight} | settings)


@pytest.mark.parametrize(
    ("idle", "pause", "latency", "stall"), [(0.0, 0.0, 1, 0.0), (0.4, 0.0, 40, 0.3), (0.2, 0.5, 7, 0.2)]
)
def test_addresses_equal_the_models(either, idle, pause, latency, stall, tmp_path):
    chosen = {"packets": 40, "longest": 130, "idle": idle, "pause": pause, "latency": latency, "stall": stall}
    run("random_requests", either, tmp_path, **chosen)


def test_a_narrow_stream(simulator, tmp_path):
    chosen = {"packets": 30, "longest": 60, "idle": 0.3, "pause": 0.3, "latency": 9, "stall": 0.2}
    run("random_requests", simulator, tmp_path, width=128, flight=8, **chosen)


@pytest.mark.slow
@pytest.mark.parametrize("width", [128, 512])
def test_ten_thousand_requests(fast, width, tmp_path):
    chosen = {"packets": 10_000, "longest": 300, "idle": 0.1, "pause": 0.1, "latency": 20, "stall": 0.1}
    run("random_requests", fast, tmp_path, width=width, **chosen)


def test_a_hundred_million_lookups_a_second(simulator, tmp_path):
    """64 in flight, memory of 100 cycles, 250 MHz: 0.4 look-ups a cycle are wanted."""
    report = run("throughput", simulator, tmp_path, keys=1024, latency=LATENCY)
    assert report["in_flight"] == 64
    assert report["cycles"] <= 1733 < 1024 / 0.4


def test_a_lookup_a_cycle_where_memory_is_near(simulator, tmp_path):
    assert run("throughput", simulator, tmp_path, keys=1024, latency=20)["cycles"] <= 1024 + 29


def test_latency_of_a_single_key(simulator, tmp_path):
    assert run("throughput", simulator, tmp_path, keys=1, latency=1)["cycles"] <= 11


def test_bad_requests(either, tmp_path):
    run("bad_requests", either, tmp_path)


def test_aborts_and_resets(either, tmp_path):
    run("aborts_and_resets", either, tmp_path, rounds=24)
