# SPDX-License-Identifier: Apache-2.0
"""Exchanges under a scale of the epoch before; the switch is a loop that adds nothing."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch

from offramp.graph.boundary import Boundary
from offramp.graph.data import build_graph
from offramp.switchgnn.exchange import Exchange
from offramp.switchgnn.exchange_plan import plan_exchange
from offramp.switchgnn.scheme import Scheme
from offramp.switchgnn.scheme_plan import plan_scheme
from offramp.switchgnn.sum_codec import CarriedCodec, ExchangeId
from offramp.train.propagators.switch import SwitchPropagator
from offramp.workers.group import Group
from offramp_base.errors import OfframpError
from offramp_base.transport import LinkStats

FAN_IN = 7


class Loopback:
    """A worker whose exchange gives back what it is given, and notes it."""

    def __init__(self) -> None:
        from offramp.switchgnn.stats import LinkCounts, WorkerStats

        self.stats = WorkerStats(LinkCounts(), LinkCounts())
        self.link = LinkStats()
        self.sent: list[np.ndarray] = []

    def boundary(self, plan: int) -> np.ndarray:
        return np.array([11, 17, 23])

    def exchange(self, plan: int, values: np.ndarray) -> np.ndarray:
        self.sent.append(values)
        return values.astype(np.int64)


def epoch(propagator: SwitchPropagator, *layers: torch.Tensor) -> list[np.ndarray]:
    propagator.begin_epoch()
    return [propagator.remote_sum(y).numpy() for y in layers]


@pytest.fixture
def worker() -> Loopback:
    return Loopback()


@pytest.fixture
def propagator(worker: Loopback) -> SwitchPropagator:
    boundary = Boundary(build_graph("edge", 6, ([0, 1, 2], [3, 4, 5])), [0, 0, 0, 1, 1, 1])
    scheme_plan = plan_scheme(boundary, Scheme(), 2, 10_000)
    exchange = Exchange(plan_exchange(scheme_plan, 0), worker, Group())
    return SwitchPropagator(CarriedCodec(Group(), FAN_IN), {2: exchange}, worker.boundary(0))


def test_growth_within_the_headroom_needs_no_repetition(propagator, worker) -> None:
    y = torch.tensor([[1.0, -0.5], [0.25, 0.0], [0.1, 1e-6]])
    for factor in (1.0, 1.9, 3.7, 0.01):
        (got,) = epoch(propagator, y * factor)
        np.testing.assert_allclose(got, y.numpy() * factor, atol=2e-8)
    assert len(worker.sent) == 4
    assert propagator.repeated == 0


def test_saturation_is_reported_with_vertex_and_layer_and_the_layer_repeated(propagator, worker, caplog) -> None:
    y = torch.tensor([[1.0, -0.5], [0.25, 0.0], [0.1, 1e-6]])
    epoch(propagator, y, y)
    grown = y.clone()
    grown[1, 0] = -5.0
    with caplog.at_level(logging.WARNING):
        first, second = epoch(propagator, y, grown)
    assert caplog.messages == ["layer 2: vertex 17 saturates at magnitude 2; repeated with a wider scale"]
    np.testing.assert_allclose(first, y.numpy(), atol=1e-7)
    np.testing.assert_allclose(second, grown.numpy(), atol=1e-7)
    assert [len(worker.sent), propagator.repeated] == [5, 1]
    assert all(np.abs(values.astype(np.int64)).max() * FAN_IN <= 2**31 - 1 for values in worker.sent)


def test_directions_have_scales_of_their_own(propagator, worker) -> None:
    for gradient in (1e-3, 1.5e-3):
        propagator.begin_epoch()
        y = torch.ones((3, 2), requires_grad=True)
        propagator.remote_sum(y).backward(torch.full((3, 2), gradient))
        np.testing.assert_allclose(y.grad.numpy(), gradient, rtol=1e-6)
    assert propagator.repeated == 0
    assert propagator.exchange_id == ExchangeId(1, backward=True)
    assert str(propagator.exchange_id) == "layer 1, backward"


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused(propagator, wrong: float) -> None:
    y = torch.ones((3, 2))
    epoch(propagator, y)
    y[0, 0] = wrong
    with pytest.raises(OfframpError, match="expected a finite number"):
        epoch(propagator, y)


def test_a_value_at_the_bound_is_carried_and_only_what_is_beyond_it_is_named(propagator, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        propagator._saturated(torch.tensor([[2.0, -2.0], [2.5, 0.0], [0.0, float("nan")]]), 2.0)
    vertices = [int(message.split("vertex ")[1].split()[0]) for message in caplog.messages]
    assert vertices == propagator._boundary[1:3].tolist()
