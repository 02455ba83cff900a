# SPDX-License-Identifier: Apache-2.0
"""Explanation graph and masks: goldens of the specification, section 5, and invariants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dgs_runs import auc, hubs, planted, settings, train
from offramp.dgs.evaluator import ModelEvaluator
from offramp.dgs.explainer import PUBLIC, Coefficients, Terms, entropy, initial, optimise, terms
from offramp.dgs.explanation import ExplanationGraph
from offramp.dgs.interpret import Interpreter
from offramp.dgs.masks import Masks
from offramp.dgs.shard import Shard, split
from offramp.dgs.signals import SIGNALS, with_signal
from offramp.graph.data import Graph
from offramp.models import make_model, model_widths
from offramp.models.base import Model
from offramp.models.gat import Gat
from offramp.models.gcn import Gcn
from offramp.models.sage import Sage
from offramp_base.errors import OfframpError
from offramp_sim.reproduce.dgs.runs import stand_in

X = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, -2.0]])
TARGET = torch.tensor([[0.8, 0.2]])
GOLDEN = {
    "zeros": (
        [0.0, 0.0, 0.0],
        [0.0, 0.0],
        [0.513262, 0.0075, 0.693147, 0.5, 0.069315],
        1.783224,
        [-0.004495, -0.010240, 0.001250],
        [0.090529, 0.125000],
    ),
    "others": (
        [1.0, 0.0, -1.0],
        [2.0, -2.0],
        [0.519196, 0.0075, 0.619184, 0.5, 0.036533],
        1.682414,
        [-0.056521, 0.021679, 0.066520],
        [0.057734, 0.062996],
    ),
}


def golden_model(dtype: torch.dtype = torch.float32) -> Model:
    """One layer of GraphSAGE: identity for the vertex itself, a fixed matrix for its neighbours."""
    model = Sage([2, 2], seed=0)
    with torch.no_grad():
        model.own[0].copy_(torch.eye(2))
        model.neighbour[0].copy_(torch.tensor([[1.0, -1.0], [0.5, 0.5]]))
    return model.eval().requires_grad_(requires_grad=False).to(dtype)


def loss(nodes: torch.Tensor, columns: torch.Tensor) -> Terms:
    dtype = nodes.dtype
    graph = ExplanationGraph(np.array([7, 9]), dtype=dtype)
    return terms(golden_model(dtype), graph, X.to(dtype), TARGET.to(dtype), nodes, columns, PUBLIC)


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_losses_and_gradients(case: str) -> None:
    nodes_at, columns_at, parts, total, by_nodes, by_columns = GOLDEN[case]
    nodes, columns = (torch.tensor(at, requires_grad=True) for at in (nodes_at, columns_at))
    losses = loss(nodes, columns)
    values = [losses.prediction, losses.size, losses.entropy, losses.feature_size, losses.feature_entropy]
    assert [float(value.detach()) for value in values] == pytest.approx(parts, abs=1e-5)
    assert float(losses.total.detach()) == pytest.approx(total, abs=1e-5)
    gradients = torch.autograd.grad(losses.total, [nodes, columns])
    assert gradients[0].tolist() == pytest.approx(by_nodes, abs=1e-5)
    assert gradients[1].tolist() == pytest.approx(by_columns, abs=1e-5)


def test_gradients_are_finite_differences() -> None:
    rng = torch.Generator().manual_seed(0)
    nodes = torch.randn(3, generator=rng, dtype=torch.float64, requires_grad=True)
    columns = torch.randn(2, generator=rng, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: loss(a, b).total, (nodes, columns))


@pytest.mark.parametrize("at", [17.0, 40.0, -105.0])
def test_masks_that_are_certain_stay_numbers(at: float) -> None:
    """The sigmoid is exactly 1 or 0 there in float32; masks that go on from explanation to explanation get that far."""
    start = torch.full((3,), at), torch.full((2,), at)
    masks = optimise(golden_model(), ExplanationGraph(np.array([7, 9])), X, TARGET, start, steps=3, threshold=0)
    assert torch.isfinite(torch.cat([*start, masks.nodes, masks.features])).all()
    assert np.isfinite(masks.loss)


def test_entropy_is_that_of_the_coin() -> None:
    x = torch.linspace(-8, 8, 33, dtype=torch.float64)
    p = torch.sigmoid(x)
    assert torch.allclose(entropy(x), -torch.xlogy(p, p) - torch.xlogy(1 - p, 1 - p))


@pytest.mark.parametrize("kind", [Sage, Gcn, Gat])
def test_a_neighbour_that_is_masked_is_gone(kind: type[Model]) -> None:
    """Without any message a pooled vertex has the scores that its features alone give, whatever the others are."""
    model = kind([4, 6, 3], seed=1).eval()
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(6, 4, generator=rng)
    graph = ExplanationGraph(np.arange(5))
    graph.mask = torch.tensor([1.0, 1, 0, 1, 1, 1])
    before = model(x, graph)[0]
    x[2] = 0  # GAT's softmax sees scores of the masked one, its value is gone: only sums are compared
    if kind is not Gat:
        assert torch.allclose(model(x, graph)[0], before)
    graph.mask = torch.tensor([1.0, 0, 0, 0, 0, 0])
    assert torch.isfinite(model(x, graph)).all()


def test_the_graph_has_an_edge_a_remote_and_a_self_loop() -> None:
    graph = ExplanationGraph(np.array([3, 5, 8, 9]))
    assert (len(graph), graph.edges) == (5, 5)
    y = torch.arange(5.0).unsqueeze(1)
    assert graph.sum(y).ravel().tolist() == [2.0, 2, 4, 6, 8]  # the mean of all five; others hear themselves alone


def test_initial_masks_have_gnn_explainers_spread() -> None:
    nodes, columns = initial(4000, 3000, torch.Generator().manual_seed(0))
    assert len(nodes) == 4001
    assert float(nodes.std()) == pytest.approx((2 / 4001) ** 0.5, rel=0.05)
    assert float(columns.std()) == pytest.approx(0.1, rel=0.05)


def trained(graph, kind: str = "sage") -> Model:
    """On the whole graph."""
    how = settings(model=kind)
    evaluate = ModelEvaluator(graph, how)
    model = make_model(how, model_widths(how, graph.width, graph.classes))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    train, labels = torch.from_numpy(graph.train), torch.from_numpy(graph.labels)
    for _ in range(80):
        adam.zero_grad()
        scores = model(evaluate.features, evaluate.view)
        torch.nn.functional.cross_entropy(scores[train], labels[train]).backward()
        adam.step()
    return model


def shards(graph, **changes) -> list[Shard]:
    how = settings(workers=4, **changes)
    return split(graph, (np.arange(graph.vertices) % 4).astype(np.int32), how)


def test_explaining_changes_no_weight_and_pools_to_probabilities() -> None:
    graph = planted(n=200)[0]
    model = trained(graph)
    before = torch.nn.utils.parameters_to_vector(model.parameters()).clone()
    shard = shards(graph, explain_scope="pooled")[0]
    interpreter = Interpreter(shard, model)
    masks = interpreter.explain(np.arange(len(shard.halo)), graph.features[shard.halo], 1)
    assert torch.equal(torch.nn.utils.parameters_to_vector(model.parameters()), before)
    for mask in (masks.nodes, masks.features):
        assert ((mask > 0) & (mask < 1)).all()
    predictions = interpreter.predictions(shard.halo, graph.features[shard.halo])
    assert predictions.shape == (len(shard.vertices), graph.classes)
    assert predictions.sum(1) == pytest.approx(1, abs=1e-5)
    assert not np.isin(shard.halo, shard.vertices).any()
    assert len(np.unique(shard.halo)) == len(shard.halo)


def test_row_zero_is_the_mean_of_local_rows() -> None:
    """The interpreter's pooled row, seen through a model that hands its input through."""
    graph = planted(n=200)[0]
    shard = shards(graph, explain_scope="pooled")[1]
    interpreter = Interpreter(shard, trained(graph))
    weights = interpreter._groups(np.ones((len(shard.vertices), 3), np.float32))
    assert (weights @ shard.features)[0] == pytest.approx(graph.features[shard.vertices].mean(0), abs=1e-5)


