# SPDX-License-Identifier: Apache-2.0
"""The card at the user interface of a CMAC of 322 MHz, with its engines at 250 MHz or another unrelated clock.

Blind spots: the CMAC itself, the card at its pins (no simulator has AMD's transceivers), and whether a chip reaches the
clocks.
"""

from pathlib import Path

import pytest

from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design

pytestmark = pytest.mark.rtl
pytest.importorskip("cocotbext.eth")
SHARED, BENCH = (Path(__file__).with_name(f"bench_udp_{name}.py") for name in ("card", "cmac"))
PATIENCE = 25_000
"""Cycles: longer than any case is silent, and soon over where a case waits for it."""
CARD = {"LINES": 64, "PATIENCE": PATIENCE, "CLOCK": 25_000_000}
"""One build for all cases. Those that the card behind RGMII has, too, expect its clock in its greeting."""


@pytest.mark.parametrize("case", ["addresses_and_echo", "sessions", "lookups", "old_and_early_numbers"])
def test_what_the_card_behind_rgmii_does(case, tmp_path, fast):
    run_bench(Design("udp_card_cmac", CARD), fast, SHARED, tmp_path, case=case, settings={"patience": PATIENCE})


@pytest.mark.slow
def test_tables_of_volumes(tmp_path, fast):
    run_bench(Design("udp_card_cmac", CARD | {"EBS_LINES": 64}), fast, SHARED, tmp_path, case="volumes")


@pytest.mark.parametrize(("paced", "short", "pause"), [(True, True, 0.0), (False, True, 0.5), (False, False, 0.5)])
def test_more_frames_than_the_card_takes(paced, short, pause, tmp_path, fast):
    """At the line's pace, or a beat in every cycle; without room frames are dropped whole and counted."""
    chosen = {"paced": paced, "short": short, "pause": pause, "frames": 2000 if paced else 1500}
    run_bench(Design("udp_card_cmac", CARD), fast, BENCH, tmp_path, case="overload", settings=chosen)


@pytest.mark.parametrize(
    ("clock_ns", "seed"),
    [(4, 1), pytest.param(3.1, 2, marks=pytest.mark.slow), pytest.param(40, 3, marks=pytest.mark.slow)],
)
def test_frames_with_faults_change_nothing(clock_ns, seed, tmp_path, fast):
    chosen = {"clock_ns": clock_ns, "seed": seed, "frames": 60}
    run_bench(Design("udp_card_cmac", CARD), fast, BENCH, tmp_path, case="faults_between_answers", settings=chosen)


def test_the_rate_is_the_engines(tmp_path, fast):
    """A look-up in every cycle, and four more at most for a request; what comes meanwhile waits and is not lost."""
    rates = run_bench(Design("udp_card_cmac", CARD), fast, BENCH, tmp_path, case="engine_rate")["cycles"]
    assert set(rates) == {"64", "256", "512", "1024", "1400"}
    for size, cycles in rates.items():
        assert 0 <= cycles - (int(size) - 16) // 8 <= 4.1
