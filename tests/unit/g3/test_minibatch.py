# SPDX-License-Identifier: Apache-2.0
"""Loads and computation of sampled and replicated training, counted with sets."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.graph.data import build_graph
from offramp_sim.g3.minibatch import MiniBatchWork, replicated, sampled

RNG = np.random.default_rng(5)
GRAPH = build_graph("random", 60, tuple(RNG.integers(0, 60, (2, 150))))
OWNER = RNG.integers(0, 3, 60)


def neighbours(vertex: int) -> set[int]:
    return set(GRAPH.indices[GRAPH.indptr[vertex] : GRAPH.indptr[vertex + 1]].tolist())


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_replicated_neighbourhoods(layers: int) -> None:
    mine = set(np.flatnonzero(OWNER == 1).tolist())
    needed, targets, edges = mine, 0, 0
    for _ in range(layers):
        targets += len(needed)
        edges += sum(len(neighbours(v)) for v in needed)
        needed = needed.union(*map(neighbours, needed))
    assert replicated(GRAPH, OWNER, 1, layers) == MiniBatchWork(len(needed), len(needed - mine), targets, edges)


def test_a_fan_out_beyond_all_degrees_takes_whole_neighbourhoods() -> None:
    count = int((OWNER == 1).sum())
    whole = sampled(GRAPH, OWNER, 1, (100, 100), count, seed=0)
    assert whole == replicated(GRAPH, OWNER, 1, 2)
    halves = sampled(GRAPH, OWNER, 1, (100, 100), -(-count // 2), seed=0)
    assert halves.rows >= whole.rows  # what both halves need is loaded twice


def test_a_fan_out_bounds_what_is_drawn() -> None:
    count = int((OWNER == 2).sum())
    work = sampled(GRAPH, OWNER, 2, (2, 1), 4, seed=1, most=100)
    assert work.targets >= count + 1
    assert work.edges <= 2 * count + 3 * count  # two for each target, one for each of up to three
    assert work.remote <= work.rows
    assert sampled(GRAPH, OWNER, 2, (2, 1), 4, seed=1, most=100) == work
    few = sampled(GRAPH, OWNER, 2, (2, 1), 1, seed=1, most=4)
    assert few.targets == pytest.approx(sampled(GRAPH, OWNER, 2, (2, 1), 1, seed=1, most=100).targets, rel=0.3)


def test_nobody_needs_nothing() -> None:
    assert sampled(GRAPH, np.zeros(60, int), 1, (2,), 4, seed=0) == MiniBatchWork()
    assert replicated(GRAPH, np.zeros(60, int), 1, 2) == MiniBatchWork()
