# SPDX-License-Identifier: Apache-2.0
"""The model against a dense float64 implementation of its own: NumPy only, no autograd."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import logsumexp

from offramp.graph.data import build_graph
from offramp.graph.local_graph import split_graph
from offramp.models.aggregation import AGGREGATORS
from offramp.models.gcn import Gcn
from offramp.models.neighbourhood import Neighbourhood, as_features

# switchgnn.md section 14.6
G6_EDGES = np.array([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 4), (3, 5)])
G6_X = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [-1, 0.5], [0.25, -2]], np.float32)
G6_Z = np.array(
    [
        [0.589014706, 0.329099445],
        [0.519382379, -0.103743471],
        [0.589014706, 0.329099445],
        [1.019382379, -0.603743471],
        [0.183064446, 0.424865556],
        [0.660683603, -0.666666667],
    ]
)


def whole(graph):
    (local,) = split_graph(graph, np.zeros(graph.vertices, np.int32), 1)
    return local


def no_remote(y: torch.Tensor) -> torch.Tensor:
    return y


def test_golden_aggregation() -> None:
    graph = build_graph(
        "g6", 6, (G6_EDGES[:, 0], G6_EDGES[:, 1]), features=G6_X, labels=np.arange(6) % 2, split="1/0/0", seed=0
    )
    z = Neighbourhood(whole(graph), no_remote).aggregate(torch.from_numpy(G6_X), "gcn")
    np.testing.assert_allclose(z.numpy(), G6_Z, atol=1e-7)


def dense_loss(graph, aggregator, weights, biases) -> float:
    """Mean cross-entropy over training vertices, every product dense and in float64."""
    n = graph.vertices
    closed = np.eye(n)
    closed[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = 1
    degree = closed.sum(1)
    matrix = {
        "gcn": closed / np.sqrt(np.outer(degree, degree)),
        "mean": closed / degree[:, None],
        "sum": closed,
    }[aggregator]
    x = graph.features.astype(np.float64)
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if layer:
            x = np.maximum(x, 0)
        x = matrix @ x @ weight + bias
    scores = x[graph.train]
    return float(np.mean(logsumexp(scores, axis=1) - scores[np.arange(len(scores)), graph.labels[graph.train]]))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("widths", [[6, 4, 3], [6, 9, 3], [6, 5, 8, 4, 3]])
def test_loss_and_gradients_match_finite_differences(make_graph, aggregator: str, widths: list[int]) -> None:
    graph = make_graph(n=24, edges=50, seed=len(widths))
    model = Gcn(widths, seed=5, aggregator=aggregator)
    with torch.no_grad():
        for bias in model.biases:
            bias.copy_(torch.linspace(-0.3, 0.4, len(bias)))
    train = torch.from_numpy(graph.train)
    scores = model(as_features(graph.features), Neighbourhood(whole(graph), no_remote))
    loss = torch.nn.functional.cross_entropy(scores[train], torch.from_numpy(graph.labels)[train])
    loss.backward()
    weights = [w.detach().numpy().astype(np.float64) for w in model.weights]
    biases = [b.detach().numpy().astype(np.float64) for b in model.biases]
    assert loss.item() == pytest.approx(dense_loss(graph, aggregator, weights, biases), rel=1e-5)
    step = 1e-6
    rng = np.random.default_rng(0)
    for arrays, parameters in ((weights, model.weights), (biases, model.biases)):
        for array, parameter in zip(arrays, parameters, strict=True):
            for flat in rng.choice(array.size, min(6, array.size), replace=False):
                at = np.unravel_index(flat, array.shape)
                before = array[at]
                array[at] = before + step
                above = dense_loss(graph, aggregator, weights, biases)
                array[at] = before - step
                below = dense_loss(graph, aggregator, weights, biases)
                array[at] = before
                assert float(parameter.grad[at]) == pytest.approx((above - below) / (2 * step), rel=2e-3, abs=2e-5)


@pytest.mark.parametrize("widths", [[6, 4, 3], [6, 9, 3]])
def test_sparse_features_give_what_dense_ones_give(graph, widths: list[int]) -> None:
    sparse = graph.features * (graph.features > 0)
    outcomes = []
    for features in (as_features(sparse), as_features(sp.csr_array(sparse))):
        model = Gcn(widths, seed=2)
        scores = model(features, Neighbourhood(whole(graph), no_remote))
        scores.square().sum().backward()
        outcomes.append((scores.detach(), model.weights[0].grad))
    for dense, compressed in zip(*outcomes, strict=True):
        torch.testing.assert_close(dense, compressed, rtol=1e-5, atol=1e-6)


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(99)
    first = Gcn([6, 8, 3], seed=1)
    torch.manual_seed(7)
    second, other = Gcn([6, 8, 3], seed=1), Gcn([6, 8, 3], seed=2)
    for a, b, c in zip(first.weights, second.weights, other.weights, strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
        limit = (6 / sum(a.shape)) ** 0.5  # Xavier's uniform bound
        assert a.abs().max() <= limit


def with_gradients(model: Gcn, out: torch.Tensor) -> set[str]:
    """Names of the parameters that a tensor depends on."""
    model.zero_grad()
    if out.requires_grad:
        out.sum().backward()
    return {name for name, own in model.named_parameters() if own.grad is not None}


@pytest.mark.parametrize("widths", [(2, 5, 3, 3, 2), (7, 4), (3, 3), (1, 2, 1)])
def test_parameters_of_a_stage_are_those_that_its_sums_use(widths: tuple[int, ...]) -> None:
    """A layer's weight is used before the sum where it narrows, else after it; autograd says where."""
    graph = build_graph(
        "g6", 6, (G6_EDGES[:, 0], G6_EDGES[:, 1]), features=G6_X, labels=np.arange(6) % 2, split="1/0/0", seed=0
    )
    model = Gcn(widths, seed=1)
    view = Neighbourhood(whole(graph), no_remote)
    names = {id(own): name for name, own in model.named_parameters()}
    used: list[set[str]] = [set() for _ in range(len(widths) + 1)]
    for number in range(1, len(widths)):
        h = torch.ones(6, widths[number - 1])
        used[number - 1] |= with_gradients(model, model.prepare(number, h).message)
        with torch.no_grad():
            inputs = model.prepare(number, h)
        used[number] |= with_gradients(model, model.combine(number, view, inputs))
    stages = [[names[id(own)] for own in model.of_stage(number)] for number in range(len(widths) + 1)]
    assert [set(stage) for stage in stages] == used
    assert sorted(name for stage in stages for name in stage) == sorted(names.values())
