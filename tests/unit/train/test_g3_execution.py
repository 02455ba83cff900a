# SPDX-License-Identifier: Apache-2.0
"""G3's numeric goldens and invariants of execution (g3.md sections 6 and 12), through the real engine."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from offramp.codecs.plain import PlainCodec
from offramp.g3.arrivals import Arrivals
from offramp.g3.engine import HaloEngine
from offramp.g3.schedule import SCHEDULES
from offramp.graph.bins import memory_limit
from offramp.graph.data import build_graph
from offramp.graph.halo_plan import plan_halo_features
from offramp.models.base import Model
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp.workers.group import Group
from offramp.workers.reduction import LayerwiseSum

EDGES = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 6), (6, 7), (2, 6), (1, 7)])
OWNER = np.array([0, 0, 0, 1, 1, 1, 2, 2], np.int32)
FIRST = [3.5, 6, 6.5, 8.666667, 10, 11.333333, 12.666667, 12.5]
SECOND = [9.75, 13.5, 14.208333, 17.944444, 20, 21.777778, 22.777778, 21.833333]
GRADIENT = [2.958333, 4.5, 5.430556, 4.263889, 3.083333, 4.388889, 4.263889, 3.111111]


class Golden(Model):
    """``h' = h + mean of the neighbours``."""

    def __init__(self) -> None:
        super().__init__([1, 1], seed=0, dropout=0)

    def encode(self, features):
        return features

    def _message(self, number, h):
        return h

    def _kept(self, number, h):
        return h

    def combine(self, number, view, inputs):
        return inputs.own + (view.sum(inputs.message) - view.of_targets(inputs.message)) / view.neighbours


@pytest.mark.parametrize("schedule", ["sequential", "inter", "intra", "g3"])
@pytest.mark.parametrize("bins", [1, 2, 3])
def test_golden_a_values_and_gradients(in_group, schedule: str, bins: int) -> None:
    graph = build_graph("golden A", 8, (EDGES[:, 0], EDGES[:, 1]))
    how = SCHEDULES[schedule]
    plans = list(plan_halo_features(graph, OWNER, 3, bins=bins, boundary_first=how.boundary_first))

    def work(group):
        plan = plans[group.rank]
        inputs = torch.tensor(plan.ids + 1, dtype=torch.float64).unsqueeze(1).requires_grad_()
        mailbox = group.mailbox(10, None)
        engine = HaloEngine(Golden(), plan, inputs, how, mailbox, PlainCodec(torch.float64), torch.float64)
        scores = engine.forward()
        first, second = (leaf.detach().ravel().numpy() for leaf in engine._leaves[-2:])
        engine.backward(scores.sum(), lambda _: None)
        return plan.ids, inputs.grad.ravel().numpy(), first, second

    total = np.zeros(8)
    for worker, (ids, gradient, first, second) in enumerate(in_group(3, work)):
        own = ids[: (worker == OWNER).sum()]
        np.testing.assert_allclose(first, np.array(FIRST)[own], atol=1e-6)
        np.testing.assert_allclose(second, np.array(SECOND)[own], atol=1e-6)
        total[ids] += gradient  # input features are at every worker that needs them
    np.testing.assert_allclose(total, GRADIENT, atol=1e-6)


def test_golden_a_tables() -> None:
    """Section 5.1: symmetric, sorted, none to itself; eight rows in all."""
    graph = build_graph("golden A", 8, (EDGES[:, 0], EDGES[:, 1]))
    plans = list(plan_halo_features(graph, OWNER, 3))
    sends = {(p, m.peer): m.ids.tolist() for p, plan in enumerate(plans) for m in plan.sends}
    receives = {(m.peer, p): m.ids.tolist() for p, plan in enumerate(plans) for m in plan.receives}
    assert sends == receives == {(0, 1): [2], (0, 2): [1, 2], (1, 0): [3], (1, 2): [5], (2, 0): [6, 7], (2, 1): [6]}


SETTINGS = TrainSettings(
    "random", workers=3, propagator="p2p", partition="hash", hidden=6, dtype="float64", schedule="g3", layers=3
)


