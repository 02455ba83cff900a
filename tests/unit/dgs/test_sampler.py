# SPDX-License-Identifier: Apache-2.0
"""The distributed sampler: the same batches wherever they are drawn, every byte counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from dgs_runs import planted, settings
from offramp.dgs.cost import halo
from offramp.dgs.evaluator import ModelEvaluator
from offramp.dgs.importance import column_norms, draw
from offramp.dgs.masks import Masks
from offramp.dgs.messenger import Messenger
from offramp.dgs.sampler import BatchSampler
from offramp.dgs.sampling import ALL, LocalAdjacency
from offramp.dgs.shard import split
from offramp.dgs.wire import DGS
from offramp.graph.data import build_graph
from offramp.graph.partition import partition
from offramp.models import make_model, model_widths
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import run_group

GRAPH = planted(n=150, columns=12, informative=4)[0]
OWNER = partition(GRAPH, 3, "random", 0)


def masks_of(shard, seed: int = 0) -> Masks:
    rng = np.random.default_rng([seed, shard.worker])
    return Masks(1, rng.random(len(shard.halo)).astype(np.float32), rng.random(shard.width).astype(np.float32))


def batches(how, *, masked: bool = False, graph=GRAPH, owner=OWNER, count: int = 2) -> list[Any]:
    """Per worker its ledger and, per batch, sources, features, edges and sums of ones over each view."""
    shards = split(graph, owner, how)

    def work(group):
        shard, messenger = shards[group.rank], Messenger(group)
        sampler = BatchSampler(shard, messenger)
        if masked:
            masks = masks_of(shard)
            sampler.publish(1, masks, masks.columns(how.chosen_columns(shard.width)))
        drawn = []
        for number in range(1, count + 1):
            batch = sampler.sample(shard.train[number - 1 :: 3], number)
            x = sampler.features(batch.sources, number)
            sums = [view.sum(torch.arange(float(view._matrix.values.shape[1])).unsqueeze(1)) for view in batch.views]
            drawn.append((batch.sources, x, batch.edges, sums))
        return messenger.ledger, drawn

    return run_group(how.workers, work)


def assert_same(first, second) -> None:
    for (_, mine), (_, theirs) in zip(first, second, strict=True):
        for (sources, x, edges, sums), (others, y, count, totals) in zip(mine, theirs, strict=True):
            assert np.array_equal(sources, others)
            assert np.array_equal(x, y)
            assert edges == count
            assert all(map(torch.equal, sums, totals))


@pytest.mark.parametrize(
    "how", [settings(sampler=name, columns=1.0) for name in ("random", "fastgcn", "clustergcn", "full")] + [settings()]
)
@pytest.mark.parametrize("masked", [False, True])
def test_draws_do_not_depend_on_where_they_are_made(how, masked: bool) -> None:
    """Edges with their owners or with everybody: the same batches to the bit, without a byte of structure."""
    masked = masked and how.sampler == "dgs"
    owned, replicated = batches(how, masked=masked), batches(replace(how, topology="replicated"), masked=masked)
    assert_same(owned, replicated)
    assert all(ledger.structure == 0 for ledger, _ in replicated)


def test_before_the_first_masks_dgs_is_random() -> None:
    assert_same(batches(settings(columns=1.0)), batches(settings(sampler="random", columns=1.0)))


def test_all_columns_are_no_feature_sampling() -> None:
    how = settings(columns=1.0)
    x = [features for _, drawn in batches(how, masked=True) for _, features, _, _ in drawn]
    ids = [sources for _, drawn in batches(how, masked=True) for sources, _, _, _ in drawn]
    assert all(np.array_equal(features, GRAPH.features[at]) for features, at in zip(x, ids, strict=True))


def test_columns_that_do_not_travel_are_zero_and_local_rows_are_whole() -> None:
    how = settings(columns=5)
    for worker, (_, drawn) in enumerate(batches(how, masked=True)):
        columns = masks_of(split(GRAPH, OWNER, how)[worker]).columns(5)
        for sources, x, _, _ in drawn:
            here = OWNER[sources] == worker
            assert np.array_equal(x[here], GRAPH.features[sources[here]])
            assert np.array_equal(x[~here][:, columns], GRAPH.features[sources[~here]][:, columns])
            assert not np.delete(x[~here], columns, axis=1).any()


def test_every_byte_is_counted() -> None:
    """Requests and features of distinct remote rows: ``rows (4 k + 8)``; masks once; lengths and headers apart."""
    how = settings(columns=5, topology="replicated")
    for worker, (ledger, drawn) in enumerate(batches(how, masked=True)):
        rows = sum(int((OWNER[sources] != worker).sum()) for sources, *_ in drawn)
        assert (ledger.rows, ledger.requests, ledger.masks) == (rows, 8 * rows, 2 * 2)
        lengths = 2 * 2 * 2 * 8  # batches, swaps, peers
        asked = sum(len(set(OWNER[sources]) - {worker}) for sources, *_ in drawn)
        others = [all_of for w, (_, all_of) in enumerate(batches(how, masked=True)) if w != worker]
        answered = sum(worker in OWNER[sources] for all_of in others for sources, *_ in all_of)
        assert ledger.headers == lengths + DGS.size * (asked + answered + 2)
    assert sum(ledger.features for ledger, _ in batches(how, masked=True)) == 4 * 5 * sum(
        ledger.rows for ledger, _ in batches(how, masked=True)
    )


def test_positive_epsilon_gives_saving_back() -> None:
    """By the same masks: local ones first fetch least, a shift to remote ones fetches more."""
    rows = []
    for epsilon in (-1.0, -0.4, 0.0, 0.4, 1.0):
        drawn = batches(settings(epsilon=epsilon, columns=1.0, fanout=(5, 5)), masked=True, count=3)
        rows.append(sum(ledger.rows for ledger, _ in drawn))
    assert rows == sorted(rows)
    assert rows[0] < rows[2] < rows[4]


def test_node_masks_go_only_to_those_who_draw_by_them() -> None:
    how = settings(columns=5)
    shards = split(GRAPH, OWNER, how)
    for shard, (ledger, _) in zip(shards, batches(how, masked=True), strict=True):
        values = sum(len(places) for peer, places in enumerate(shard.known_to) if peer != shard.worker)
        assert ledger.masks == 2 * 2 + 4 * values
        for peer in {0, 1, 2} - {shard.worker}:
            masked = shard.halo[shard.known_to[peer]]
            assert np.array_equal(masked, shards[peer].drawn_for[shard.worker])


def test_a_pull_for_an_own_vertex_is_a_fault() -> None:
    def work(group):
        shard = split(GRAPH, OWNER, settings())[group.rank]
        return BatchSampler(shard, Messenger(group)).pull([shard.vertices[:1]] * 3, 1, 0, "features")

    with pytest.raises(OfframpError, match=r"vertex \d+ is its own, there is no pull for it"):
        run_group(3, work)


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_with_all_neighbours_gradients_are_those_of_the_whole_graph(model: str) -> None:
    """One batch of all training vertices, three workers, any model: to 1e-6 of one process."""
    how = settings(sampler="full", model=model, batch=10_000, fanout=(ALL, ALL))
    evaluate = ModelEvaluator(GRAPH, how)
    alone = make_model(how, model_widths(how, GRAPH.width, GRAPH.classes))
    scores = alone(evaluate.features, evaluate.view)
    train = torch.from_numpy(GRAPH.train)
    torch.nn.functional.cross_entropy(scores[train], torch.from_numpy(GRAPH.labels)[train]).backward()
    shards = split(GRAPH, OWNER, how)

    def work(group):
        from offramp.dgs.trainer import MiniBatchTrainer

        trainer = MiniBatchTrainer(shards[group.rank], group, None)
        shard = shards[group.rank]
        trainer.step(shard.train, shard.batch_sizes(0))
        return [p.grad.clone() for p in trainer.model.parameters()]

    for gradients in run_group(3, work):
        for parameter, gradient in zip(alone.parameters(), gradients, strict=True):
            assert torch.allclose(parameter.grad, gradient, atol=1e-6)


def test_isolated_vertices_and_workers_without_training_vertices() -> None:
    u, v = np.array([0, 1, 2]), np.array([1, 2, 3])
    masks = np.array([1, 1, 0, 0, 0, 0], bool), np.zeros(6, bool), np.array([0, 0, 1, 1, 1, 1], bool)
    graph = build_graph("small", 6, (u, v), features=np.eye(6), labels=np.array([0, 1, 0, 1, 0, 1]), split=masks)
    owner = np.array([0, 0, 1, 1, 1, 2], np.int32)
    for _, drawn in batches(settings(), graph=graph, owner=owner):
        for sources, x, _, _ in drawn:
            assert np.array_equal(x, graph.features[sources])


def test_fastgcn_is_the_squared_norm_of_columns() -> None:
    dense = np.zeros((150, 150))
    dense[np.repeat(np.arange(150), GRAPH.degrees), GRAPH.indices] = 1
    dense += np.eye(150)
    root = np.diag(dense.sum(1) ** -0.5)
    expected = ((root @ dense @ root) ** 2).sum(0)
    everyone = np.arange(150)
    norms = column_norms(LocalAdjacency(GRAPH.indptr, GRAPH.indices), everyone, everyone, GRAPH.degrees)
    assert norms == pytest.approx(expected)


def test_ladies_draws_one_layer_for_all_workers() -> None:
    """No more than the layer's size of new vertices in all, however many vertices want neighbours."""
    how = settings(sampler="ladies", columns=1.0, fanout=(1, 1))
    size = int(split(GRAPH, OWNER, how)[0].batch_sizes(0).sum())
    drawn = batches(how, count=1)
    seeds = {int(v) for shard in split(GRAPH, OWNER, how) for v in shard.train[0::3]}
    others = {int(v) for _, all_of in drawn for v in all_of[0][0]} - seeds
    assert 0 < len(others) <= 2 * size < 150 - len(seeds)


def test_draws_of_a_layer_are_in_proportion() -> None:
    norms = np.arange(8, dtype=float)
    counts = np.zeros(8)
    for stream in range(4000):
        counts[draw(norms, 1, stream * 7919)] += 1
    assert counts[0] == 0
    assert counts / 4000 == pytest.approx(norms / norms.sum(), abs=0.03)
    assert draw(norms, 100, 1).tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_halos_are_what_samplers_can_meet() -> None:
    how = settings(sampler="full", columns=1.0)
    for worker, (_, drawn) in enumerate(batches(how)):
        remote = halo(GRAPH, OWNER, worker, 2)
        for sources, *_ in drawn:
            assert np.isin(sources[OWNER[sources] != worker], remote).all()
