# SPDX-License-Identifier: Apache-2.0
"""U1, U2 and U4: the pipeline is a single device on the graph without the edges between microbatches.

Blind to: time. Stages are threads here, so that a message is at its receiver at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from offramp.g3.block import BipartiteBlock
from offramp.graph.data import Graph
from offramp.models import MODELS
from offramp.models.neighbourhood import as_features
from offramp.unitg.gate import Gate
from offramp.unitg.job import plan
from offramp.unitg.microbatches import make_microbatches, owner
from offramp.unitg.pipeline import Stage
from offramp.unitg.schedule import PipelinePosition
from offramp.unitg.settings import UnitgSettings
from offramp_sim.switchgnn.thread_group import run_group


def without_cut(graph: Graph, settings: UnitgSettings) -> BipartiteBlock:
    """The whole graph as one block, without the edges between its microbatches."""
    pieces = plan(graph, settings).jobs[0].microbatches
    part = owner(graph, [piece.ids for piece in pieces])
    (whole,) = make_microbatches(graph, [np.arange(graph.vertices)])
    matrix = whole.adjacency.tocoo()
    kept = part[matrix.row] == part[matrix.col]
    matrix.data = matrix.data * kept
    closed = matrix.tocsr()
    closed.eliminate_zeros()
    degree = np.diff(closed.indptr) - 1
    return BipartiteBlock(closed, np.arange(graph.vertices), whole.ids, degree.astype(np.int64), torch.float64)


def single_device(graph: Graph, settings: UnitgSettings) -> tuple[list[float], list[torch.Tensor]]:
    model = settings.make_model(settings.widths(graph.width, graph.classes)).double()
    view = without_cut(graph, settings)
    adam = torch.optim.Adam(model.parameters(), lr=settings.lr)
    train, labels = torch.from_numpy(graph.train), torch.from_numpy(graph.labels)
    losses = []
    for step in range(1, settings.epochs + 1):
        model.dropout.step = step
        adam.zero_grad()
        scores = model(as_features(graph.features, torch.float64), view)
        loss = torch.nn.functional.cross_entropy(scores[train], labels[train])
        loss.backward()
        losses.append(loss.item())
        adam.step()
    return losses, [p.grad for p in model.parameters() if p.grad is not None]


def in_stages(graph: Graph, settings: UnitgSettings) -> tuple[list[float], list[torch.Tensor], list[Stage]]:
    jobs = plan(graph, settings).jobs

    def work(group: Any) -> tuple[Stage, list[float]]:
        stage = Stage(jobs[group.rank], group.mailbox(30, None), Gate())
        trained = int(graph.train.sum())
        return stage, [stage.iteration(step)[0] / trained for step in range(1, settings.epochs + 1)]

    results = run_group(settings.stages, work)
    stages = [stage for stage, _ in results]
    order = {id(p): i for stage in stages for i, p in enumerate(stage.part.model.parameters())}
    own = sorted((p for stage in stages for p in stage.part.parameters), key=lambda p: order[id(p)])
    return results[-1][1], [p.grad for p in own if p.grad is not None], stages


@pytest.mark.parametrize("model", [name for name in MODELS.names() if MODELS.get(name).pipelined])
@pytest.mark.parametrize(("stages", "microbatches"), [(2, 1), (2, 2), (3, 2)])
def test_equals_a_single_device(graph: Graph, base: UnitgSettings, model: str, stages: int, microbatches: int) -> None:
    """Losses of three epochs and the last gradients; five layers on two or three stages are uneven."""
    settings = replace(base, model=model, stages=stages, microbatches=microbatches, dropout=0.2, mode="alone")
    losses, gradients = single_device(graph, settings)
    staged, ours, _ = in_stages(graph, settings)
    np.testing.assert_allclose(staged, losses, rtol=1e-10)
    assert len(ours) == len(gradients)
    for mine, theirs in zip(ours, gradients, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-12)


def test_recomputed_activations_equal_a_single_device(graph: Graph, base: UnitgSettings) -> None:
    settings = replace(base, model="revgat", stages=2, microbatches=2, layers=4, dropout=0.2)
    losses, gradients = single_device(graph, settings)
    again, same, _ = in_stages(graph, replace(settings, activations="recomputed"))
    assert again == pytest.approx(losses, rel=1e-9)
    for a, b in zip(same, gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)


def test_order_and_activations(graph: Graph, base: UnitgSettings) -> None:
    settings = replace(base, stages=4, microbatches=3, mode="alone")
    _, _, stages = in_stages(graph, settings)
    for rank, stage in enumerate(stages):
        done = [[d.op for d in stage.spans if d.step == step] for step in range(1, settings.epochs + 1)]
        assert done == [PipelinePosition(rank, 4, 3).order()] * settings.epochs
        assert stage.live == 3


def test_a_stage_keeps_its_own_weights_only(graph: Graph, base: UnitgSettings) -> None:
    settings = replace(base, stages=3, mode="alone", epochs=1)
    _, _, stages = in_stages(graph, settings)
    whole = settings.make_model(settings.widths(graph.width, graph.classes))
    held = [sum(p.numel() for p in stage.part.model.parameters()) for stage in stages]
    assert sum(held) == sum(p.numel() for p in whole.parameters())
    assert max(held) < 0.6 * sum(held)


def test_one_stage(train: Any) -> None:
    outcome = train(stages=1)
    assert len(outcome.epochs) == 3
    assert outcome.ranks[0].progress.fault is None
    assert outcome.ranks[0].progress.steps > 0


def test_a_microbatch_without_training_vertices(graph: Graph, base: UnitgSettings) -> None:
    settings = replace(base, microbatches=2, mode="alone")
    second = plan(graph, settings).jobs[0].microbatches[1].ids
    few = replace_train(graph, second)
    losses, gradients = single_device(few, settings)
    mine, ours, _ = in_stages(few, settings)
    assert np.isfinite(mine).all()
    np.testing.assert_allclose(mine, losses, rtol=1e-10)
    assert all(torch.isfinite(g).all() for g in ours)
    assert len(ours) == len(gradients)


def replace_train(graph: Graph, without: np.ndarray) -> Graph:
    train = graph.train.copy()
    train[without] = False
    return Graph(
        graph.name,
        graph.indptr,
        graph.indices,
        graph.features,
        graph.labels,
        graph.classes,
        train,
        graph.val,
        graph.test,
    )


def test_bytes_between_stages(train: Any, graph: Graph) -> None:
    """N hidden values each way and iteration (section 3.3), and the evaluation at the end."""
    outcome = train(mode="alone", epochs=3, model="revgcn")
    of_pass = graph.vertices * 8 * 8
    assert outcome.ranks[0].traffic.payload_up == 4 * of_pass
    assert outcome.ranks[1].traffic.payload_up == 3 * of_pass