@pytest.mark.parametrize("schedule", ["sequential", "g3"])
def test_bins_within_the_memory_that_is_given(graph, schedule: str) -> None:
    """Section 6, step 2: inputs and outputs of a bin take half of it; a vertex beyond that is alone."""
    memory = 2 * 8 * (6 * 14 + 6 * 3)
    jobs = plan_run(graph, replace(SETTINGS, schedule=schedule, bin_memory=memory)).jobs([])
    limit = memory_limit(memory, 6, 6, 8)
    sizes = []
    for job in jobs:
        plan = job.rows
        seen = np.concatenate(plan.bins)
        assert np.array_equal(np.sort(seen), np.arange(len(plan.adjacency.indptr) - 1))
        for rows in plan.bins:
            loaded = len(np.unique(plan.adjacency[rows].indices))
            assert len(rows) == 1 or loaded * limit.row + len(rows) * limit.target <= limit.most
            sizes.append(len(rows))
        crossing = [bool((plan.adjacency[rows].indices >= len(seen)).any()) for rows in plan.bins]
        assert schedule == "sequential" or crossing == sorted(crossing, reverse=True)
    assert max(sizes) > 1


def test_a_bin_starts_when_its_rows_are_there_and_in_order(graph) -> None:
    """Eager: of those that are ready the first; otherwise none before all is there."""

    class Box:
        def __init__(self) -> None:
            self.here: set[int] = set()

        def take(self, label):
            return torch.empty(0) if label in self.here else None

        def wait(self, labels) -> None:
            self.here.add(max(labels))

    needs = [[0], [1], [], [0, 1]]
    order = {eager: list(Arrivals(Box(), [0, 1], lambda *_: None).bins(needs, eager=eager)) for eager in (True, False)}
    assert order == {True: [2, 1, 0, 3], False: [0, 1, 2, 3]}


def test_a_layer_is_summed_only_when_every_worker_has_its_gradients(in_group) -> None:
    """Section 5.4: the sum of a layer is complete at the slowest worker's pace, and layers keep their order."""
    late = threading.Event()

    def work(group):
        parameters = [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]
        sums = LayerwiseSum(group, overlapped=False)
        if group.rank == 2:
            late.wait(0.05)
        for number, parameter in enumerate(parameters):
            parameter.grad = torch.full((2,), float(10**number * (group.rank + 1)))
            sums.start([parameter])
            assert torch.equal(parameter.data, torch.zeros(2))
        sums.finish()
        return [parameter.grad.tolist() for parameter in parameters]

    assert in_group(3, work) == [[[6.0, 6.0], [60.0, 60.0]]] * 3


def test_layers_are_summed_last_first_and_weights_wait_for_all(in_group, graph, monkeypatch) -> None:
    """The same order on every worker; no weight changes before the last layer's gradients are there."""
    from offramp.train.propagators.channel import open_channel
    from offramp.train.trainer import Trainer

    orders: dict[int, list[list[tuple[int, ...]]]] = {}
    start = LayerwiseSum.start

    def recorded(self, parameters):
        orders.setdefault(self._group.rank, []).append([tuple(p.shape) for p in parameters])
        start(self, parameters)

    monkeypatch.setattr(LayerwiseSum, "start", recorded)
    jobs = plan_run(graph, replace(SETTINGS, model="gcn")).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel)
            before = [p.detach().clone() for p in trainer.model.parameters()]
            step = trainer._adam.step
            seen = []
            trainer._adam.step = lambda: (
                seen.append(all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))),
                step(),
            )
            trainer.epoch(1)
            return seen, [p.detach().numpy() for p in trainer.model.parameters()]

    outcomes = in_group(3, work)
    assert all(seen == [True] for seen, _ in outcomes)
    assert orders[0] == orders[1] == orders[2]
    for _, weights in outcomes[1:]:
        for mine, other in zip(outcomes[0][1], weights, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_alone_without_messages() -> None:
    """One process: no worker, no message, the golden values."""
    graph = build_graph("golden A", 8, (EDGES[:, 0], EDGES[:, 1]))
    (plan,) = plan_halo_features(graph, np.zeros(8, np.int32), 1, bins=3)
    inputs = torch.arange(1.0, 9, dtype=torch.float64).unsqueeze(1)
    mailbox = Group().mailbox(1, None)
    engine = HaloEngine(Golden(), plan, inputs, SCHEDULES["g3"], mailbox, PlainCodec(torch.float64), torch.float64)
    np.testing.assert_allclose(engine.forward().detach().ravel().numpy(), SECOND, atol=1e-6)
