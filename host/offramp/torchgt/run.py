# SPDX-License-Identifier: Apache-2.0
"""A whole TorchGT run: prepare sequences, start the ranks, gather what they did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp.torchgt.memory_check import check_full, resolved
from offramp.torchgt.parallel import Exchange
from offramp.torchgt.results import Epoch, TorchGtResult
from offramp.torchgt.sequence import sequences
from offramp.torchgt.task import Task, load_task
from offramp.torchgt.trainer import RankJob, Trainer
from offramp.workers.group import GlooGroup, Group
from offramp.workers.processes import run_workers
from offramp_base.errors import OfframpError
from offramp_base.progress import report
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.torchgt.settings import TorchGtSettings


@dataclass(frozen=True)
class _Outcome:
    epochs: list[Epoch]
    seconds: float
    exchanges: list[list[Exchange]]
    weights: dict[str, npt.NDArray[np.float64]]


def train_rank(group: Group, job: RankJob, on_epoch: Callable[[Any], None]) -> _Outcome | None:
    """One rank's whole run; rank 0 reports every epoch and returns the result."""
    trainer = Trainer(job, group)
    start = time.perf_counter()
    epochs = trainer.run(on_epoch if group.rank == 0 else lambda _: None)
    seconds = time.perf_counter() - start
    exchanges = group.gather(trainer.last_step, list[Exchange])
    if exchanges is None:
        return None
    weights = {name: value.double().numpy() for name, value in trainer.model.state_dict().items()}
    return _Outcome(epochs, seconds, exchanges, weights)


def train(settings: TorchGtSettings, on_epoch: Callable[[Epoch], None] = lambda _: None) -> TorchGtResult | None:
    """Train, in one process for each rank on this machine, or in those that torchrun started.

    Returns:
        The result; None in the processes of torchrun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the task, or a rank died.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        prepared = prepare(settings)
        if settings.workers == 1:
            return prepared.result(train_rank(Group(), prepared.jobs[0], on_epoch))
        return prepared.result(run_workers(train_rank, prepared.jobs, on_epoch))
    if int(os.environ["WORLD_SIZE"]) != settings.workers:
        raise SettingsError("workers", f"torchrun started WORLD_SIZE={os.environ['WORLD_SIZE']}", settings.workers)
    group = GlooGroup()
    try:
        if group.rank:
            train_rank(group, group.scatter(None, RankJob), on_epoch)
            return None
        prepared = prepare(settings)
        return prepared.result(train_rank(group, group.scatter(prepared.jobs, RankJob), on_epoch))
    finally:
        group.close()


@dataclass(frozen=True)
class Prepared:
    """Everything that is done once, before the first step.

    Attributes:
        jobs: one for each rank.
        tokens: of each sequence.
        pattern_bytes: that the other ranks are handed.
        seconds: that it took.
    """

    task: Task
    settings: TorchGtSettings
    jobs: list[RankJob]
    tokens: list[int]
    pattern_bytes: int
    seconds: float

    def result(self, outcome: _Outcome | None) -> TorchGtResult:
        """What rank 0 brought back, with what was prepared."""
        assert outcome is not None, "rank 0 returns what all did"
        task = self.task
        facts = {"vertices": task.vertices, "edges": task.edges, "graphs": task.graphs, "classes": task.classes}
        return TorchGtResult(
            {**self.settings.as_dict(), **facts, "name": task.name},
            task.metric,
            outcome.epochs,
            outcome.seconds,
            self.seconds,
            self.pattern_bytes,
            self.tokens,
            outcome.exchanges,
            outcome.weights,
        )


def prepare(settings: TorchGtSettings) -> Prepared:
    """Load the task, order and pattern its sequences, and cut them into the ranks' shares.

    Raises:
        OfframpError: nothing to train on, fewer vertices than ranks, or too little memory for full attention.
    """
    start = time.perf_counter()
    task = load_task(settings)
    ranks = settings.workers
    if task.vertices < ranks:
        raise OfframpError(f"{task.name}: {task.vertices} vertices, expected at least --workers {ranks}")
    longest = task.vertices if task.graph_of is None else int(np.bincount(task.graph_of).max())
    settings = resolved(settings, min(longest, settings.sequence or longest))
    if not task.masks[0].any():
        raise OfframpError(f"{task.name}: nothing to train on, expected another --split")
    made = []
    for sequence in sequences(task, settings):
        made.append(sequence)
        report("sequences", sum(int(s.vertex.sum()) for s in made), task.vertices)
    check_full(settings, max((s.real for s in made if s.all_pairs is None), default=0))
    counts = [int(sequence.masks[0].sum()) for sequence in made]
    jobs = [
        RankJob(settings, [s.share(rank, ranks) for s in made], counts, task.features.shape[1], task.classes)
        for rank in range(ranks)
    ]
    handed = (ranks - 1) * sum(sequence.pattern_bytes for sequence in made)
    tokens = [sequence.tokens for sequence in made]
    return Prepared(task, settings, jobs, tokens, handed, time.perf_counter() - start)
