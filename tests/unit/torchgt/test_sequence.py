# SPDX-License-Identifier: Apache-2.0
"""Orders, labels, padding and encodings of sequences (G2, G8)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from offramp.graph.csr import rows_of
from offramp.torchgt.attention import SequenceAttention
from offramp.torchgt.encodings import laplacian_positions, near_pairs
from offramp.torchgt.kernel import PatternTensors, sparse_attention
from offramp.torchgt.pattern import SELF, BucketOf, pair_keys, pattern_of
from offramp.torchgt.run import prepare
from offramp.torchgt.sequence import sequences
from offramp.torchgt.task import load_task
from offramp.torchgt.trainer import TransformerTrainer
from offramp.workers.group import Group
from torchgt_patterns import random_pattern, some_bucket


def test_attention_is_equivariant_under_permutations() -> None:
    pattern, order = random_pattern(40, 5), np.random.default_rng(0).permutation(40)
    place = np.argsort(order)  # token order[i] goes to i
    moved = pattern_of(40, pair_keys(40, place[pattern.rows], place[pattern.indices]), some_bucket)
    q, k, v = torch.randn(3, 2, 40, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    plain = sparse_attention(q, k, v, None, PatternTensors(pattern))
    turned = sparse_attention(q[:, order], k[:, order], v[:, order], None, PatternTensors(moved))
    torch.testing.assert_close(turned, plain[:, order], atol=1e-12, rtol=0)


@pytest.mark.parametrize("global_token", [True, False])
@pytest.mark.parametrize("workers", [1, 4])
def test_order_and_padding(settings, workers: int, global_token: bool) -> None:
    chosen = settings(workers=workers, global_token=global_token, sequence=25, graph="sbm:n=61,k=3,features=5")
    task = load_task(chosen)
    seen = []
    for sequence in sequences(task, chosen):
        members = sequence.ids[sequence.vertex]
        count = len(members)
        seen.append(members)
        assert sequence.tokens % workers == 0
        assert sequence.real == count + global_token
        assert sequence.tokens - sequence.real < workers
        assert np.array_equal(sequence.vertex, np.arange(sequence.tokens) < count)
        for rows, whole in (
            (sequence.features, task.features),
            (sequence.targets, task.targets),
            (sequence.degrees, np.diff(task.indptr)),
        ):
            assert np.array_equal(rows[:count], whole[members])
        assert np.array_equal(sequence.masks[:, :count], task.masks[:, members])
        assert not sequence.masks[:, count:].any()
        assert sequence.bounds[0] == 0
        assert sequence.bounds[-1] == count
        # The same edges as in the graph, self-loops, and the global token's row and column.
        dense = np.zeros((task.vertices, task.vertices), bool)
        dense[rows_of(task.indptr), task.indices] = True
        expected = np.eye(sequence.tokens, dtype=bool)
        expected[:count, :count] |= dense[np.ix_(members, members)]
        if global_token:
            expected[count, :count] = expected[:count, count] = True
        assert np.array_equal(sequence.pattern.dense(), expected)
    assert [len(part) for part in seen] == [25, 25, 11]
    assert sorted(np.concatenate(seen)) == list(range(task.vertices))


def test_clusters_are_contiguous_and_metis_finds_communities(settings) -> None:
    chosen = settings(graph="sbm:n=120,k=3,degree=12,homophily=1", global_token=False)
    task = load_task(chosen)
    (sequence,) = sequences(task, chosen)
    for first, end in zip(sequence.bounds[:-1], sequence.bounds[1:], strict=True):
        assert len(set(sequence.targets[first:end])) == 1


def test_scores_do_not_depend_on_the_order(settings) -> None:
    losses = []
    for clusters in (1, 2, 7, 100):
        prepared = prepare(settings(workers=1, clusters=clusters, attention="topology"))
        trainer = TransformerTrainer(prepared.jobs[0], Group())
        losses.append([trainer.step(0, None) for _ in range(3)])
    assert np.ptp(losses, axis=0).max() < 1e-12


def test_graphs_of_a_sequence_do_not_see_each_other(settings) -> None:
    chosen = settings(graph="molecules:count=12", attention="full", graphs=3, workers=2)
    task = load_task(chosen)
    parts = set()
    for sequence in sequences(task, chosen):
        members = sequence.ids[sequence.vertex]
        count = len(members)
        graph_of = np.full(sequence.tokens, -1)
        graph_of[:count] = task.graph_of[members]
        graph_of[count : sequence.real] = np.unique(graph_of[:count])
        graph_of[sequence.real :] = -2 - np.arange(sequence.tokens - sequence.real)
        same = graph_of[:, None] == graph_of
        if sequence.real > count + 1:
            assert np.array_equal(sequence.all_pairs.dense(), same)
        else:
            assert sequence.all_pairs is None, "a single graph attends in full without a pattern"
        assert not (sequence.pattern.dense() & ~same).any()
        assert np.array_equal(sequence.targets[count : sequence.real], task.targets[graph_of[count : sequence.real]])
        parts.add(tuple(sequence.masks[:, count : sequence.real].all(1)))
    assert parts == {(True, False, False), (False, True, False), (False, False, True)}


def test_paths_by_construction_hold_the_conditions(settings) -> None:
    for graph in ("sbm:n=61,k=3,degree=1,features=5", "molecules:count=12"):
        chosen = settings(graph=graph, attention="interleaved", interleave="constructed", graphs=3)
        task = load_task(chosen)
        assert all(sequence.conditions.hold for sequence in sequences(task, chosen))
        literal = settings(graph=graph, attention="interleaved", interleave="conditions", graphs=3, global_token=False)
        if task.graph_of is None:
            assert not any(sequence.conditions.hold for sequence in sequences(task, literal))


def test_scores_are_of_the_declared_pattern(settings) -> None:
    """Evaluations use what the policy uses between periodic full steps, or full attention where asked (G11)."""
    for changes, full in (
        ({"attention": "interleaved", "period": 1}, False),
        ({"attention": "interleaved", "period": 1, "evaluate": "full"}, True),
        ({"attention": "full"}, True),
        ({"attention": "topology"}, False),
        ({"attention": "interleaved", "interleave": "conditions", "global_token": False}, True),
    ):
        chosen = settings(workers=1, **changes)
        (sequence,) = prepare(chosen).jobs[0].shares
        attention = SequenceAttention(sequence, chosen)
        attention.declare(None)
        assert attention.is_full is full
        assert attention.pairs == (sequence.real**2 if full else sequence.pattern.pairs)


@pytest.mark.parametrize("changes", [{"clusters": 500}, {"clusters": 1}, {"sequence": 2}, {"distance": 4}])
def test_unusual_sizes_train(settings, changes) -> None:
    for attention in ("reformed", "full", "topology"):
        job = prepare(settings(workers=1, attention=attention, **changes)).jobs[0]
        assert np.isfinite(TransformerTrainer(job, Group()).run()[-1].loss)


def test_distances_are_those_of_shortest_paths() -> None:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 30, (2, 35))
    matrix = csr_array((np.ones(35), edges), shape=(30, 30))
    matrix = ((matrix + matrix.T) > 0).astype(float).tolil()
    matrix.setdiag(0)
    matrix = matrix.tocsr()
    matrix.eliminate_zeros()
    exact = shortest_path(matrix, unweighted=True)
    for limit in (1, 2, 5):
        keys, distances = near_pairs(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), limit, 31)
        rows, columns = np.divmod(keys, 31)
        assert np.array_equal(exact[rows, columns], distances)
        assert len(keys) == ((exact > 0) & (exact <= limit)).sum()
        assert (np.diff(keys) > 0).all()


def test_laplacian_positions_are_eigenvectors() -> None:
    n = 12
    ring = np.arange(n)
    indptr, indices = 2 * np.arange(n + 1), np.sort(np.stack([(ring - 1) % n, (ring + 1) % n], 1), 1).ravel()
    positions = laplacian_positions(indptr, indices, 2, 0)
    shifted = (positions[(ring + 1) % n] + positions[(ring - 1) % n]) / 2
    np.testing.assert_allclose(shifted, np.cos(2 * np.pi / n) * positions, atol=1e-3)
    assert not laplacian_positions(np.zeros(2, np.int64), np.zeros(0, np.int64), 3, 0).any()


@pytest.mark.parametrize("near", [[], [(0, 1, 1), (0, 3, 2), (1, 0, 1)]])
def test_entries_of_the_bias_are_self_a_distance_far_or_global(near: list[tuple[int, int, int]]) -> None:
    """Four vertices, of which token 3 is a global one."""
    keys = np.array([row * 4 + column for row, column, _ in near], np.int64)
    bucket_of = BucketOf(4, 2, 3, (keys, np.array([distance for *_, distance in near], np.int64)))
    rows, columns = (each.ravel() for each in np.indices((4, 4)))
    far, beyond = 3, 4
    expected = np.full((4, 4), far)
    for row, column, distance in near:
        expected[row, column] = distance
    expected[3, :] = expected[:, 3] = beyond
    np.fill_diagonal(expected, SELF)
    assert bucket_of(rows, columns).reshape(4, 4).tolist() == expected.tolist()
    assert len(BucketOf(4, 2, 3, None)(rows, columns)) == 0
