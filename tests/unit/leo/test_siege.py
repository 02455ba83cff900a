"""A job goes on while strangers, and insiders who speak nonsense, greet its responder.

What the short one cannot see: tails beyond its few windows. The full one is slow.
"""

from __future__ import annotations

import pytest

from leo_siege import besiege


def test_a_job_ends_right_under_hostile_greetings():
    found = besiege(windows=3, greetings=30, rate=5000, seconds=0.5)
    assert found.wrong == 0
    assert found.done > 0
    assert found.greetings >= 30


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_hostile_greetings_leave_the_tail_where_it_is():
    """``pytest -m slow tests/unit/leo/test_siege.py -s``: windows in turns, so that other load falls on both."""
    found = besiege(windows=30, greetings=10_000)
    print(f"{found.greetings} greetings: p99 {found.quiet_us} and {found.loud_us} us, {found.ratio:.2f}")  # noqa: T201
    assert found.wrong == 0
    assert found.ratio <= 1.5
