# SPDX-License-Identifier: Apache-2.0
"""Frames between a CMAC's user interface and the card's clock, each byte compared.

Blind spots: the CMAC itself (its user interface is driven as PG203 describes it), flip-flops that become metastable.
"""

from pathlib import Path

import pytest

from offramp.fpga.sources import modules
from offramp_base.errors import MultilineError
from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
BENCH = Path(__file__).with_name("bench_cmac_frames.py")
CLOCKS_NS = [4, 3.1, 9.002]
"""Of the card: 250 MHz, nearly the CMAC's own, slow."""
QUICKLY = [*CLOCKS_NS[:2], pytest.param(CLOCKS_NS[2], marks=pytest.mark.slow)]


def run(case, work, simulator, design=None, **chosen):
    settings = {"seed": 3, "clock_ns": 4, "idle": 0.0, "pause": 0.0, "frames": 60} | chosen
    return run_bench(design or Design("cmac_frames"), simulator, BENCH, work, case=case, settings=settings)


@pytest.mark.parametrize("clock_ns", QUICKLY)
@pytest.mark.parametrize(("idle", "pause"), [(0.0, 0.0), (0.3, 0.3)])
def test_what_is_sent_leaves_without_a_gap(clock_ns, idle, pause, tmp_path, simulator):
    run("to_the_line", tmp_path, simulator, clock_ns=clock_ns, idle=idle, pause=pause)


@pytest.mark.parametrize("clock_ns", QUICKLY)
@pytest.mark.parametrize("idle", [0.0, 0.3])
def test_what_comes_is_whole_or_tells_of_its_fault(clock_ns, idle, tmp_path, simulator):
    run("from_the_line", tmp_path, simulator, Design("cmac_frames", {"RX_DEPTH": 2048}), clock_ns=clock_ns, idle=idle)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("clock_ns", QUICKLY)
def test_what_finds_no_room_is_counted(short, clock_ns, tmp_path, simulator):
    small = Design("cmac_frames", {"RX_DEPTH": 32})
    run("more_than_there_is_room_for", tmp_path, simulator, small, short=short, clock_ns=clock_ns, frames=400)


@pytest.mark.parametrize(
    ("case", "module", "right", "wrong"),
    [
        ("to_the_line", "frame_queue", "taken != whole &&", "taken != written &&"),
        ("to_the_line", "frame_widen", "here[g] ? in_data[g*8+:8] : 8'h00", "in_data[g*8+:8]"),
        (
            "to_the_line",
            "cmac_frames",
            "whole_keep = ~(64'hFFFF_FFFF_FFFF_FFFE",
            "whole_keep = ~(64'hFFFF_FFFF_FFFF_FFFF",
        ),
        ("from_the_line", "cmac_rx", "count >= REST", "count > REST"),
        ("from_the_line", "cmac_rx", "wire severed = gone && begun;", "wire severed = 1'b0;"),
        ("from_the_line", "frame_queue", "in_last && in_alone ?", "1'b0 ?"),
        ("more_than_there_is_room_for", "frame_queue", "!in_last && (full || !room)", "1'b0"),
        ("more_than_there_is_room_for", "tally_crossing", "(sends ? {WIDTH{1'b0}} : owed)", "owed"),
    ],
)
def test_a_planted_fault_is_found(case, module, right, wrong, tmp_path, simulator):
    text = modules()[module].read_text()
    assert text.count(right) == 1
    planted = tmp_path / f"{module}.sv"
    planted.write_text(text.replace(right, wrong))
    depth = 32 if case == "more_than_there_is_room_for" else 2048
    design = Design("cmac_frames", {"RX_DEPTH": depth}, extra=(planted,))
    with pytest.raises(MultilineError, match="1 of 1 failed"):
        run(case, tmp_path, simulator, design, idle=0.3, pause=0.3, short=False, frames=200)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("case", ["to_the_line", "from_the_line"])
def test_thousands_of_frames(case, seed, tmp_path, fast):
    design = Design("cmac_frames", {"RX_DEPTH": 8192})
    run(case, tmp_path, fast, design, seed=seed, idle=0.2, pause=0.2, frames=2000, clock_ns=CLOCKS_NS[seed % 3])
