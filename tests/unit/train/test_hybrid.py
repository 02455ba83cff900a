# SPDX-License-Identifier: Apache-2.0
"""NeutronStar's hybrid: the plain run's losses and gradients, whatever is fetched or recomputed; choices by cost.

Blind to time: costs are those that the settings say.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from offramp.graph.data import build_graph
from offramp.graph.hybrid_plan import DENSE_COST, choose_recomputed, fetch_cost, plan_hybrid
from offramp.models import MODELS, make_model
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.propagators.local import LocalPropagator
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.group import Group
from offramp.workers.mailbox import NoMailbox
from offramp_base.errors import OfframpError

BASE = TrainSettings(
    "random", workers=3, propagator="p2p", partition="hash", hidden=6, layers=3, epochs=3, dtype="float64",
    schedule="hybrid",
)  # fmt: skip
_ALL = 1e12
"""A price of fetching at which all is recomputed."""


def run(in_group, graph, settings: TrainSettings):
    """Losses, weights' gradients and bytes of all workers; what was planned."""
    planned = plan_run(graph, settings)
    jobs = planned.jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel)
            losses, gradients = [], []
            for number in range(1, settings.epochs + 1):
                losses.append(trainer.epoch(number).loss)
                gradients += [p.grad.numpy().copy() for p in trainer.model.parameters()]
            return losses, gradients, channel.traffic.payload_up

    outcomes = in_group(settings.workers, work)
    assert all(losses == outcomes[0][0] for losses, _, _ in outcomes)
    return outcomes[0][0], outcomes[0][1], sum(sent for _, _, sent in outcomes), planned.hybrid


def alone(graph, settings: TrainSettings) -> Trainer:
    single = replace(settings, propagator="local", fetch_cost=None, schedule="sequential")
    if MODELS.get(settings.model).by_sums:
        job = plan_run(graph, replace(single, schedule="plain")).jobs([])[0]
        return Trainer(job, Group(), LocalPropagator())
    return Trainer(plan_run(graph, single).jobs([])[0], Group(), NoMailbox(1))


def assert_as_alone(graph, settings: TrainSettings, losses, gradients) -> None:
    trainer, gradients = alone(graph, settings), list(gradients)
    for loss in losses:
        assert trainer.epoch(trainer.done + 1).loss == pytest.approx(loss, rel=1e-12)
        trainer.done += 1
        for parameter in trainer.model.parameters():
            np.testing.assert_allclose(gradients.pop(0), parameter.grad, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("model", MODELS.names())
def test_losses_and_gradients_of_the_plain_run(in_group, graph, model: str) -> None:
    settings = replace(BASE, model=model, dropout=0.3, fetch_cost=9.0, heads=2 if model == "gat" else 1)
    losses, gradients, _, plans = run(in_group, graph, settings)
    assert_as_alone(graph, settings, losses, gradients)
    recomputed, fetched = (sum(getattr(plan, name) for plan in plans) for name in ("recomputed", "fetched"))
    assert fetched + recomputed > 0


@pytest.mark.parametrize("cost", [0.0, 4.0, 12.0, 40.0, _ALL])
def test_any_share_that_is_recomputed_has_the_same_losses(in_group, graph, cost: float) -> None:
    """Bytes by the closed form: each fetched row once there and its gradient once back; none at any price above all."""
    settings = replace(BASE, fetch_cost=cost)
    losses, gradients, sent, plans = run(in_group, graph, settings)
    assert_as_alone(graph, settings, losses, gradients)
    widths = make_model(settings, plan_run(graph, settings).jobs([])[0].widths).messages
    rows = [sum(len(p.layers[n].ids) - p.layers[n].computed for p in plans) for n in range(3)]
    assert sent == settings.epochs * 2 * 8 * sum(r * w for r, w in zip(rows, widths, strict=True))
    assert rows[0] == 0
    if cost == 0:
        assert sum(plan.recomputed for plan in plans) == 0
        assert rows[1:] == [plan_run(graph, settings).boundary.R] * 2
    if cost == _ALL:
        assert rows == [0, 0, 0]
        assert sent == 0


def test_dearer_fetches_recompute_more(graph) -> None:
    owner = plan_run(graph, BASE).boundary.owner
    counts = []
    for cost in (0, 2, 8, 20, 60, 1e9):
        plans = plan_hybrid(graph, owner, 3, (6, 6, 4, 3), cost)
        counts.append(sum(plan.recomputed for plan in plans))
        for plan in plans:
            for before, layer in zip([None, *plan.layers], plan.layers, strict=False):
                assert np.array_equal(layer.ids[: plan.own], plan.ids[: plan.own])
                assert layer.adjacency.shape == (layer.adjacency.shape[0], len(layer.ids))
                if before is not None:  # what a layer computes is what the next may take
                    assert layer.computed == before.adjacency.shape[0]
    assert counts == sorted(counts)
    assert len(set(counts)) > 3


def test_costs_of_a_path_by_hand() -> None:
    """0-1-2-3, halves: h^1 of 2 costs its closed neighbourhood (3 rows) and a product; h^1 of 1 the same."""
    graph = build_graph("path", 4, (np.array([0, 1, 2]), np.array([1, 2, 3])))
    owner = np.array([0, 0, 1, 1], np.int32)
    price = 3 * 5 + DENSE_COST * 5 * 4
    exact = 3 * price / (2 * 4)  # three computations against two transfers of four values
    for cost, recomputes in ((exact * 0.999, False), (exact * 1.001, True)):
        there = choose_recomputed(graph, owner, 0, (5, 4, 3), cost)
        assert there[1].tolist() == [False, False, recomputes, False]
        assert there[0].tolist() == [False, False, True, recomputes]  # with 2, features of 3 as well


def test_what_one_vertex_brought_costs_the_next_nothing() -> None:
    """A star around 5: each leaf of worker 0 needs it, and it is counted once."""
    graph = build_graph("star", 6, (np.array([5, 5, 5, 4]), np.array([0, 1, 2, 5])))
    owner = np.array([0, 0, 0, 0, 1, 1], np.int32)
    (first, second) = plan_hybrid(graph, owner, 2, (2, 2, 2), 1e9)
    assert first.received.tolist() == [5, 4]
    assert first.recomputed == 1  # h^1 of 5; features of 4
    assert second.fetched == first.fetched == 0


def test_a_slow_link_makes_fetching_dear() -> None:
    assert fetch_cost(None, 4) == 8
    assert fetch_cost(1e9, 4) == 64
    assert fetch_cost(1e8, 8) == 10 * fetch_cost(1e9, 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codec": "q4", "dtype": "float32"}, "codec q4: goes with schedule other than hybrid"),
        ({"packing": "ready"}, "packing ready: goes with schedule other than hybrid"),
        ({"schedule": "g3", "fetch_cost": 2.0}, "fetch_cost 2: goes with schedule hybrid only"),
        ({"schedule": "plain", "fetch_cost": 2.0}, "fetch_cost 2: goes with schedule other than plain"),
    ],
)
def test_what_does_not_go_with_it(changes, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        replace(BASE, **changes)
    assert str(caught.value) == message


@pytest.mark.parametrize("changes", [{}, {"fetch_cost": _ALL}, {"schedule": "g3", "packing": "ready", "bins": 3}])
def test_sparse_features(in_group, graph, changes) -> None:
    sparse = replace(graph, features=sp.csr_matrix(graph.features))
    settings = replace(BASE, model="gcnii", **changes)
    losses, gradients, _, _ = run(in_group, sparse, settings)
    assert_as_alone(graph, replace(settings, packing="alike", bins=None), losses, gradients)
