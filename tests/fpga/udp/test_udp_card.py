# SPDX-License-Identifier: Apache-2.0
"""The card behind Gigabit Ethernet, driven at its RGMII pins; every frame that comes back has right sums and sequences.

Blind spots: the chip's own DDR primitives (a behavioural pair stands in), delays of clock against data, negotiation.
"""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
pytest.importorskip("cocotbext.eth")
BENCH = Path(__file__).with_name("bench_udp_card.py")
SMALL = {"LINES": 64, "PATIENCE": 2000}


@pytest.mark.parametrize(
    "case", ["addresses_and_echo", "sessions", "overtaken", "lookups", "bad_frames", "old_and_early_numbers"]
)
def test_at_the_pins(case, tmp_path, fast):
    run_bench(Design("udp_card", SMALL), fast, BENCH, tmp_path, case=case)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_frames_of_any_length_are_judged_and_cut(seed, tmp_path, simulator):
    bench = Path(__file__).with_name("bench_frame_check.py")
    run_bench(Design("frame_check"), simulator, bench, tmp_path, settings={"seed": seed, "frames": 300})


def test_tables_of_volumes_at_the_pins(tmp_path, simulator):
    run_bench(Design("udp_card", SMALL | {"EBS_LINES": 64}), simulator, BENCH, tmp_path, case="volumes")


@pytest.mark.parametrize("case", ["quantised_rows", "refused_rows"])
def test_rows_at_the_pins(case, tmp_path, fast):
    design = Design("udp_card", SMALL | {"QUANTPACK_DEPTH": 64})
    run_bench(design, fast, BENCH, tmp_path, case=case, settings={"requests": 6})


@pytest.mark.parametrize("sizes", [(64, 256, 1400), pytest.param((512, 1024), marks=pytest.mark.slow)])
def test_the_line_is_full_at_every_size(sizes, tmp_path, fast):
    """Whichever of request and answer is longer on the wire leaves no byte between itself and the next one.

    The two clocks' edges move against each other: a byte in twenty frames.
    """
    settings = {"sizes": sizes}
    rates = run_bench(Design("udp_card", SMALL), fast, BENCH, tmp_path, case="line_rate", settings=settings)["sizes"]
    assert set(rates) == set(map(str, sizes))
    for rate in rates.values():
        assert rate["cycles"] <= max(rate["wire"], rate["answer"]) + 0.1
        assert rate["least_gap"] >= 12
