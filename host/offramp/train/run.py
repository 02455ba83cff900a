# SPDX-License-Identifier: Apache-2.0
"""A whole training run: partition, plan, load the switch, start the workers, gather what they did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from offramp.switchgnn.plan import AGGREGATOR_BYTES
from offramp.train.job import WorkerJob
from offramp.train.planned import PlannedRun, plan_run
from offramp.train.propagators import open_channel
from offramp.train.results import Epoch, SwitchTotals, TrainingResult
from offramp.train.trainer import OnEpoch, Trainer
from offramp.workers.group import GlooGroup, Group
from offramp.workers.processes import run_workers
from offramp.workers.traffic import Traffic
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.switchgnn.plan import Plan
    from offramp.train.settings import TrainSettings


@dataclass(frozen=True)
class RankResult:
    """What rank 0 brings back from the workers."""

    epochs: list[Epoch]
    traffic: list[Traffic]
    seconds: float


def train_rank(group: Group, job: WorkerJob, report: Callable[[Any], None]) -> RankResult | None:
    """One worker's whole run; rank 0 reports every epoch and returns everyone's result."""
    with open_channel(job, group) as channel:
        trainer = Trainer(job, group, channel)
        start = time.perf_counter()
        epochs = trainer.run(report if group.rank == 0 else lambda _: None)
        seconds = time.perf_counter() - start
        traffic = group.gather(channel.traffic, Traffic)
    return RankResult(epochs, traffic, seconds) if traffic is not None else None


class Fabric(Protocol):
    """The switches of a run."""

    @property
    def links(self) -> Sequence[str]:
        """The host-side end of every worker's link."""

    def load(self, plans: Sequence[Plan], aggregators: int) -> None:
        """Start the program afresh and write the plans."""

    def totals(self) -> SwitchTotals:
        """What was counted since :meth:`load`."""


OpenFabric = Callable[[], AbstractContextManager[Fabric]]
"""Gives the switches of a run for as long as the run takes."""


def train(
    graph: Graph,
    settings: TrainSettings,
    *,
    open_fabric: OpenFabric | None = None,
    on_epoch: OnEpoch = lambda _: None,
) -> TrainingResult | None:
    """Train on ``graph``, in one process for each worker on this machine, or in those that torchrun started.

    Args:
        graph: what ``settings.graph`` names.
        settings: of the run.
        open_fabric: opens the switch, for the propagators that need one; called once the run is planned.
        on_epoch: called after each epoch, in the process that returns the result.

    Returns:
        The result; None in the processes of torchrun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the graph, a worker died, or the switch is gone.
    """
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        group = joined_group(settings)
        try:
            if group.rank:
                train_rank(group, group.scatter(None, WorkerJob), on_epoch)
                return None

            def run_here(jobs: list[WorkerJob]) -> RankResult | None:
                return train_rank(group, group.scatter(jobs, WorkerJob), on_epoch)

            return _train_planned(plan_run(graph, settings), open_fabric, run_here)
        finally:
            group.close()

    def run_all(jobs: list[WorkerJob]) -> RankResult | None:
        if len(jobs) == 1:
            return train_rank(Group(), jobs[0], on_epoch)
        outcome: RankResult = run_workers(train_rank, jobs, on_epoch, timeout_s=settings.timeout_s)
        return outcome

    return _train_planned(plan_run(graph, settings), open_fabric, run_all)


def _train_planned(
    planned: PlannedRun,
    open_fabric: OpenFabric | None,
    run_jobs: Callable[[list[WorkerJob]], RankResult | None],
) -> TrainingResult:
    with ExitStack() as stack:
        fabric: Fabric | None = None
        links: Sequence[str] = []
        if planned.exchanges is not None:
            if open_fabric is None:
                raise SettingsError("propagator", "expected a switch", planned.settings.propagator)
            fabric = stack.enter_context(open_fabric())
            fabric.load(planned.exchanges.plans, planned.settings.memory // AGGREGATOR_BYTES)
            links = fabric.links
        outcome = run_jobs(planned.jobs(links))
        assert outcome is not None, "rank 0 returns what all did"
        totals = fabric.totals() if fabric else SwitchTotals()
    return TrainingResult(planned.describe(), outcome.epochs, outcome.traffic, outcome.seconds, totals)


def joined_group(settings: TrainSettings) -> Group:
    """The group of the processes that torchrun started.

    Raises:
        OfframpError: their number is not that of the settings.
    """
    size = int(os.environ["WORLD_SIZE"])
    if size != settings.processes:
        raise SettingsError(
            "workers",
            f"with {{propagator}} {settings.propagator} needs {settings.processes} processes, "
            f"torchrun started WORLD_SIZE={size}",
            settings.workers,
        )
    return GlooGroup()
