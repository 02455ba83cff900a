# SPDX-License-Identifier: Apache-2.0
"""``p2p_dma``: bytes and completions equal to the model's, cycles, faults of descriptors and memories, aborts."""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_p2p_dma.py")


def run(case, simulator, work, width=256, **settings):
    design = Design("p2p_dma", {"WIDTH": width})
    return run_bench(design, simulator, BENCH, work, case=case, settings={"seed": 6} | settings)


@pytest.mark.parametrize(
    ("idle", "pause", "latency", "stall"), [(0.0, 0.0, 1, 0.0), (0.3, 0.4, 30, 0.2), (0.0, 0.0, 60, 0.5)]
)
def test_copies_equal_the_models(simulator, idle, pause, latency, stall, tmp_path):
    chosen = {"copies": 150, "idle": idle, "pause": pause, "latency": latency, "stall": stall}
    run("random_copies", simulator, tmp_path, **chosen)


@pytest.mark.slow
@pytest.mark.parametrize("width", [256, 512])
def test_ten_thousand_copies(fast, width, tmp_path):
    chosen = {"copies": 10_000, "idle": 0.1, "pause": 0.1, "latency": 9, "stall": 0.1}
    run("random_copies", fast, tmp_path, width=width, **chosen)


@pytest.mark.parametrize(("source", "destination", "more"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (77, 4091, 0)])
def test_a_line_in_each_cycle(simulator, source, destination, more, tmp_path):
    """512 lines, memory of 20 cycles; the rest is the latency of one copy."""
    report = run("a_line_in_each_cycle", simulator, tmp_path, source=source, destination=destination, latency=20)
    assert report["cycles"] <= 512 + 70


def test_faults(simulator, tmp_path):
    run("faults", simulator, tmp_path)


def test_aborts_and_resets(simulator, tmp_path):
    run("aborts_and_resets", simulator, tmp_path, rounds=16)
