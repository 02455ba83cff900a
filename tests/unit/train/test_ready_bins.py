# SPDX-License-Identifier: Apache-2.0
"""Training in bins of each layer's own limit: gradients of one process, the same bits whatever arrives when.

Blind to time, and to memory on a device.
"""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from offramp.codecs.plain import PlainCodec
from offramp.g3.engine import HaloEngine
from offramp.g3.schedule import SCHEDULES
from offramp.graph.bins import memory_limit
from offramp.graph.halo_plan import plan_halo_features
from offramp.graph.ready_packing import LayerLimits
from offramp.models.base import Model
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.group import Group
from offramp.workers.mailbox import NoMailbox
from offramp_base.errors import OfframpError

BASE = TrainSettings(
    "random",
    workers=3,
    propagator="p2p",
    partition="hash",
    hidden=6,
    layers=3,
    epochs=3,
    dtype="float64",
    schedule="g3",
    packing="ready",
    bins=4,
)


def run(in_group, graph, settings: TrainSettings, delay_s: float = 0):
    """Losses, and weights' gradients of all epochs."""
    jobs = plan_run(graph, settings).jobs([])
    late = random.Random(3)

    def work(group):
        if delay_s:
            group.transport = lambda deliver: threading.Timer(late.uniform(0, delay_s), deliver).start()
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel)
            losses, gradients = [], []
            for number in range(1, settings.epochs + 1):
                losses.append(trainer.epoch(number).loss)
                gradients += [p.grad.numpy().copy() for p in trainer.model.parameters()]
            return losses, gradients

    outcomes = in_group(settings.workers, work)
    assert all(losses == outcomes[0][0] for losses, _ in outcomes)
    return outcomes[0]


@pytest.mark.parametrize("model", ["gcn", "sage", "gat", "gcnii", "dagnn"])
@pytest.mark.parametrize("schedule", ["inter", "g3"])
def test_gradients_of_one_process(in_group, graph, model: str, schedule: str) -> None:
    settings = replace(BASE, model=model, schedule=schedule, dropout=0.3, bin_memory=900, bins=None)
    single = replace(settings, propagator="local", schedule="sequential", packing="alike", bin_memory=None)
    losses, gradients = run(in_group, graph, settings)
    trainer = Trainer(plan_run(graph, single).jobs([])[0], Group(), NoMailbox(1))
    for number in range(1, settings.epochs + 1):
        assert trainer.epoch(number).loss == pytest.approx(losses[number - 1], rel=1e-12)
        for parameter in trainer.model.parameters():
            np.testing.assert_allclose(gradients.pop(0), parameter.grad, rtol=1e-10, atol=1e-14)
    assert not gradients


@pytest.mark.parametrize("changes", [{}, {"priorities": "hermod"}, {"schedule": "intra"}])
def test_the_same_bits_whatever_arrives_when(in_group, graph, changes) -> None:
    settings = replace(BASE, **changes, epochs=2)
    (losses, gradients), (others, same) = (run(in_group, graph, settings, delay) for delay in (0, 0.01))
    assert losses == others
    assert all(np.array_equal(a, b) for a, b in zip(gradients, same, strict=True))


class Sums(Model):
    """``h' = h + sum of the neighbours``: integers stay integers, so that any order of bins has the same bits."""

    def __init__(self, layers: int) -> None:
        super().__init__([2] * layers, seed=0, dropout=0)

    def _message(self, number, h):
        return h

    def combine(self, number, view, inputs):
        return view.sum(inputs.message)


@pytest.mark.parametrize("seed", [1, 2])
def test_integers_have_the_same_bits_in_any_bins(in_group, make_graph, seed: int) -> None:
    graph = make_graph(n=40, edges=100, seed=seed)
    owner = np.random.default_rng(seed).integers(0, 3, 40).astype(np.int32)
    closed = np.eye(40)
    closed[np.repeat(np.arange(40), graph.degrees), graph.indices] = 1
    inputs = np.arange(80.0).reshape(40, 2) % 7
    limits = (LayerLimits.of_memory(memory, (2, 2, 2, 2), 8, eager=True) for memory in (64, 300, 1200, 1 << 20))
    for bins in (1, 5, *limits):
        plans = list(plan_halo_features(graph, owner, 3, bins=bins))

        def work(group, plans=plans):
            plan = plans[group.rank]
            features = torch.from_numpy(inputs[plan.ids]).requires_grad_()
            codec, kind = PlainCodec(torch.float64), torch.float64
            engine = HaloEngine(Sums(3), plan, features, SCHEDULES["g3"], group.mailbox(10, None), codec, kind)
            scores = engine.forward()
            engine.backward(scores.sum(), lambda _: None)
            return plan.ids, scores.detach().numpy(), features.grad.numpy()

        total = np.zeros((40, 2))
        for ids, scores, gradient in in_group(3, work):
            assert np.array_equal(scores, (closed @ closed @ closed @ inputs)[ids[: len(scores)]])
            total[ids] += gradient
        assert np.array_equal(total, closed @ closed @ closed @ np.ones((40, 2)))


def test_bins_of_each_layer_within_its_memory(graph) -> None:
    memory = 1500
    jobs = plan_run(graph, replace(BASE, bin_memory=memory, bins=None)).jobs([])
    widths = [6, 6, graph.classes, graph.classes]
    sizes = set()
    for job in jobs:
        own = job.rows.adjacency.shape[0]
        for number in (1, 2, 3):
            layer = job.rows.layer(number)
            limit = memory_limit(memory, *widths[number - 1 : number + 1], 8)
            assert np.array_equal(np.sort(np.concatenate(layer.bins)), np.arange(own))
            for rows in layer.bins:
                loaded = len(np.unique(job.rows.adjacency[rows].indices))
                assert len(rows) == 1 or loaded * limit.row + len(rows) * limit.target <= limit.most
            assert {m.layer for m in (*layer.sends, *layer.receives)} == {number}
        sizes.add(tuple(len(job.rows.layer(number).bins) for number in (1, 2, 3)))
    assert any(len(set(counts)) > 1 for counts in sizes)


def test_codes_by_degree_are_the_same_at_both_ends(in_group, graph) -> None:
    settings = replace(BASE, codec="sylvie", schedule="adaptive", dtype="float32", epochs=4)
    losses, _ = run(in_group, graph, settings)
    assert np.isfinite(losses).all()


def test_packing_is_of_bins() -> None:
    with pytest.raises(OfframpError, match="packing ready: goes with schedule other than plain"):
        replace(BASE, schedule="plain", bins=None, dtype="float32")