@pytest.mark.parametrize("scope", ["pooled", "classes"])
@pytest.mark.parametrize("kind", ["sage", "gcn", "gat"])
def test_every_model_is_explained(kind: str, scope: str) -> None:
    graph = planted(n=150, columns=16)[0]
    shard = shards(graph, model=kind, explain_scope=scope)[0]
    interpreter = Interpreter(
        shard, make_model(shard.settings, model_widths(shard.settings, graph.width, graph.classes))
    )
    masks = interpreter.explain(np.arange(3), graph.features[shard.halo[:3]], 1)
    assert masks.nodes[3:] == pytest.approx(masks.nodes[:3].mean())  # the others get the mean
    assert interpreter.explanation is not None
    assert 1 <= interpreter.explanation.steps <= 50


def test_nothing_remote_is_all_ones() -> None:
    graph = planted(n=60)[0]
    shard = split(graph, np.zeros(60, np.int32), settings(workers=1))[0]
    masks = Interpreter(shard, trained(graph)).explain(np.empty(0, np.int64), np.empty((0, graph.width), np.float32), 1)
    assert len(masks.nodes) == 0
    assert (masks.features == 1).all()


def test_no_local_vertex_is_an_error() -> None:
    graph = planted(n=60)[0]
    shard = split(graph, np.zeros(60, np.int32), settings(workers=2))[1]
    with pytest.raises(OfframpError, match=r"^worker 1: explanation: there are no local vertices$"):
        Interpreter(shard, trained(graph))


