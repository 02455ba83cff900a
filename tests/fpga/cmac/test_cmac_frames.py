# SPDX-License-Identifier: Apache-2.0
"""Frames between a CMAC's user interface and the card's clock, each byte compared.

Blind spots: the CMAC itself (its user interface is driven as PG203 describes it), flip-flops that become metastable.
"""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_cmac_frames.py")
CLOCKS_NS = [4, 3.1, 9.002]
"""Of the card: 250 MHz, nearly the CMAC's own, slow."""


def run(case, work, simulator, design=None, **chosen):
    settings = {"seed": 3, "clock_ns": 4, "idle": 0.0, "pause": 0.0, "frames": 60} | chosen
    return run_bench(design or Design("cmac_frames"), simulator, BENCH, work, case=case, settings=settings)


@pytest.mark.parametrize("clock_ns", CLOCKS_NS)
@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.3, 0.3)])
def test_what_is_sent_leaves_without_a_gap(clock_ns, idle, pause, tmp_path, simulator):
    run("to_the_line", tmp_path, simulator, clock_ns=clock_ns, idle=idle, pause=pause)


@pytest.mark.parametrize("clock_ns", CLOCKS_NS)
@pytest.mark.parametrize("idle", [0.0, 0.3])
def test_what_comes_is_whole_or_tells_of_its_fault(clock_ns, idle, tmp_path, simulator):
    run("from_the_line", tmp_path, simulator, Design("cmac_frames", {"RX_DEPTH": 2048}), clock_ns=clock_ns, idle=idle)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("clock_ns", CLOCKS_NS)
def test_what_finds_no_room_is_counted(short, clock_ns, tmp_path, simulator):
    small = Design("cmac_frames", {"RX_DEPTH": 32})
    run("more_than_there_is_room_for", tmp_path, simulator, small, short=short, clock_ns=clock_ns, frames=400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("case", ["to_the_line", "from_the_line"])
def test_thousands_of_frames(case, seed, tmp_path, fast):
    design = Design("cmac_frames", {"RX_DEPTH": 8192})
    run(case, tmp_path, fast, design, seed=seed, idle=0.2, pause=0.2, frames=2000, clock_ns=CLOCKS_NS[seed % 3])
