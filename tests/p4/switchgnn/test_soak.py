# SPDX-License-Identifier: Apache-2.0
"""Loss, duplication, replays, delay, stalls, late starts and restarts of the switch, through the P4 programs.

Sums are exact, and nothing is left behind. Each pass of a P4 program is whole before the next: what interleaved passes
do, no test here can see. A thousand seeds: ``pytest tests/p4/switchgnn/test_soak.py -m slow``.
"""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from switchgnn_soak import Soak

pytestmark = [pytest.mark.p4, pytest.mark.full]


def check(seed: int, make) -> None:
    soak = Soak(seed)
    switches = []

    def fresh():
        switches.append(make(soak.job, acks=soak.acks))
        return switches[-1].process

    lockstep = soak.run(fresh)
    assert switches[-1].open() == 0, "an aggregator stayed open"
    assert all(e.stats.foreign == e.stats.truncated == e.stats.rejected == 0 for e in lockstep.endpoints)


def check_or_fail_cleanly(seed: int, make) -> None:
    """A worker that hears for a few turns only, in step with the time-outs, may fail; then it says so."""
    failure = ""
    try:
        check(seed, make)
    except OfframpError as error:
        failure = str(error)
    if failure:
        assert "nothing moves in block" in failure
        pytest.skip(f"clean failure: {failure}")


@pytest.mark.parametrize("seed", range(60))
def test_sixty_seeds(p4_targets, seed: int) -> None:
    check(seed, p4_targets("native"))


@pytest.mark.parametrize("seed", range(4))
def test_the_program_for_tofino(p4_targets, seed: int) -> None:
    check(seed, p4_targets("tna-native"))


@pytest.mark.parametrize("seed", range(60, 90))
def test_thirty_seeds_by_replication(p4_targets, seed: int) -> None:
    check(seed, p4_targets("replicated-native"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 1060))
def test_a_thousand_seeds_by_replication(p4_targets, seed: int) -> None:
    check_or_fail_cleanly(seed, p4_targets("replicated-native"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 1060))
def test_a_thousand_seeds(p4_targets, seed: int) -> None:
    check_or_fail_cleanly(seed, p4_targets("native"))
