# SPDX-License-Identifier: Apache-2.0
"""RAPL's counters in folders as Linux has them. Blind to what a processor really takes."""

import pytest

from offramp.report.energy import Energy, energy_or_reason
from offramp_base.errors import OfframpError

RANGE = 262_143_328_850


def zone(root, name, energy):
    (root / name).mkdir(exist_ok=True)
    (root / name / "max_energy_range_uj").write_text(f"{RANGE}\n")
    (root / name / "energy_uj").write_text(f"{energy}\n")


def test_packages_are_summed_and_their_parts_are_not_counted_twice(tmp_path):
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        zone(tmp_path, name, 1_000_000)
    energy = Energy(tmp_path)
    zone(tmp_path, "intel-rapl:0", 4_000_000)
    zone(tmp_path, "intel-rapl:1", 1_500_000)
    zone(tmp_path, "intel-rapl:0:0", 900_000_000)
    assert energy.joules() == 3.5
    assert energy.joules() == 0.0


def test_a_counter_that_comes_around(tmp_path):
    zone(tmp_path, "intel-rapl:0", RANGE - 2_000_000)
    energy = Energy(tmp_path)
    zone(tmp_path, "intel-rapl:0", 3_000_000)
    assert energy.joules() == 5.0


def test_where_nothing_is_readable_a_line_says_why(tmp_path):
    assert energy_or_reason(tmp_path) == (
        None,
        f"energy is not readable: no {tmp_path}/intel-rapl:0, as in most virtual machines",
    )
    zone(tmp_path, "intel-rapl:0", "garbage")
    energy, reason = energy_or_reason(tmp_path)
    assert energy is None
    assert reason.startswith(f"energy is not readable: {tmp_path}/intel-rapl:0: ")


def test_counters_that_go_away(tmp_path):
    zone(tmp_path, "intel-rapl:0", 1)
    energy = Energy(tmp_path)
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()
    with pytest.raises(OfframpError, match="energy is not readable any more"):
        energy.joules()
