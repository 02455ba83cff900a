# SPDX-License-Identifier: Apache-2.0
"""Patterns of measured attentions, their pairs counted otherwise, and what a measurement reports."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from offramp_sim.torchgt import measure
from offramp_sim.torchgt.measure import AttentionCase, AttentionCost, make_pattern, peak_bytes

TOKENS, DEGREE, CLUSTER = 512, 10, 128
MIB = 1 << 20


def _case(kind: str, **fields: int) -> AttentionCase:
    return AttentionCase(kind, **{"tokens": TOKENS, "degree": DEGREE, **fields})


@pytest.mark.parametrize("kind", ["topology", "shuffled"])
def test_a_graph_of_communities_is_symmetric_and_has_its_degree(kind: str) -> None:
    mask = make_pattern(_case(kind)).dense()
    assert mask.diagonal().all()
    assert (mask == mask.T).all()
    degrees = mask.sum(1) - 1  # edges that are drawn twice or to oneself are few
    assert 0.9 * DEGREE < degrees.mean() <= DEGREE
    assert degrees.min() >= 1


def test_a_shuffled_graph_has_the_same_degrees_but_no_order() -> None:
    ordered, shuffled = (make_pattern(_case(kind)).dense() for kind in ("topology", "shuffled"))
    assert sorted(ordered.sum(1)) == sorted(shuffled.sum(1))
    number = np.arange(TOKENS) // CLUSTER
    together = number[:, None] == number
    np.fill_diagonal(ordered, val=False)
    np.fill_diagonal(shuffled, val=False)
    # 0.9 of the edges lie inside by design, and a quarter of the others by chance
    assert (ordered & together).sum() / ordered.sum() == pytest.approx(0.9 + 0.1 / 4, abs=0.03)
    assert (shuffled & together).sum() / shuffled.sum() == pytest.approx(1 / 4, abs=0.05)


@pytest.mark.parametrize(("degree", "blocks"), [(8, 16), (1, 2), (0, 1)])
def test_blocks_hold_as_many_pairs_as_edges_and_all_loops(degree: int, blocks: int) -> None:
    pattern = make_pattern(_case("blocks", degree=degree))
    corners = [tuple(corner) for corner in pattern.corners.tolist()]
    assert len({*corners}) == blocks  # 512 · degree pairs of 16 · 16 a block
    assert all(row % 16 == column % 16 == 0 and max(row, column) < TOKENS for row, column in corners)
    inside = sum(row == column for row, column in corners)
    assert pattern.pairs == 256 * blocks + TOKENS - 16 * inside
    assert pattern.dense().sum() == pattern.pairs
    assert pattern.dense().diagonal().all()


def test_the_seed_determines_a_pattern() -> None:
    same, again, other = (make_pattern(_case("topology", seed=seed)).dense() for seed in (1, 1, 2))
    assert (same == again).all()
    assert (same != other).any()


@pytest.mark.parametrize(("kind", "pairs"), [("dense", 96**2), ("biased", 96**2), ("topology", 96)])
def test_an_attention_reports_its_pairs_and_times(kind: str, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is 1, 2, 3… later than that before it, so the least differences are the first's."""
    ticks = iter(n * (n + 1) / 2 for n in range(100))
    monkeypatch.setattr("offramp_sim.torchgt.measure.time.process_time", lambda: next(ticks))
    monkeypatch.setattr(measure, "peak_bytes", lambda work: work() or 7)
    cost = measure._run(AttentionCase(kind, tokens=96, degree=0, heads=2, width=8, repeat=3), threads=1)
    # readings 0 to 2 are those of the first, which is not counted
    assert cost == AttentionCost(4.0, 5.0, 7, pairs)
    assert cost.seconds == 9.0
    assert next(ticks) == 12 * 13 / 2


def test_the_peak_counts_what_is_freed_again() -> None:
    peak = peak_bytes(lambda: np.ones(64 * MIB, np.uint8).sum())
    assert 63 * MIB < peak < 96 * MIB
    assert peak_bytes(lambda: None) < 8 * MIB


def test_memory_that_is_given_back_is_no_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_memory", {"VmRSS": 100, "VmHWM": 90}.__getitem__)
    assert peak_bytes(lambda: None) == 0


@pytest.mark.parametrize(("kind", "shapes"), [("dense", []), ("biased", [(64, 64), (96, 96)])])
def test_a_biased_attention_has_the_bias_of_every_pair(
    kind: str, shapes: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the small one of 64 tokens, then that of the case."""
    seen: list[tuple[int, ...]] = []

    def attention(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: object, buckets: object, tokens: int
    ) -> object:
        assert (table is None) is (buckets is None)
        if isinstance(buckets, torch.Tensor):
            seen.append(tuple(buckets.shape))
        assert q.shape == (2, tokens, 4)
        return q + k + v

    monkeypatch.setattr("offramp.torchgt.dense.dense_attention", attention)
    measure._run(AttentionCase(kind, tokens=96, heads=2, width=8, repeat=1), threads=1)
    assert seen == shapes
