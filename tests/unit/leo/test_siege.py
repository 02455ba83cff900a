# SPDX-License-Identifier: Apache-2.0
"""A job goes on while strangers, and insiders who speak nonsense, greet its responder.

What the short one cannot see: tails beyond its few windows. The full one is slow.
"""

from __future__ import annotations

import itertools
import time

import pytest

from leo_hostile import connected, responder
from leo_siege import besiege

pytestmark = pytest.mark.full


@pytest.mark.full
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_a_job_ends_right_under_hostile_greetings(transport):
    siege = besiege(windows=1, greetings=30, rate=5000, seconds=0.5, transport=transport)
    assert siege.wrong == 0
    assert siege.done > 0
    assert siege.greetings >= 30


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_ten_thousand_hostile_greetings_leave_the_tail_where_it_is(transport):
    """``pytest -m slow tests/unit/leo/test_siege.py -s``: windows in turns, so that other load falls on both."""
    siege = besiege(windows=30, greetings=10_000, transport=transport)
    print(f"{siege.greetings} greetings: p99 {siege.quiet_us} and {siege.loud_us} us, {siege.ratio:.2f}")  # noqa: T201
    assert siege.wrong == 0
    assert siege.ratio <= 1.5


def test_strangers_get_a_small_part_of_the_time(monkeypatch):
    """However long a look at them takes: the next one comes fifty times as much later, while somebody is served."""
    with responder() as server:
        calls = []

        def slow(_):
            calls.append(time.monotonic())
            time.sleep(0.002)

        monkeypatch.setattr(server.listener, "accept", slow)
        for _ in range(5):
            server.step()
        assert len(calls) == 5, "nobody is served: strangers need not wait"
        connected(server)
        calls.clear()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            server.step()
        assert 1 <= len(calls) <= 6
        assert min(b - a for a, b in itertools.pairwise(calls)) >= 0.1
