"""A whole training run: partition, plan, load the switch, start the workers, gather what they did."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from offramp.errors import OfframpError
from offramp.graph.boundary import Boundary
from offramp.graph.partition import partition
from offramp.train.describe import describe
from offramp.train.exchange_plan import plan_exchanges
from offramp.train.group import GlooGroup, Group
from offramp.train.job import WorkerJob, exchange_widths, layer_widths, make_jobs
from offramp.train.processes import run_workers
from offramp.train.propagators import open_propagator
from offramp.train.results import Epoch, SwitchTotals, TrainingResult
from offramp.train.trainer import OnEpoch, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.graph.data import Graph
    from offramp.train.fabric import SwitchFabric
    from offramp.train.settings import TrainSettings
    from offramp.train.traffic import Traffic


@dataclass(frozen=True)
class RankResult:
    """What rank 0 brings back from the workers."""

    epochs: list[Epoch]
    traffic: list[Traffic]
    seconds: float


def train_rank(group: Group, job: WorkerJob, report: Callable[[Any], None]) -> RankResult | None:
    """One worker's whole run; rank 0 reports every epoch and returns everyone's result."""
    with open_propagator(job, group) as propagator:
        trainer = Trainer(job, group, propagator)
        start = time.perf_counter()
        epochs = trainer.run(report if group.rank == 0 else lambda _: None)
        seconds = time.perf_counter() - start
        traffic = group.gather(propagator.traffic)
    return RankResult(epochs, traffic, seconds) if traffic is not None else None


def train(
    graph: Graph,
    settings: TrainSettings,
    *,
    fabric: SwitchFabric | None = None,
    on_epoch: OnEpoch = lambda _: None,
) -> TrainingResult | None:
    """Train on ``graph``, in one process for each worker on this machine, or in those that torchrun started.

    Args:
        graph: what ``settings.graph`` names.
        settings: of the run.
        fabric: the switch, for the propagators that need one.
        on_epoch: called after each epoch, in the process that returns the result.

    Returns:
        The result; None in the processes of torchrun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the graph, a worker died, or the switch is gone.
    """
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return _train_as_rank(graph, settings, fabric, on_epoch)
    prepared = prepare(graph, settings, fabric)
    if settings.processes == 1:
        return prepared.result(train_rank(Group(), prepared.jobs[0], on_epoch))
    return prepared.result(run_workers(train_rank, prepared.jobs, on_epoch))


def _train_as_rank(
    graph: Graph, settings: TrainSettings, fabric: SwitchFabric | None, on_epoch: OnEpoch
) -> TrainingResult | None:
    group = joined_group(settings)
    try:
        prepared = prepare(graph, settings, fabric) if group.rank == 0 else None
        outcome = train_rank(group, group.scatter(prepared.jobs if prepared else None), on_epoch)
        return prepared.result(outcome) if prepared else None
    finally:
        group.close()


def joined_group(settings: TrainSettings) -> Group:
    """The group of the processes that torchrun started.

    Raises:
        OfframpError: their number is not that of the settings.
    """
    size = int(os.environ["WORLD_SIZE"])
    if size != settings.processes:
        raise OfframpError(
            f"--workers {settings.workers} --propagator {settings.propagator}: needs {settings.processes} "
            f"processes, torchrun started WORLD_SIZE={size}"
        )
    return GlooGroup()


@dataclass(frozen=True)
class Prepared:
    """A run before its first epoch: everyone's job, and what the settings amount to."""

    jobs: list[WorkerJob]
    settings: dict[str, Any]
    fabric: SwitchFabric | None

    def result(self, outcome: RankResult | None) -> TrainingResult:
        """The whole result, with what the switch counted."""
        assert outcome is not None, "rank 0 returns the outcome of all"
        totals = self.fabric.totals() if self.fabric else SwitchTotals()
        return TrainingResult(self.settings, outcome.epochs, outcome.traffic, outcome.seconds, totals)


def prepare(graph: Graph, settings: TrainSettings, fabric: SwitchFabric | None) -> Prepared:
    """Partition the graph, plan the exchanges, load the switch, and write every worker's job.

    Raises:
        OfframpError: the settings do not fit the graph or the switch.
    """
    if graph.classes < 2 or not graph.train.any():
        raise OfframpError(f"--graph {settings.graph}: no labels to train on; expected at least 2 classes")
    if settings.workers > graph.vertices:
        raise OfframpError(
            f"--workers {settings.workers}: the graph has {graph.vertices} vertices, one worker each at most"
        )
    boundary = Boundary(graph, partition(graph, settings.processes, settings.partition, settings.seed))
    described = describe(graph, settings, boundary)
    if not settings.through_switch:
        return Prepared(make_jobs(graph, settings, boundary), described, None)
    if fabric is None:
        raise OfframpError(f"--propagator {settings.propagator}: expected a switch")
    plans = plan_exchanges(boundary, settings, exchange_widths(layer_widths(graph, settings)))
    fabric.load(plans.plans)
    jobs = make_jobs(graph, settings, boundary, plans, fabric.worker_ports)
    described |= {"switch": fabric.address, "blocks": [len(plan.blocks) for plan in plans.plans]}
    return Prepared(jobs, described, fabric)
