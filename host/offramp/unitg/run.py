# SPDX-License-Identifier: Apache-2.0
"""A whole run of UniTG: plan, start the processes, train both models at once, gather what they did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from offramp.unitg.collaborator import Collaborator
from offramp.unitg.job import UnitgJob, plan
from offramp.unitg.rank import Rank
from offramp.unitg.results import StageRecord, UnitgEpoch, UnitgResult
from offramp.unitg.settings import COLOCATED, SEQUENTIAL, UnitgSettings
from offramp.workers.group import GlooGroup, Group
from offramp.workers.processes import run_workers
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.graph.data import Graph

OnEpoch = Callable[[UnitgEpoch], None]
Report = Callable[[Any], None]
WorkOfRank = Callable[[Group, Any, Report], Any]


@dataclass(frozen=True)
class Outcome:
    """What rank 0 brings back."""

    epochs: list[UnitgEpoch]
    stages: list[StageRecord]
    gnn_seconds: float
    seconds: float
    whole: tuple[float, float, float]


def train_unitg(graph: Graph, settings: UnitgSettings, on_epoch: OnEpoch = lambda _: None) -> UnitgResult | None:
    """Train both models; the result, or None in the processes of torchrun other than rank 0.

    Args:
        graph: what ``settings.graph`` names.
        settings: of the run.
        on_epoch: called after each epoch of the graph neural network.

    Raises:
        OfframpError: the settings do not fit the graph, or a worker died.
    """
    planned = None if follows() else plan(graph, settings)
    outcome: Outcome | None = in_processes(train_rank, planned.jobs if planned else None, UnitgJob, settings, on_epoch)
    if outcome is None or planned is None:
        return None
    facts = asdict(settings) | planned.facts
    return UnitgResult(facts, outcome.epochs, outcome.stages, outcome.gnn_seconds, outcome.seconds, outcome.whole)


def in_processes(
    work: WorkOfRank, items: Sequence[Any] | None, kind: Any, settings: UnitgSettings, report: Report
) -> Any:
    """``work`` of every rank: in the processes that torchrun started, or in our own; the result of rank 0.

    Args:
        work: a module-level function.
        items: one for each rank; None in the processes of torchrun other than rank 0.
        kind: their type.
        settings: of the run.
        report: gets what rank 0 reports.

    Raises:
        OfframpError: torchrun started another number of processes than stages, or a worker died.
    """
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        size = int(os.environ["WORLD_SIZE"])
        if size != settings.stages:
            raise SettingsError("stages", f"torchrun started WORLD_SIZE={size} processes", settings.stages)
        group = GlooGroup()
        try:
            return work(group, group.scatter(items, kind), report)
        finally:
            group.close()
    assert items is not None
    if settings.stages == 1:
        return work(Group(), items[0], report)
    return run_workers(work, items, report)


def follows() -> bool:
    """Whether this is a process of torchrun other than rank 0."""
    return os.environ.get("RANK", "0") != "0" and "WORLD_SIZE" in os.environ


def train_rank(group: Group, job: UnitgJob, report: Report) -> Outcome | None:
    """One rank's whole run; rank 0 reports every epoch and returns what all did."""
    settings = job.settings
    with Rank(group, job) as rank:
        steps = settings.lm_epochs * job.corpus.batches.steps_of_epoch() if job.corpus else 0
        group.sum(torch.zeros(1))
        start = time.perf_counter()
        rank.start_lm(steps)
        if settings.mode == SEQUENTIAL:
            rank.finish_lm()
            group.sum(torch.zeros(1))
        if settings.mode == COLOCATED:
            rank.gate.open_for_good()
        else:
            rank.ready()
        begun = time.perf_counter()
        epochs = _epochs(group, job, rank, report if group.rank == 0 else lambda _: None)
        gnn_seconds = time.perf_counter() - begun
        rank.finish_lm()
        group.sum(torch.zeros(1))
        seconds = time.perf_counter() - start
        whole = _shares(group, rank.stage.evaluate_whole(2 * settings.epochs + 2), job)[1:]
        stages = group.gather(rank.record(), StageRecord)
    if stages is None:
        return None
    return Outcome(epochs, stages, gnn_seconds, seconds, (whole[0], whole[1], whole[2]))


def _epochs(group: Group, job: UnitgJob, rank: Rank, report: Report) -> list[UnitgEpoch]:
    settings, epochs = job.settings, []
    collaborator, embedded = Collaborator(settings.epochs), 0
    numeric = rank.stage.numeric() if rank.table is not None else None
    for number in range(1, settings.epochs + 1):
        start = time.perf_counter()
        first = settings.mode == SEQUENTIAL and number == 1
        if (first or collaborator.due(number)) and rank.table is not None and numeric is not None:
            features, embedded = rank.table.features(numeric)
            rank.stage.use(features)
        sums = rank.stage.iteration(2 * number)
        loss, train, val, test = _shares(group, sums, job)
        if not torch.tensor(loss).isfinite():
            raise OfframpError(f"epoch {number}: the loss is {loss:g}; expected a smaller lr")
        if settings.dropout:
            _, train, val, test = _shares(group, rank.stage.evaluate(2 * number + 1), job)
            if job.place.first:
                rank.gate.pause()
        seconds = time.perf_counter() - start
        collaborator.observe(loss)
        epochs.append(UnitgEpoch(number, loss, train, val, test, seconds, embedded, collaborator.interval))
        report(epochs[-1])
    return epochs


def _shares(group: Group, sums: list[float], job: UnitgJob) -> list[float]:
    """Mean loss and accuracies on every rank, from the sums of the last stage."""
    counts = job.masks.sum(axis=1).tolist() if job.masks is not None else [0, 0, 0]
    loss, train, val, test, *sizes = group.sum(torch.tensor([*sums, *counts], dtype=torch.float64)).tolist()
    n_train, n_val, n_test = (max(1.0, size) for size in sizes)
    return [loss / n_train, train / n_train, val / n_val, test / n_test]