def test_a_target_that_is_met_ends_the_explanation_once_the_loss_rests() -> None:
    graph = ExplanationGraph(np.array([7, 9]))
    start = torch.zeros(3), torch.zeros(2)
    assert optimise(golden_model(), graph, X, TARGET, start, steps=40, threshold=0).steps == 40
    start = torch.zeros(3), torch.zeros(2)
    assert optimise(golden_model(), graph, X, TARGET, start, steps=2000, threshold=10).steps < 2000


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_masks_find_planted_vertices_and_columns(seed: int) -> None:
    """Hubs that carry the classes' features among vertices of noise: AUC of both masks at least 0.8."""
    graph, informative, hub = hubs(seed)
    model = trained(graph)
    scores = []
    for shard in shards(graph)[:2]:
        masks = Interpreter(shard, model).explain(np.arange(len(shard.halo)), graph.features[shard.halo], 1)
        scores.append((auc(informative, masks.features), auc(hub[shard.halo], masks.nodes)))
    assert min(map(min, scores)) >= 0.8, scores


def test_columns_are_the_greatest_and_of_equal_ones_the_lower() -> None:
    masks = Masks(1, np.ones(0, np.float32), np.array([0.2, 0.9, 0.5, 0.9, 0.5], np.float32))
    assert masks.columns(3).tolist() == [1, 2, 3]
    assert masks.columns(1).tolist() == [1]


@pytest.mark.parametrize(("features", "count"), [(602, 512), (100, 85), (200, 170), (128, 109)])
def test_rates_of_the_thesis(features: int, count: int) -> None:
    assert settings(columns=0.85).chosen_columns(features) == count


def test_a_tiny_rate_is_one_column() -> None:
    assert settings(columns=0.001).chosen_columns(30) == 1


def test_masks_of_another_length_are_refused() -> None:
    masks = Masks(1, np.ones(3, np.float32), np.ones(5, np.float32))
    with pytest.raises(OfframpError, match=r"^node mask: expected 4 values, got 3$"):
        masks.check(4, 5)
    with pytest.raises(OfframpError, match=r"^feature mask: expected 6 values, got 5$"):
        masks.check(3, 6)
    with pytest.raises(ValueError, match="read-only"):
        masks.nodes[0] = 0


def test_a_model_whose_weights_are_no_numbers_has_no_masks() -> None:
    """Said in a line: masks that nobody checks would make the traffic that of random sampling."""
    graph = planted(n=60)[0]
    shard = shards(graph)[0]
    model = make_model(shard.settings, model_widths(shard.settings, graph.width, graph.classes))
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    with pytest.raises(OfframpError, match=r"^node mask: expected values from 0 to 1$"):
        Interpreter(shard, model).explain(np.arange(2), graph.features[shard.halo[:2]], 1)


@pytest.mark.parametrize("signal", SIGNALS)
def test_signals_keep_the_mean_and_their_own_order(signal: str) -> None:
    shard = shards(planted(n=200)[0], signal=signal)[0]
    rng = np.random.default_rng(0)
    before = Masks(3, rng.random(len(shard.halo), np.float32) ** 4, rng.random(shard.width, np.float32))
    after = with_signal(before, shard)
    after.check(len(shard.halo), shard.width)
    assert after.nodes.mean() == pytest.approx(before.nodes.mean(), rel=0.02)
    edges = np.bincount(shard.rows.indices, minlength=len(shard.owner))[shard.halo]
    match signal:
        case "explained":
            assert after is before
        case "shuffled":
            assert sorted(after.nodes) == sorted(before.nodes)
            assert (after.nodes != before.nodes).any()
        case "constant":
            assert len(np.unique(after.nodes)) == len(np.unique(after.features)) == 1
        case "degree":
            assert after.nodes[edges.argmax()] == after.nodes.max()


@pytest.mark.slow
@pytest.mark.parametrize("graph", [planted(n=150, columns=16)[0], hubs(n=200)[0], stand_in("Amazon", 0.3, 0)])
def test_masks_are_numbers_after_200_epochs(graph: Graph) -> None:
    """And traffic stays well below random sampling's, though they are certain long before."""
    how = settings(workers=2, epochs=200, period=6, batch=64, partition="random", columns=1.0)
    result = train(graph, how)
    random = train(graph, replace(how, sampler="random", epochs=1)).epochs[-1].reported.ledger.total
    assert all(np.isfinite(masks.nodes).all() and np.isfinite(masks.features).all() for masks in result.masks)
    assert max(epoch.reported.ledger.total for epoch in result.epochs[20:]) < 0.7 * random


def test_stopping_by_the_loss_itself() -> None:
    """Algorithm 1 says loss <= 0.01: with regularisers it never is, and all steps run."""
    graph = ExplanationGraph(np.array([7, 9]))

    def steps(threshold: float, coefficients: Coefficients = PUBLIC) -> int:
        start = torch.zeros(3), torch.zeros(2)
        how = {"steps": 30, "threshold": threshold, "coefficients": coefficients, "by_loss": True}
        return optimise(golden_model(), graph, X, TARGET, start, **how).steps

    assert steps(0.01) == 30
    assert steps(10.0) == 1
