# SPDX-License-Identifier: Apache-2.0
"""Exchanges between workers that are threads, against one dense product."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from offramp.graph.boundary import Boundary
from offramp.graph.halo_plan import plan_halo_features
from offramp.graph.partition import partition
from offramp.switchgnn.sum_codec import FixedPointCodec
from offramp.switchgnn.volume import host_volume
from offramp.train.halo import Halo
from offramp.train.propagators.local import LocalPropagator
from offramp.train.propagators.p2p import P2pPropagator, SequentialPropagator
from offramp_base.errors import OfframpError

WORKERS = 3
WIDTH = 5


@pytest.fixture
def cut(graph):
    return Boundary(graph, partition(graph, WORKERS, "hash", 1), WORKERS)


def remote_adjacency(graph, boundary) -> np.ndarray:
    dense = np.zeros((graph.vertices, graph.vertices))
    u, v = boundary.cut_edges.T
    dense[u, v] = dense[v, u] = 1
    return dense


def run(in_group, boundary, work):
    """``work(propagator, vertices)`` on every worker; ``vertices`` are its boundary vertices."""
    halos = [Halo.of(plan, WORKERS) for plan in plan_halo_features(boundary._graph, boundary.owner, WORKERS)]

    def on_rank(group, codec=None):
        mine = boundary.vertices[boundary.owner[boundary.vertices] == group.rank]
        return work(group, halos[group.rank], mine)

    return in_group(WORKERS, on_rank)


def test_float_sums_and_their_gradient(in_group, graph, cut) -> None:
    rng = np.random.default_rng(3)
    x, g = rng.normal(size=(2, graph.vertices, WIDTH)).astype(np.float32)

    def work(group, halo, mine):
        propagator = P2pPropagator(group, halo)
        y = torch.from_numpy(x[mine]).requires_grad_()
        sums = propagator.remote_sum(y)
        sums.backward(torch.from_numpy(g[mine]))
        return mine, sums.detach().numpy(), y.grad.numpy(), propagator

    adjacency = remote_adjacency(graph, cut)
    for mine, sums, gradient, propagator in run(in_group, cut, work):
        np.testing.assert_allclose(sums, (adjacency @ x)[mine], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(gradient, (adjacency.T @ g)[mine], rtol=1e-5, atol=1e-5)
        assert propagator.timers.seconds["communication"] > 0


def test_fixed_point_sums_are_the_integer_sums(in_group, graph, cut) -> None:
    x = np.random.default_rng(4).normal(size=(graph.vertices, WIDTH)).astype(np.float32)
    fan_in = int(cut.need.max())

    def work(group, halo, mine):
        return mine, P2pPropagator(group, halo, FixedPointCodec(group, fan_in)).remote_sum(torch.from_numpy(x[mine]))

    largest = np.abs(x[cut.vertices]).max().astype(np.float64)
    exponent = int(np.floor(np.log2((2**31 - 1) / (fan_in * largest))))
    integers = np.rint(x.astype(np.float64) * 2.0**exponent).astype(np.int64)
    expected = remote_adjacency(graph, cut).astype(np.int64) @ integers
    for mine, sums in run(in_group, cut, work):
        np.testing.assert_array_equal(sums.numpy(), (expected[mine] / 2.0**exponent).astype(np.float32))


def test_rows_of_one_worker_at_a_time(in_group, graph, cut) -> None:
    """SAR's closed form: not all remote rows are held, but those of the worker that sends the most; equal integers."""
    rng = np.random.default_rng(5)
    x, g = rng.normal(size=(2, graph.vertices, WIDTH)).astype(np.float32)
    fan_in = int(cut.need.max())

    def work(group, halo, mine):
        y = torch.from_numpy(x[mine]).requires_grad_()
        sequential = SequentialPropagator(group, halo)
        sums = sequential.remote_sum(y)
        sums.backward(torch.from_numpy(g[mine]))
        together = P2pPropagator(group, halo)
        expected = together.remote_sum(torch.from_numpy(x[mine]).requires_grad_())
        expected.backward(torch.from_numpy(g[mine]))
        integers = [kind(group, halo, FixedPointCodec(group, fan_in)) for kind in (SequentialPropagator, P2pPropagator)]
        exact = [each.remote_sum(torch.from_numpy(x[mine])) for each in integers]
        return mine, halo, sequential, together, sums.detach(), expected.detach(), y.grad, exact

    adjacency = remote_adjacency(graph, cut)
    for mine, halo, sequential, together, sums, expected, gradient, exact in run(in_group, cut, work):
        torch.testing.assert_close(sums, expected)
        np.testing.assert_allclose(gradient, (adjacency.T @ g)[mine], rtol=1e-5, atol=1e-5)
        assert torch.equal(*exact)
        assert sequential.held == halo.receive_counts.max() * 4 * WIDTH < halo.receive_counts.sum() * 4 * WIDTH
        assert sequential.traffic.payload_up == together.traffic.payload_up
        assert sequential.traffic.packets_up == together.traffic.packets_up


def test_bytes_are_those_of_the_formula(in_group, graph, cut) -> None:
    def work(group, halo, mine):
        propagator = P2pPropagator(group, halo)
        for width in (WIDTH, 300):
            propagator.remote_sum(torch.zeros(len(mine), width))
        return propagator.traffic

    traffic = run(in_group, cut, work)
    volumes = [host_volume(cut, width) for width in (WIDTH, 300)]
    for direction in ("up", "down"):
        assert sum(getattr(t, f"payload_{direction}") for t in traffic) == sum(v.payload_bytes for v in volumes)
        assert sum(getattr(t, f"wire_{direction}") for t in traffic) == sum(v.wire_bytes for v in volumes)
        assert sum(getattr(t, f"packets_{direction}") for t in traffic) == sum(v.packets for v in volumes)
    assert sum(t.payload_up for t in traffic) == cut.R * 4 * (WIDTH + 300)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_refused(in_group, cut, bad: float) -> None:
    def work(group, halo, mine):
        y = torch.zeros(len(mine), WIDTH)
        y[0, 0] = bad
        P2pPropagator(group, halo, FixedPointCodec(group, 4)).remote_sum(y)

    with pytest.raises(OfframpError, match="expected a finite number"):
        run(in_group, cut, work)


def test_local_has_nothing_to_carry() -> None:
    propagator = LocalPropagator()
    assert propagator.remote_sum(torch.zeros(0, 4)).shape == (0, 4)
    assert not any(propagator.traffic.as_dict().values())
