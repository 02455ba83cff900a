"""Loss, duplication, delay, stalls and late starts through the P4 program: sums are exact, nothing is left behind.

Each pass of the P4 program is whole before the next: what interleaved passes do, no test here can see. A thousand
seeds: ``pytest tests/p4/switchgnn/test_soak.py -m slow``.
"""

from __future__ import annotations

import pytest

from switchgnn_soak import Soak

pytestmark = pytest.mark.p4


def check(seed: int, make) -> None:
    soak = Soak(seed)
    target = make(soak.job, acks=soak.acks)
    lockstep = soak.run(target.process)
    assert target.occupancy()[0] == 0, "an aggregator stayed open"
    assert all(e.stats.foreign == e.stats.truncated == e.stats.rejected == 0 for e in lockstep.endpoints)


@pytest.mark.parametrize("seed", range(60))
def test_sixty_seeds(p4_targets, seed: int) -> None:
    check(seed, p4_targets("native"))


@pytest.mark.parametrize("seed", range(60, 90))
def test_thirty_seeds_by_replication(p4_targets, seed: int) -> None:
    check(seed, p4_targets("replicated-native"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 1060))
def test_a_thousand_seeds_by_replication(p4_targets, seed: int) -> None:
    check(seed, p4_targets("replicated-native"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 1060))
def test_a_thousand_seeds(p4_targets, seed: int) -> None:
    check(seed, p4_targets("native"))
