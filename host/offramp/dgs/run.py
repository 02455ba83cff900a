# SPDX-License-Identifier: Apache-2.0
"""A whole run: partition, shards, workers with their sidecars, accuracies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from offramp.dgs.evaluator import ModelEvaluator
from offramp.dgs.mask_file import load_masks
from offramp.dgs.masks import Masks
from offramp.dgs.results import DgsEpoch, DgsProgress, DgsResult
from offramp.dgs.shard import Shard, split
from offramp.dgs.sidecar import Explanations, Inline, Sidecar, SidecarHandle, open_sidecar
from offramp.dgs.trainer import MiniBatchTrainer
from offramp.dgs.worker_state import WorkerState
from offramp.graph.partition import partition
from offramp.train.checkpoint import resumed
from offramp.workers.epochs import RankResult, run_epochs
from offramp.workers.launch import OpenLauncher, open_launcher
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.dgs.settings import DgsSettings
    from offramp.graph.data import Graph
    from offramp.workers.group import Group

Job = tuple[Shard, SidecarHandle | None]
"""A worker's part of the graph, and its end of its sidecar."""


def train_dgs(
    graph: Graph,
    settings: DgsSettings,
    *,
    on_epoch: Callable[[DgsEpoch], None] = lambda _: None,
    launch: OpenLauncher = open_launcher,
) -> DgsResult | None:
    """Train on ``graph``, in one process for each worker on this machine, or in those that torchrun or srun started.

    Args:
        graph: the graph that ``settings.graph`` names.
        settings: settings of the run.
        on_epoch: called after each epoch, in the process that returns the result.
        launch: opens the launcher of the workers; by default as described above.

    Returns:
        The result; None in processes of torchrun or srun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the graph, or a worker died.
    """
    with launch(settings.workers) as launcher, ExitStack() as stack:
        if not launcher.leads:
            launcher.run(train_shard, None, Shard, on_epoch)
            return None
        shards = prepare(graph, settings)
        evaluate, epochs = ModelEvaluator(graph, settings), []

        def report(progress: DgsProgress) -> None:
            epochs.append(evaluate(progress))
            on_epoch(epochs[-1])

        done: RankResult[DgsProgress, Masks | None]
        if launcher.starts:  # its processes may not start any themselves
            jobs = [(shard, stack.enter_context(open_sidecar(shard))) for shard in shards]
            done = launcher.run(train_rank, jobs, Job, report)
        else:
            done = launcher.run(train_shard, shards, Shard, report)
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
    return DgsResult(settings.as_dict() | facts, epochs, done.seconds, done.ranks)


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
    facts = settings.facts | {"vertices": graph.vertices, "edges": graph.edges, "features": graph.width}
    shards = [replace(shard, facts=facts) for shard in split(graph, owner, settings, masks)]
    return shards if settings.resume is None else _resumed(shards, settings.resume)


def _resumed(shards: list[Shard], where: str) -> list[Shard]:
    """The shards with their parts of a checkpoint.

    Raises:
        OfframpError: it is none, or one of another run, or has as many epochs as this one.
    """
    first = shards[0]
    own = [WorkerState.blank(shard).arrays(shard) for shard in shards]
    snapshot = resumed(where, first.facts, first.model(), own)
    if snapshot.epoch >= first.settings.epochs:
        raise SettingsError("resume", f"has {snapshot.epoch} epochs, expected {{epochs}} above that", where)
    return [replace(shard, snapshot=replace(snapshot, own=[snapshot.own[shard.worker]])) for shard in shards]


def train_shard(
    group: Group, shard: Shard, report: Callable[[Any], None]
) -> RankResult[DgsProgress, Masks | None] | None:
    """Open the sidecar of a rank that has a process of its own, and train as :func:`train_rank`."""
    with open_sidecar(shard) as handle:
        return train_rank(group, (shard, handle), report)


def train_rank(group: Group, job: Job, report: Callable[[Any], None]) -> RankResult[DgsProgress, Masks | None] | None:
    """One worker's whole run; rank 0 reports every epoch and returns everyone's masks."""
    shard, handle = job
    trainer = MiniBatchTrainer(shard, group, _explanations(shard, handle))
    return run_epochs(trainer, group, report, lambda: trainer.masks, Masks | None)


def _explanations(shard: Shard, handle: SidecarHandle | None) -> Explanations | None:
    if not shard.explains:
        return None
    return Inline(shard) if handle is None else Sidecar(shard, handle)
