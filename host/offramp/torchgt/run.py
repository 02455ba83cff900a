# SPDX-License-Identifier: Apache-2.0
"""A complete TorchGT run: prepare sequences, start the ranks, gather their results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp.torchgt.cache import tuned
from offramp.torchgt.memory_check import check_full, resolved
from offramp.torchgt.model import GraphTransformer
from offramp.torchgt.parallel import RankAllToAll
from offramp.torchgt.results import TorchGtEpoch, TorchGtResult
from offramp.torchgt.sequence import sequences
from offramp.torchgt.task import GraphTask, load_task
from offramp.torchgt.trainer import RankJob, TransformerTrainer
from offramp.train.checkpoint import TrainingSnapshot, resumed
from offramp.workers.epochs import RankResult, run_epochs
from offramp.workers.launch import open_launcher
from offramp_base.errors import OfframpError
from offramp_base.progress import report
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.torchgt.settings import TorchGtSettings
    from offramp.workers.group import Group


Weights = dict[str, "npt.NDArray[np.float64]"]


def train_rank(
    group: Group, job: RankJob, report: Callable[[Any], None]
) -> tuple[RankResult[TorchGtEpoch, list[RankAllToAll]], Weights] | None:
    """One rank's whole run; rank 0 reports every epoch and returns the result and the model's weights."""
    trainer = TransformerTrainer(job, group)
    done = run_epochs(trainer, group, report, lambda: trainer.last_step, list[RankAllToAll])
    if done is None:
        return None
    return done, {name: value.double().cpu().numpy() for name, value in trainer.model.state_dict().items()}


def train(settings: TorchGtSettings, on_epoch: Callable[[TorchGtEpoch], None] = lambda _: None) -> TorchGtResult | None:
    """Train, in one local process per rank, or in those that torchrun or srun started.

    Returns:
        The result; None in processes of torchrun or srun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the task, or a rank died.
    """
    with open_launcher(settings.workers) as launcher:
        if not launcher.leads:
            launcher.run(train_rank, None, RankJob, on_epoch)
            return None
        prepared = prepare(settings)
        return prepared.result(*launcher.run(train_rank, prepared.jobs, RankJob, on_epoch))


@dataclass(frozen=True)
class PreparedRun:
    """Everything prepared once, before the first step.

    Attributes:
        jobs: one for each rank.
        tokens: tokens of each sequence.
        pattern_bytes: bytes that the other ranks receive.
        seconds: time that the preparation took.
    """

    task: GraphTask
    settings: TorchGtSettings
    jobs: list[RankJob]
    tokens: list[int]
    pattern_bytes: int
    seconds: float

    def result(self, done: RankResult[TorchGtEpoch, list[RankAllToAll]], weights: Weights) -> TorchGtResult:
        """The result of a run, from rank 0's result and what was prepared."""
        task = self.task
        facts = {"vertices": task.vertices, "edges": task.edges, "graphs": task.graphs, "classes": task.classes}
        return TorchGtResult(
            {**self.settings.as_dict(), **facts, "name": task.name},
            done.epochs,
            done.seconds,
            metric=task.metric,
            preparation_seconds=self.seconds,
            pattern_bytes=self.pattern_bytes,
            tokens=self.tokens,
            exchanges=done.ranks,
            weights=weights,
        )


_OF_A_RUN = (
    "model", "layers", "hidden", "heads", "attention", "beta", "distance", "positions", "workers", "dtype", "lr",
    "dropout", "seed", "sequence", "graphs", "epochs",
)  # fmt: skip
"""Settings that a checkpoint shares with the run that resumes from it; the learning rate falls over all epochs."""


def _facts(task: GraphTask, settings: TorchGtSettings) -> dict[str, Any]:
    of = settings.as_dict()
    size = {"graph": task.name, "vertices": task.vertices, "edges": task.edges}
    return {**size, **{name: of[name] for name in _OF_A_RUN}}


def _snapshot(settings: TorchGtSettings, features: int, classes: int, known: dict[str, Any]) -> TrainingSnapshot | None:
    if settings.resume is None:
        return None
    exact = {name: fact for name, fact in known.items() if name != "workers"}  # any number of ranks computes the same
    snapshot = resumed(settings.resume, exact, GraphTransformer(settings, features, classes or 1))
    if snapshot.epoch >= settings.epochs:
        raise SettingsError("resume", f"has {snapshot.epoch} epochs, expected {{epochs}} above that", settings.resume)
    return snapshot


def prepare(settings: TorchGtSettings) -> PreparedRun:
    """Load the task, order its sequences and make their patterns, and cut them into the ranks' shares.

    Raises:
        OfframpError: there is nothing to train on, there are fewer vertices than ranks, or too little memory for full
            attention.
    """
    start = time.perf_counter()
    task = load_task(settings)
    ranks = settings.workers
    if task.vertices < ranks:
        raise OfframpError(f"{task.name}: {task.vertices} vertices, expected at least {ranks}, one for each of workers")
    longest = task.vertices if task.graph_of is None else int(np.bincount(task.graph_of).max())
    settings = tuned(resolved(settings, min(longest, settings.sequence or longest)))
    if not task.masks[0].any():
        raise OfframpError(f"{task.name}: nothing to train on, expected another split")
    prepared = []
    for sequence in sequences(task, settings):
        prepared.append(sequence)
        report("sequences", sum(int(s.vertex.sum()) for s in prepared), task.vertices)
    check_full(settings, max((s.real for s in prepared if s.all_pairs is None), default=0))
    counts = [int(sequence.masks[0].sum()) for sequence in prepared]
    width, known = task.features.shape[1], _facts(task, settings)
    snapshot = _snapshot(settings, width, task.classes, known)
    jobs = [
        RankJob(settings, [s.share(rank, ranks) for s in prepared], counts, width, task.classes, known, snapshot)
        for rank in range(ranks)
    ]
    handed = (ranks - 1) * sum(sequence.pattern_bytes for sequence in prepared)
    tokens = [sequence.tokens for sequence in prepared]
    return PreparedRun(task, settings, jobs, tokens, handed, time.perf_counter() - start)
