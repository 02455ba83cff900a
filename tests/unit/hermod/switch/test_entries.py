# SPDX-License-Identifier: Apache-2.0
"""Entries of Hermod's switch for a plan, and plans that are refused."""

from __future__ import annotations

import pytest

from offramp.hermod.switch.entries import (
    BY_SOURCE,
    MEMBERS,
    UPPER,
    GateRole,
    MeterRate,
    SwitchPlan,
    ThresholdProfile,
    cell,
    state_for,
)
from offramp_base.errors import OfframpError
from offramp_base.p4rt.state import RATE as RATE_OF_CELL

RATE = MeterRate(1000, 100)

REFUSED = {
    "DSCP 64: expected 0 to 63": {"queues": {64: 0}},
    "DSCP -1: expected 0 to 63": {"queues": {-1: 0}},
    "DSCP 63: queue 8: expected 0 to 7": {"queues": {63: 8}},
    "role of DSCP 64: expected 0 to 63": {"roles": {64: GateRole(held=True)}},
    "queue 8 of other DSCPs: expected 0 to 7": {"other": 8},
    "queue 8 of frames without DSCP: expected 0 to 7": {"without_dscp": 8},
    "profile of queue 8: expected 0 to 7": {"profiles": {8: ThresholdProfile(1)}},
    "rate of queue 8: expected 0 to 7": {"police": {8: RATE}, "members": (1,)},
    "port 512 of the job: expected 0 to 511": {"members": (512,)},
    "rates of queues: for no port; expected the job's, or all of the switch's": {"police": {7: RATE}},
    "rate of all queues but the lowest: for no port; expected the switch's": {"upper": RATE},
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_plan_that_is_none_is_refused_in_a_line(line: str) -> None:
    with pytest.raises(OfframpError) as error:
        SwitchPlan(**({"queues": {}} | REFUSED[line]))
    assert str(error.value) == line


def test_the_highest_numbers_are_taken() -> None:
    SwitchPlan({63: 7}, roles={63: GateRole(held=True)}, members=(511,), police={7: RATE}, ports=(511,), upper=RATE)


@pytest.mark.parametrize(("bytes_per_s", "burst"), [(0, 1), (1, 0), (-1, 1)])
def test_a_rate_that_is_none(bytes_per_s: int, burst: int) -> None:
    with pytest.raises(OfframpError, match="expected 1 up"):
        MeterRate(bytes_per_s, burst)


def test_members_and_rates_become_entries_and_cells() -> None:
    state = state_for(SwitchPlan({}, members=(2, 1), ports=(1, 2, 3), police={7: RATE}, upper=RATE), ())
    members = [(keys, action.rpartition(".")[2]) for (table, keys), (action, _) in state.items() if table == MEMBERS]
    assert members == [((), "best_effort"), ((("port", 1),), "trust"), ((("port", 2),), "trust")]
    cells = {key for key, (action, _) in state.items() if action == RATE_OF_CELL}
    policed = {(BY_SOURCE, (("index", cell(port, 7)),)) for port in (1, 2)}
    assert cells == policed | {(UPPER, (("index", port),)) for port in (1, 2, 3)}
    assert {state[key] for key in cells} == {(RATE_OF_CELL, (("bytes_per_s", 1000), ("burst", 100)))}


def test_nobody_is_a_member_where_the_job_has_no_ports() -> None:
    state = state_for(SwitchPlan({}, members=()), ())
    actions = [action for (table, _), (action, _) in state.items() if table == MEMBERS]
    assert actions == ["HermodIngress.trust.best_effort"]
