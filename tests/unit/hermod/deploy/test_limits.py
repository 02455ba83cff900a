# SPDX-License-Identifier: Apache-2.0
"""Rates of a line's queues, before any target makes something of them."""

from __future__ import annotations

import pytest

from offramp.hermod.deploy.limits import LineLimits, burst_bytes
from offramp.hermod.plan_file import load_plan
from offramp_base.errors import OfframpError


def test_control_traffic_takes_its_share_where_it_has_a_queue_of_its_own() -> None:
    limits = LineLimits(10**9, control=0.1, police_bps={2: 5 * 10**8})
    assert limits.of_queues(load_plan("mixtral-8x7b")) == {7: 10**8, 2: 5 * 10**8}
    no_control = load_plan("mixtral-8x7b", control=())
    assert any(priority.queue == no_control.urgent for priority in no_control.priorities)
    assert limits.of_queues(no_control) == {2: 5 * 10**8}  # the job's first class is not control traffic


def test_shares_add_up_to_the_line() -> None:
    assert (LineLimits(1000, lowest=0.2).lowest_bps, LineLimits(1000, lowest=0.2).upper_bps) == (200, 800)
    assert (LineLimits(1000, lowest=0).lowest_bps, LineLimits(1000, lowest=0).upper_bps) == (None, None)


def test_a_burst_is_a_millisecond_or_a_few_packets() -> None:
    assert burst_bytes(8 * 10**9) == 10**6
    assert burst_bytes(8000) == 16 * 1500
    assert burst_bytes(8000, 9000) == 16 * 9000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"control": 0}, "share of control traffic 0: expected more than 0, up to 1"),
        ({"control": float("nan")}, "share of control traffic nan: expected"),
        ({"lowest": 1}, "share of the lowest queue 1: expected 0 up, below 1"),
        ({"lowest": float("nan")}, "share of the lowest queue nan: expected"),
    ],
)
def test_shares_that_are_none(given: dict[str, float], message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        LineLimits(10**9, **given)  # type: ignore[arg-type]
