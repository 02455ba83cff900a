# SPDX-License-Identifier: Apache-2.0
"""``ebs_lookup``: answers and buckets equal to the model's, cycles, bad requests, aborts."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_ebs_lookup.py")


def run(case, simulator, work, width=512, flight=64, **settings):
    design = Design("ebs_lookup", {"WIDTH": width, "FLIGHT": flight})
    return run_bench(design, simulator, BENCH, work, case=case, settings={"seed": 3} | settings)


@pytest.mark.parametrize(
    ("idle", "pause", "latency", "stall"), [(0.0, 0.0, 1, 0.0), (0.4, 0.0, 40, 0.3), (0.2, 0.5, 7, 0.2)]
)
def test_answers_equal_the_models(simulator, idle, pause, latency, stall, tmp_path):
    chosen = {"packets": 40, "idle": idle, "pause": pause, "latency": latency, "stall": stall}
    run("random_reads", simulator, tmp_path, width=128, flight=8, **chosen)


@pytest.mark.slow
@pytest.mark.parametrize("width", [128, 512])
def test_ten_thousand_packets(fast, width, tmp_path):
    chosen = {"packets": 10_000, "idle": 0.1, "pause": 0.1, "latency": 20, "stall": 0.1}
    run("random_reads", fast, tmp_path, width=width, **chosen)


def test_a_read_in_three_cycles_where_volumes_differ(simulator, tmp_path):
    """Three words a read come in; memory of 1 cycle hides in eleven volumes."""
    report = run("throughput", simulator, tmp_path, reads=330, volumes=11, latency=1)
    assert report["cycles"] <= 330 * 3 + 60


def test_reads_of_one_volume_take_three_reads_and_a_write_each(simulator, tmp_path):
    report = run("throughput", simulator, tmp_path, reads=40, volumes=1, latency=10)
    assert report["cycles"] <= 40 * (4 * 10 + 32)


def test_bad_requests(simulator, tmp_path):
    run("bad_requests", simulator, tmp_path)


def test_aborts_and_resets(simulator, tmp_path):
    run("aborts_and_resets", simulator, tmp_path, rounds=16, width=128)
