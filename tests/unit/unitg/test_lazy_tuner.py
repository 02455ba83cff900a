# SPDX-License-Identifier: Apache-2.0
"""U8: groups by centrality, exits, their losses and gradients."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.data import Graph
from offramp.unitg.job import plan
from offramp.unitg.language_model import exit_depths, seeded
from offramp.unitg.lazy_tuner import Batches, centrality_groups, mean_depth, random_groups, value_groups
from offramp.unitg.settings import UnitgSettings


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=0, max_size=60))
def test_groups(degrees: list[int]) -> None:
    array = np.array(degrees, np.int64)
    groups = centrality_groups(array)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(degrees)))
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    for low, high in itertools.pairwise(groups):  # exits never fall with centrality
        if len(low) and len(high):
            assert array[low].max() <= array[high].min()
    for group in groups:  # ties in the order of their ids
        for degree in set(array[group].tolist()):
            own = group[array[group] == degree]
            assert (np.diff(own) > 0).all()


def test_equal_degrees_and_isolated_vertices() -> None:
    assert [g.tolist() for g in centrality_groups(np.full(8, 3))] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert centrality_groups(np.array([5, 0, 5, 5]))[0].tolist() == [1]


@pytest.mark.parametrize(
    ("layers", "depths"), [(12, [3, 6, 9, 12]), (4, [1, 2, 3, 4]), (2, [1, 1, 2, 2]), (1, [1] * 4)]
)
def test_depths(layers: int, depths: list[int]) -> None:
    assert exit_depths(layers) == depths


def test_mean_depth_of_equal_groups() -> None:
    assert mean_depth(centrality_groups(np.arange(400)), exit_depths(12)) == pytest.approx(0.625 * 12)
    assert [len(g) for g in random_groups(10)] == [len(g) for g in centrality_groups(np.arange(10))]


def test_layers_behind_an_exit_do_not_run_and_get_no_gradient() -> None:
    tokens = torch.tensor([[1, 3, 4, 5, 0]] * 2)
    for number, depth in enumerate(exit_depths(4)):
        model = seeded(0, 10, 5, 8, 4, 2, 6, 3)
        embedding, scores = model(tokens, number)
        assert (embedding.shape, scores.shape) == ((2, 6), (2, 3))
        scores.sum().backward()
        ran = [all(p.grad is not None for p in layer.parameters()) for layer in model.attention]
        assert ran == [i < depth for i in range(4)]
        assert [layer.linear.weight.grad is not None for layer in model.exits] == [i == number for i in range(4)]


def test_the_loss_is_the_mean_of_the_exits_losses(graph: Graph, base: UnitgSettings) -> None:
    """Equation 5.1, with the same weight for each exit however many texts it has."""
    from offramp.unitg.finetune import FineTuner, Texts
    from offramp.unitg.gate import Gate
    from offramp.workers.mailbox import NoMailbox

    corpus = plan(graph, replace(base, stages=1)).jobs[0].corpus
    assert corpus is not None
    texts = Texts(torch.from_numpy(corpus.tokens).long(), torch.from_numpy(corpus.labels))
    model = corpus.model(base, graph.width, graph.classes)
    twin = corpus.model(base, graph.width, graph.classes)
    tuner = FineTuner(model, texts, corpus.batches, NoMailbox(1), Gate(is_open=True), lr=1e-9)
    tuner.run(1)
    losses = []
    for exit_ in corpus.batches.exits():
        rows = torch.from_numpy(corpus.batches.learn(0, exit_, 0))
        assert graph.train[rows].all()
        losses.append(torch.nn.functional.cross_entropy(twin(texts.tokens[rows], exit_)[1], texts.labels[rows]))
    torch.stack(losses).mean().backward()
    assert tuner.progress.losses[0] == pytest.approx(torch.stack(losses).mean().item())
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        if theirs.grad is None:
            assert mine.grad is None
        else:
            assert mine.grad is not None
            torch.testing.assert_close(mine.grad, theirs.grad)


def test_batches_cover_every_vertex_and_differ_between_ranks() -> None:
    groups = centrality_groups(np.arange(50))
    train = np.zeros(50, bool)
    train[[0, 1, 30, 49]] = True
    batches = Batches(groups, train, size=4, ranks=2, seed=3)
    seen = [
        batches.encode(step, exit_, rank).tolist()
        for step in range(batches.steps_of_epoch())
        for exit_ in range(4)
        for rank in range(2)
    ]
    assert {v for row in seen for v in row} == set(range(50))
    assert batches.exits() == [0, 2, 3]
    for exit_ in batches.exits():
        learned = [batches.learn(step, exit_, rank) for step in range(3) for rank in range(2)]
        assert len({len(rows) for rows in learned}) == 1
        assert all(train[rows].all() for rows in learned)
    assert not len(batches.learn(0, 1, 0))


def test_exits_by_value_are_equal_bins_of_the_degrees() -> None:
    """A power law: most vertices leave at the first exit, so that a text passes little more than a quarter."""
    degrees = np.minimum(np.random.default_rng(0).zipf(2.2, 5000), 5000)
    groups = value_groups(degrees)
    assert np.sort(np.concatenate(groups)).tolist() == list(range(5000))
    width = (degrees.max() - degrees.min()) / 4
    for number, group in enumerate(groups):
        low = degrees.min() + number * width
        assert ((degrees[group] >= low) & ((degrees[group] < low + width) | (number == 3))).all()
    assert mean_depth(groups, exit_depths(12)) / 12 < 0.26  # 3.8 to 4 times fewer layers
    assert mean_depth(centrality_groups(degrees), exit_depths(12)) / 12 == 0.625


def test_exits_by_value_of_equal_degrees_or_none() -> None:
    assert [len(group) for group in value_groups(np.full(7, 3))] == [7, 0, 0, 0]
    assert [len(group) for group in value_groups(np.zeros(0, np.int64))] == [0, 0, 0, 0]
    assert [group.tolist() for group in value_groups(np.array([0, 1, 2, 3]))] == [[0], [1], [2], [3]]


def test_proportional_batches_have_as_many_texts_and_encode_everyone() -> None:
    groups = value_groups(np.minimum(np.random.default_rng(1).zipf(2.2, 500), 500))
    batches = Batches(groups, np.ones(500, bool), 16, 2, 0, proportional=True)
    sizes = [batches.size_of(each) for each in range(4)]
    assert 64 <= sum(sizes) <= 67
    encoded = [
        batches.encode(step, each, rank)
        for step in range(batches.steps_of_epoch())
        for each in range(4)
        for rank in range(2)
    ]
    assert np.unique(np.concatenate(encoded)).tolist() == list(range(500))
