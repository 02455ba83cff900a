# SPDX-License-Identifier: Apache-2.0
"""A whole run: partition, shares, workers with the processes beside them, accuracies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from offramp.dgs.interpret import Interpreter
from offramp.dgs.mask_file import load_masks
from offramp.dgs.masks import Masks
from offramp.dgs.results import DgsEpoch, DgsResult, Progress
from offramp.dgs.shard import Shard, split
from offramp.dgs.sidecar import Explanations, Handle, Inline, Sidecar, SidecarProcess
from offramp.dgs.trainer import MiniBatchTrainer
from offramp.g3.block import Block
from offramp.graph.partition import partition
from offramp.models import Model, make_model, model_widths
from offramp.models.neighbourhood import as_features
from offramp.workers.group import GlooGroup, Group
from offramp.workers.processes import run_workers
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.dgs.settings import DgsSettings
    from offramp.graph.data import Graph

OnEpoch = Callable[[DgsEpoch], None]
Job = tuple[Shard, Handle | None]
Outcome = tuple[float, list[Masks | None]]
RunJobs = Callable[[list[Shard], Callable[[Progress], None]], Outcome | None]


class ModelEvaluator:
    """Accuracies of a model by all neighbours and all features, where the whole graph is.

    Attributes:
        model: whose weights are set for each judgement.
        features, view: of the whole graph.
    """

    def __init__(self, graph: Graph, settings: DgsSettings) -> None:
        n, everyone = graph.vertices, np.arange(graph.vertices)
        edges = sp.csr_matrix((np.ones(len(graph.indices), np.float32), graph.indices, graph.indptr), shape=(n, n))
        closed = sp.csr_matrix(edges + sp.eye(n, dtype=np.float32, format="csr"))
        closed.sort_indices()
        self._graph = graph
        self.view = Block(closed, everyone, everyone, graph.degrees, torch.float32)
        self.features = as_features(graph.features)
        self.model: Model = make_model(settings, widths(graph, settings)).eval()

    def __call__(self, progress: Progress) -> DgsEpoch:
        """Of the weights at the end of an epoch."""
        graph = self._graph
        nn.utils.vector_to_parameters(torch.from_numpy(progress.weights), self.model.parameters())
        with torch.no_grad():
            right = (self.model(self.features, self.view).argmax(1).numpy() == graph.labels).astype(float)
        parts = [float(right[mask].mean()) if mask.any() else 0.0 for mask in (graph.train, graph.val, graph.test)]
        return DgsEpoch(progress, *parts)


def widths(graph: Graph, settings: DgsSettings) -> list[int]:
    """Input features, hidden widths, classes."""
    return model_widths(settings, graph.width, graph.classes)


def train_dgs(
    graph: Graph, settings: DgsSettings, *, on_epoch: OnEpoch = lambda _: None, run_jobs: RunJobs | None = None
) -> DgsResult | None:
    """Train on ``graph``, in one process for each worker on this machine, or in those that torchrun started.

    Args:
        graph: what ``settings.graph`` names.
        settings: of the run.
        on_epoch: called after each epoch, in the process that returns the result.
        run_jobs: where workers run, if not in processes.

    Returns:
        The result; None in the processes of torchrun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the graph, or a worker died.
    """
    if run_jobs is None and "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        if int(os.environ["WORLD_SIZE"]) != settings.workers:
            raise SettingsError(
                "workers", f"torchrun started WORLD_SIZE={os.environ['WORLD_SIZE']} processes", settings.workers
            )
        group = GlooGroup()
        try:
            if group.rank:
                _joined(group, None, lambda _: None)
                return None
            return _train(graph, settings, on_epoch, lambda shards, report: _joined(group, shards, report))
        finally:
            group.close()
    return _train(graph, settings, on_epoch, run_jobs or _in_processes)


def prepare(graph: Graph, settings: DgsSettings) -> list[Shard]:
    """The partition, and what each worker gets.

    Raises:
        OfframpError: settings that do not fit the graph.
    """
    settings.chosen_columns(graph.width)
    if not graph.train.any():
        raise OfframpError(f"{graph.name}: expected at least one training vertex")
    owner = partition(graph, settings.workers, settings.partition, settings.seed)
    masks = load_masks(settings.masks, settings.workers) if settings.masks is not None else None
    return split(graph, owner, settings, masks)


def _train(graph: Graph, settings: DgsSettings, on_epoch: OnEpoch, run_jobs: RunJobs) -> DgsResult:
    shards = prepare(graph, settings)
    evaluate, epochs = ModelEvaluator(graph, settings), []

    def report(progress: Progress) -> None:
        epochs.append(evaluate(progress))
        on_epoch(epochs[-1])

    outcome = run_jobs(shards, report)
    assert outcome is not None, "rank 0 returns what all did"
    facts = {
        "graph_name": graph.name,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "features": graph.width,
        "classes": graph.classes,
        "chosen_columns": settings.chosen_columns(graph.width),
        "remote_vertices": [len(shard.halo) for shard in shards],
        "full_fetch_bytes": 4 * graph.width * sum(len(shard.halo) for shard in shards),
    }
    return DgsResult(settings.as_dict() | facts, epochs, *outcome)


def train_rank(group: Group, job: Job, report: Callable[[Any], None]) -> Outcome | None:
    """One worker's whole run; rank 0 reports every epoch and returns everyone's masks."""
    shard, handle = job
    trainer = MiniBatchTrainer(shard, group, _explanations(shard, handle))
    start = time.perf_counter()
    trainer.run(report if group.rank == 0 else lambda _: None)
    seconds = time.perf_counter() - start
    masks = group.gather(trainer.masks, Masks | None)
    return None if masks is None else (seconds, masks)


def _explanations(shard: Shard, handle: Handle | None) -> Explanations | None:
    settings = shard.settings
    if not settings.explains or not len(shard.halo):
        return None
    model = make_model(settings, model_widths(settings, shard.width, shard.classes))
    parameters = _count(model.parameters())
    if handle is not None:
        return Sidecar(shard, handle, parameters)
    return Inline(shard, Interpreter(shard, model), parameters)


def _count(parameters: Any) -> int:
    return sum(each.numel() for each in parameters)


def _open_sidecar(shard: Shard, stack: ExitStack) -> Handle | None:
    """The process beside a worker, where there is to be one."""
    settings = shard.settings
    if settings.explain != "beside" or not settings.explains or not len(shard.halo):
        return None
    model = make_model(settings, model_widths(settings, shard.width, shard.classes))
    process = SidecarProcess(shard, _count(model.parameters()))
    stack.callback(process.close)
    return process.handle


def _in_processes(shards: list[Shard], report: Callable[[Progress], None]) -> Outcome | None:
    with ExitStack() as stack:
        jobs: Sequence[Job] = [(shard, _open_sidecar(shard, stack)) for shard in shards]
        if len(jobs) == 1:
            return train_rank(Group(), jobs[0], report)
        outcome: Outcome = run_workers(train_rank, jobs, report)
        return outcome


def _joined(group: Group, shards: list[Shard] | None, report: Callable[[Progress], None]) -> Outcome | None:
    """In a process of torchrun."""
    shard: Shard = group.scatter(shards, Shard)
    with ExitStack() as stack:
        return train_rank(group, (shard, _open_sidecar(shard, stack)), report)
