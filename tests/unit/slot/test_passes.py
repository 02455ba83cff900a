# SPDX-License-Identifier: Apache-2.0
"""Every scheme through a switch is charged its passes; the order of passes is held to a stepped pipeline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp_base.errors import OfframpError
from offramp_sim.slot.ports import StarFabric, served_slots
from offramp_sim.slot.schemes import SCHEMES, SchemeParameters, simulate
from offramp_sim.slot.strawman import decide

BY_HOSTS = {"bns-gcn", "g3"}
THROUGH_SWITCH = sorted(SCHEMES.keys() - BY_HOSTS)
ALL_THROUGH_SWITCH = sorted(SCHEMES.keys() - BY_HOSTS - {"hybrid"})
"""Hosts take over what hybrid does not send; here that is everything."""


def setting(passes_pps: float | None = None, memory: int = 6000, features: int = 40) -> SchemeParameters:
    graph = generate("sbm:n=200,k=4,degree=12", "1/0/0", seed=3)
    boundary = Boundary(graph, partition(graph, 5, "hash", 3), 5)
    return SchemeParameters(boundary, features, memory, StarFabric(delay_s=1e-7, passes_pps=passes_pps))


@pytest.mark.parametrize("scheme", THROUGH_SWITCH)
def test_a_pipeline_without_limit_is_a_free_one(scheme: str) -> None:
    free, fast = (simulate(setting(passes), scheme) for passes in (None, 1e18))
    assert fast.seconds == free.seconds
    assert (fast.up_bytes, fast.down_bytes, fast.down_vectors) == (free.up_bytes, free.down_bytes, free.down_vectors)
    np.testing.assert_array_equal(fast.series.open, free.series.open)


@pytest.mark.parametrize("scheme", ALL_THROUGH_SWITCH)
def test_a_slow_pipeline_is_what_an_exchange_takes(scheme: str) -> None:
    passes_pps = 1e6
    one = setting(passes_pps)
    slow = simulate(one, scheme)
    contributions = one.boundary.R if scheme == "pairwise" else 2 * one.boundary.C
    assert slow.seconds >= 0.99 * contributions * one.chunks / passes_pps  # a block ends as its last pass begins
    assert slow.seconds > 5 * simulate(setting(), scheme).seconds
    rates = [simulate(setting(rate), scheme).seconds for rate in (1e6, 1e7, 1e8, 1e9)]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("scheme", ALL_THROUGH_SWITCH)
def test_no_passes_at_all_are_refused(scheme: str) -> None:
    with pytest.raises(OfframpError, match=r"passes_pps 0: expected a rate above 0|passes_pps 0.0: expected"):
        simulate(replace(setting(), fabric=StarFabric(passes_pps=0.0)), scheme)


@pytest.mark.parametrize("seed", range(20))
def test_passes_follow_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    uploads, chunks, passes = int(rng.integers(1, 12)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    fan_out = rng.integers(1, 5, uploads)
    upload = rng.permutation(np.repeat(np.arange(uploads), fan_out))
    arrived = rng.permutation(uploads * chunks).reshape(uploads, chunks) * 2 + rng.integers(0, 2, (uploads, chunks))
    arrived = np.sort(arrived, axis=1)
    fabric = StarFabric()
    got = served_slots(arrived, fan_out, upload, replace(fabric, passes_pps=passes / fabric.slot_s))
    free = 0  # pass by pass; so many make a slot
    for at in np.argsort(arrived.ravel(), kind="stable").tolist():
        which, chunk = divmod(at, chunks)
        free = max(free, int(arrived[which, chunk]) * passes)
        for contribution in np.flatnonzero(upload == which).tolist():
            assert got[contribution, chunk] == free // passes
            free += 1


def test_aggregators_by_hash_are_the_same_whatever_comes_first() -> None:
    boundary = setting().boundary
    rng = np.random.default_rng(0)
    limit = boundary.B // 3
    one, other = (decide(boundary, rng.permutation(boundary.B), limit, fixed=True) for _ in range(2))
    assert np.array_equal(one.aggregated, other.aggregated)
    assert int(one.aggregated.sum()) == limit
    assert np.array_equal(one.raw, other.raw)
    assert decide(boundary, np.arange(boundary.B), None, fixed=True).aggregated.all()
    # Those that are given on demand serve one vertex after another.
    assert decide(boundary, np.arange(boundary.B), limit).aggregated.sum() > limit
