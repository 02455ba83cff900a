# SPDX-License-Identifier: Apache-2.0
"""Signals at random times to responders and requesters: nothing hangs, nothing is wrong, nothing is left behind."""

from __future__ import annotations

import pytest

from leo_campaign import SIGNALS, VICTIMS, campaign

pytestmark = pytest.mark.full


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("victim", VICTIMS)
def test_signals_at_random_times(victim, number):
    campaign(victim, number, runs=2, seed=77)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("victim", VICTIMS)
def test_500_signals(victim, number):
    """``pytest -m slow tests/unit/leo/test_campaign.py``; ``leo_campaign.py`` resumes at any seed."""
    rate = campaign(victim, number, runs=500, seed=0)
    print(f"{number.name} to the {victim}: {60 * rate:.0f} runs per minute")  # noqa: T201
