# SPDX-License-Identifier: Apache-2.0
"""Models that train in turn: TAPE's order in several rounds, and GLEM's pseudo-labels.

Blind to accuracy on real texts. Losses and pseudo-labels were compared with GLEM's own code by reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from offramp.graph.data import Graph
from offramp.unitg.finetune import FineTuner
from offramp.unitg.job import plan
from offramp.unitg.pipeline import Stage
from offramp.unitg.rank import Rank
from offramp.unitg.run import UnitgEpochs
from offramp.unitg.settings import UnitgSettings
from offramp.workers.group import Group
from offramp_base.errors import OfframpError


@pytest.mark.parametrize("mode", ["sequential", "glem"])
def test_rounds_go_on_where_the_last_one_ended(base: UnitgSettings, train: Any, mode: str) -> None:
    outcome = train(mode=mode, rounds=3)
    assert [epoch.epoch for epoch in outcome.epochs] == list(range(1, 3 * base.epochs + 1))
    steps = {rank.progress.steps for rank in outcome.ranks}
    assert steps == {3 * train(mode=mode).ranks[0].progress.steps}
    assert all(rank.progress.fault is None for rank in outcome.ranks)
    assert train(mode=mode, rounds=3).epochs[-1].loss == outcome.epochs[-1].loss


def test_one_round_of_texts_first_has_no_pseudo_labels_to_teach(base: UnitgSettings, train: Any) -> None:
    """Without weight GLEM's first M-step is the graph neural network on the final embeddings."""
    plain = [epoch.loss for epoch in train(mode="glem", gnn_pseudo=0.0).epochs]
    taught = [epoch.loss for epoch in train(mode="glem", gnn_pseudo=0.9).epochs]
    assert plain[0] == taught[0]  # the same embeddings; the losses that are shown are those of training labels
    assert plain[1:] != taught[1:]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("stages", [1, 2])
def test_pseudo_labels_of_each_model_teach_the_other(
    monkeypatch: pytest.MonkeyPatch, train: Any, graph: Graph, stages: int, dropout: float
) -> None:
    """M-step: the language model's probabilities; E-step: the network's, on all ranks."""
    to_network: list[tuple[torch.Tensor, float]] = []
    to_text: list[tuple[torch.Tensor, float]] = []
    of_text: list[torch.Tensor] = []
    of_network: list[torch.Tensor] = []
    stage_learns, tuner_learns = Stage.learn_from, FineTuner.learn_from
    expect, maximise = UnitgEpochs.expect, UnitgEpochs.maximise

    def stage_learn(self: Stage, pseudo: torch.Tensor, weight: float) -> None:
        to_network.append((pseudo.clone(), weight))
        stage_learns(self, pseudo, weight)

    def tuner_learn(self: FineTuner, pseudo: torch.Tensor, weight: float) -> None:
        to_text.append((pseudo.clone(), weight))
        tuner_learns(self, pseudo, weight)

    def maximised(self: UnitgEpochs) -> None:
        assert self._rank.tuner is not None
        if self._job.place.last:
            of_text.append(self._rank.tuner.scores(graph.classes).softmax(1))
        maximise(self)

    def expected(self: UnitgEpochs) -> None:
        expect(self)
        if self._job.place.last:
            assert self._rank.stage.scores is not None
            of_network.append(self._rank.stage.scores.double().softmax(1))

    monkeypatch.setattr(Stage, "learn_from", stage_learn)
    monkeypatch.setattr(FineTuner, "learn_from", tuner_learn)
    monkeypatch.setattr(UnitgEpochs, "expect", expected)
    monkeypatch.setattr(UnitgEpochs, "maximise", maximised)
    train(mode="glem", rounds=2, stages=stages, dropout=dropout, lm_pseudo=0.7, gnn_pseudo=0.2)
    assert [weight for _, weight in to_network] == [0.2, 0.2]
    assert all(torch.equal(pseudo, own) for (pseudo, _), own in zip(to_network, of_text, strict=True))
    assert len(to_text) == stages
    for pseudo, weight in to_text:
        assert weight == 0.7
        torch.testing.assert_close(pseudo, of_network[0].float())
        torch.testing.assert_close(pseudo.sum(1), torch.ones(graph.vertices))


@pytest.fixture
def rank(base: UnitgSettings, graph: Graph) -> Iterator[Rank]:
    """Both models of a run on one rank."""
    with Rank(Group(), plan(graph, replace(base, stages=1, mode="glem")).jobs[0]) as one:
        one.finish_lm()
        yield one


def test_the_networks_loss_is_the_papers(rank: Rank, graph: Graph) -> None:
    """``(1 - beta)`` of the mean over training vertices, ``beta`` of that over pseudo-labels of all others."""
    stage = rank.stage
    stage.evaluate(1)
    assert stage.scores is not None
    scores = stage.scores
    pseudo = torch.from_numpy(np.random.default_rng(1).dirichlet(np.ones(graph.classes), graph.vertices))
    stage.learn_from(pseudo, 0.3)
    train, labels = torch.from_numpy(graph.train), torch.from_numpy(graph.labels)
    expected = 0.7 * functional.cross_entropy(scores[train], labels[train])
    expected += 0.3 * functional.cross_entropy(scores[~train], pseudo[~train])
    ids = torch.arange(graph.vertices)
    torch.testing.assert_close(stage._loss(scores, ids, torch.zeros(4, dtype=torch.float64)), expected)


def test_the_language_models_loss_is_the_papers(rank: Rank, graph: Graph) -> None:
    """``(1 - alpha)`` of labelled texts, ``alpha`` of the cross entropy with the network's probabilities on others."""
    tuner = rank.tuner
    assert tuner is not None
    pseudo = torch.rand(graph.vertices, graph.classes).softmax(1)
    tuner.learn_from(pseudo, 0.4)
    batches = tuner._batches
    for number in range(len(batches.groups)):
        gold = torch.from_numpy(batches.learn(0, number, 0))
        rest = torch.from_numpy(batches.unlabelled(0, number, 0))
        assert graph.train[gold].all()
        assert not graph.train[rest].any()
        expected = 0.6 * functional.cross_entropy(tuner._read(gold, number)[1], torch.from_numpy(graph.labels)[gold])
        log = tuner._read(rest, number)[1].log_softmax(1)
        expected -= 0.4 * (pseudo[rest] * log).sum(1).mean()
        loss, read = tuner._loss(0, number, 0)
        torch.testing.assert_close(loss, expected)
        assert [len(rows) for rows, _ in read] == [len(gold), len(rest)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 2}, "rounds 2: goes with mode sequential or glem only"),
        ({"mode": "sequential", "lm_pseudo": 0.2}, "lm_pseudo 0.2: goes with mode glem only"),
        ({"gnn_pseudo": 1.5}, "gnn_pseudo 1.5: expected 0 to 1"),
    ],
)
def test_what_goes_with_turns_only(base: UnitgSettings, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        replace(base, **changes)
    assert str(caught.value) == message
