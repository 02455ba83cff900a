# SPDX-License-Identifier: Apache-2.0
"""A complete UniTG run: plan, start the processes, train both models at once, gather the results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.train.stored_state import StoredState, keep_state
from offramp.unitg.collaborator import Collaborator
from offramp.unitg.job import UnitgJob, plan
from offramp.unitg.rank import Rank
from offramp.unitg.results import StageRecord, UnitgEpoch, UnitgResult
from offramp.unitg.settings import COLOCATED, GLEM, UnitgSettings
from offramp.workers.epochs import EpochLoop, RankResult, require_finite
from offramp.workers.launch import open_launcher

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.unitg.checkpoint import ResumedStage
    from offramp.workers.group import Group

OnEpoch = Callable[[UnitgEpoch], None]


@dataclass(frozen=True)
class BothModels(RankResult[UnitgEpoch, StageRecord]):
    """Rank 0's results of both models.

    Attributes:
        gnn_seconds: time from the start of the first epoch to the end of the last, of all rounds.
        whole: final accuracies, with the edges between microbatches.
    """

    gnn_seconds: float
    whole: tuple[float, float, float]


def train_unitg(graph: Graph, settings: UnitgSettings, on_epoch: OnEpoch = lambda _: None) -> UnitgResult | None:
    """Train both models; returns the result, or None in processes of torchrun or srun other than rank 0.

    Args:
        graph: the graph that ``settings.graph`` names.
        settings: settings of the run.
        on_epoch: called after each epoch of the graph neural network.

    Raises:
        OfframpError: the settings do not fit the graph, or a worker died.
    """
    with open_launcher(settings.stages, field="stages") as launcher:
        if not launcher.leads:
            launcher.run(train_rank, None, UnitgJob, on_epoch)
            return None
        planned = plan(graph, settings)
        done: BothModels = launcher.run(train_rank, planned.jobs, UnitgJob, on_epoch)
    return UnitgResult(
        asdict(settings) | planned.facts, done.epochs, done.seconds, done.ranks, done.gnn_seconds, done.whole
    )


def train_rank(group: Group, job: UnitgJob, report: Callable[[Any], None]) -> BothModels | None:
    """One rank's whole run; rank 0 reports every epoch and returns everyone's results."""
    settings = job.settings
    with Rank(group, job) as rank:
        group.sum(torch.zeros(1))
        start = time.perf_counter()
        loop, gnn_seconds = UnitgEpochs(group, job, rank), 0.0
        epochs: list[UnitgEpoch] = []
        if settings.mode == GLEM and loop.between_rounds:
            loop.expect()
        for number in range(loop.done // settings.epochs, settings.rounds):
            rank.start_lm((number + 1) * job.steps - rank.lm_steps)
            if settings.in_turn:
                rank.finish_lm()
                group.sum(torch.zeros(1))
            if settings.mode == GLEM:
                loop.maximise()
            if settings.mode == COLOCATED:
                rank.gate.open_for_good()
            else:
                rank.ready()
            begun = time.perf_counter()
            epochs += loop.round(number, report if group.rank == 0 else lambda _: None)
            gnn_seconds += time.perf_counter() - begun
            if settings.mode == GLEM and number + 1 < settings.rounds:
                loop.expect()
        rank.finish_lm()
        group.sum(torch.zeros(1))
        if group.rank == 0:
            rank.save()
        seconds = time.perf_counter() - start
        whole = _shares(group, rank.stage.evaluate_whole(2 * settings.all_epochs + 2), job)[1:]
        stages = group.gather(rank.record(), StageRecord)
    if stages is None:
        return None
    return BothModels(epochs, stages, seconds, gnn_seconds, (whole[0], whole[1], whole[2]))


class UnitgEpochs(EpochLoop[UnitgEpoch]):
    """Epochs of the graph neural network on one stage."""

    def __init__(self, group: Group, job: UnitgJob, rank: Rank) -> None:
        self._group, self._job, self._rank = group, job, rank
        self._collaborator, self._embedded = Collaborator(job.settings.all_epochs), 0
        self._numeric = rank.stage.numeric() if rank.table is not None else None
        self._inputs: torch.Tensor | None = None
        self._history: list[tuple[float, float]] = []
        self._evaluated = bool(job.settings.dropout)  # an epoch with dropout ends with an evaluation
        if job.resumed is not None:
            self._resume(job.resumed)

    def _resume(self, resumed: ResumedStage) -> None:
        self.done, self._evaluated = resumed.epoch, False
        for number, (loss, seconds) in enumerate(resumed.history.tolist(), 1):
            self._due(number)
            self._observe(loss, seconds)
        arrays = resumed.state.as_dict()
        if self._rank.table is not None and int(arrays["embedded"][0]) >= 0:
            self._embedded = int(arrays["embedded"][0])
            self._inputs = torch.from_numpy(arrays["inputs"].copy())
            self._rank.stage.use(self._inputs)

    @property
    def between_rounds(self) -> bool:
        """Whether the next epoch is the first of a later round."""
        return self.done > 0 and self.done % self._job.settings.epochs == 0

    def round(self, number: int, report: OnEpoch) -> list[UnitgEpoch]:
        """Train for the epochs of a round, counted from 0, that are left."""
        self.epochs = (number + 1) * self._job.settings.epochs
        records = self.run(report)
        self.done = self.epochs
        return records

    def keep(self, number: int) -> None:
        """Write the checkpoint if one is due, unless the language model has failed, which the result tells."""
        settings, job = self._job.settings, self._job
        last = number == settings.all_epochs
        if settings.checkpoint is None or not (last or number % settings.checkpoint_every == 0):
            return
        with self._rank.held() as well:
            if well:
                keep_state(settings.checkpoint, self._state(number), job.facts, self._group)

    def _state(self, number: int) -> StoredState:
        rank, own = self._rank, self._rank.stage.arrays()
        if rank.table is not None and self._numeric is not None:
            rows, encoded = rank.table.copies()
            inputs = torch.zeros_like(self._numeric) if self._inputs is None else self._inputs
            embedded = -1 if self._inputs is None else self._embedded
            own |= {"embeddings": rows.numpy(), "encoded": encoded.numpy(), "inputs": inputs.numpy()}
            own |= {"embedded": np.array([embedded], np.int64)}
        alike: dict[str, Any] = {}
        if rank.tuner is not None:
            alike = rank.tuner.arrays()
            own |= rank.tuner.progress_arrays(self._job.steps * self._job.settings.rounds)
        return StoredState(number, np.array(self._history, np.float64).reshape(-1, 2), alike, own)

    def _due(self, number: int) -> bool:
        """Whether embeddings become features before this epoch."""
        settings = self._job.settings
        first = settings.in_turn and (number - 1) % settings.epochs == 0
        return first or self._collaborator.due(number)

    def _observe(self, loss: float, seconds: float) -> None:
        self._history.append((loss, seconds))
        self._collaborator.observe(loss)

    def maximise(self) -> None:
        """Prepare GLEM's M-step: embeddings as features, and the language model's probabilities of classes.

        Probabilities, of which the paper says pseudo-labels only, are what GLEM's own code learns in both steps.
        """
        job, rank = self._job, self._rank
        assert rank.tuner is not None
        if rank.table is not None:
            rank.table.put(torch.arange(len(job.whole.ids)), rank.tuner.embeddings(job.widths[0]))
        if job.place.last:
            pseudo = rank.tuner.scores(job.widths[-1]).softmax(1)
            rank.stage.learn_from(pseudo, job.settings.gnn_pseudo)

    def expect(self) -> None:
        """Prepare GLEM's E-step: the probabilities that the graph neural network gives to each vertex's classes."""
        job, rank = self._job, self._rank
        if not self._evaluated:
            rank.stage.evaluate(2 * self.done + 1)
        pseudo = torch.zeros(len(job.whole.ids), job.widths[-1], dtype=torch.float64)
        if job.place.last:
            assert rank.stage.scores is not None
            pseudo += rank.stage.scores.double().softmax(1).cpu()
        assert rank.tuner is not None
        rank.tuner.learn_from(self._group.sum(pseudo).float(), job.settings.lm_pseudo)

    def epoch(self, number: int) -> UnitgEpoch:
        """Make one iteration of the pipeline, after fetching embeddings as features if they are due."""
        settings, rank = self._job.settings, self._rank
        start = time.perf_counter()
        if self._due(number) and rank.table is not None and self._numeric is not None:
            self._inputs, self._embedded = rank.table.features(self._numeric)
            rank.stage.use(self._inputs)
        loss, train, val, test = _shares(self._group, rank.stage.iteration(2 * number), self._job)
        require_finite(number, loss)
        if settings.dropout:
            _, train, val, test = _shares(self._group, rank.stage.evaluate(2 * number + 1), self._job)
            self._evaluated = True
            if self._job.place.first:
                rank.gate.pause()
        seconds = time.perf_counter() - start
        self._observe(loss, seconds)
        return UnitgEpoch(
            epoch=number,
            loss=loss,
            train_accuracy=train,
            val_accuracy=val,
            test_accuracy=test,
            seconds=seconds,
            embedded=self._embedded,
            interval=self._collaborator.interval,
        )


def _shares(group: Group, sums: list[float], job: UnitgJob) -> list[float]:
    """Mean loss and accuracies on every rank, from the sums of the last stage."""
    counts = job.masks.sum(axis=1).tolist() if job.masks is not None else [0, 0, 0]
    loss, train, val, test, *sizes = group.sum(torch.tensor([*sums, *counts], dtype=torch.float64)).tolist()
    n_train, n_val, n_test = (max(1.0, size) for size in sizes)
    return [loss / n_train, train / n_train, val / n_val, test / n_test]
