# SPDX-License-Identifier: Apache-2.0
"""A complete training run: partition, plan, load the switch, start the workers, gather their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from offramp.switchgnn.plan import AGGREGATOR_BYTES
from offramp.switchgnn.stats import SwitchTotals
from offramp.switchgnn.worker_link import prepare
from offramp.train.job import WorkerJob
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.results import Epoch, TrainingResult
from offramp.train.stored_job import StoredJob
from offramp.train.trainer import OnEpoch, Trainer
from offramp.workers.budget import open_budget
from offramp.workers.epochs import RankResult, run_epochs
from offramp.workers.launch import open_launcher
from offramp.workers.traffic import Traffic
from offramp_base.freed_memory import return_freed_memory, return_what_is_free
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.switchgnn.plan import Plan
    from offramp.train.settings import TrainSettings
    from offramp.workers.group import Group


def train_rank(group: Group, job: WorkerJob, report: Callable[[Any], None]) -> RankResult[Epoch, Traffic] | None:
    """One worker's whole run; rank 0 reports every epoch and returns everyone's traffic."""
    if job.plans:
        prepare(job.link)
    with open_budget(job.settings.worker_memory) as budget, open_channel(job, group) as channel:
        if budget is not None:
            return_what_is_free()  # of what the channel's plans took
        trainer = Trainer(job, group, channel, budget=budget)
        return run_epochs(trainer, group, report, lambda: channel.traffic, Traffic)


def train_stored_rank(group: Group, job: StoredJob, report: Callable[[Any], None]) -> RankResult[Epoch, Traffic] | None:
    """:func:`train_rank` of a job in a file.

    Raises:
        OfframpError: also if the memory budget is too small.
    """
    try:
        work = job.open()
        if not work.settings.by_halo_features:
            return_freed_memory()
        return train_rank(group, work, report)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise SettingsError("worker_memory", "is too small: expected more, or smaller {bin_memory}") from None
        raise


def _stored(jobs: Iterator[WorkerJob], folder: Path) -> list[StoredJob]:
    """The jobs in files of ``folder``, no two in memory at a time."""
    stored: list[StoredJob] = []
    for job in jobs:
        stored.append(StoredJob.of(job, folder / str(len(stored))))
        del job
    return stored


class TrainingFabric(Protocol):
    """The switches of a run."""

    @property
    def links(self) -> Sequence[str]:
        """The host-side end of every worker's link."""

    def load(self, plans: Sequence[Plan], aggregators: int, *, acks: bool = False) -> None:
        """Restart the program and write the plans, with entries that serve ACKs if asked for."""

    def totals(self) -> SwitchTotals:
        """Counts since :meth:`load`."""


OpenFabric = Callable[[], AbstractContextManager[TrainingFabric]]
"""Opens the switches of a run for its duration."""


def train(
    graph: Graph | Callable[[], Graph],
    settings: TrainSettings,
    *,
    open_fabric: OpenFabric | None = None,
    on_epoch: OnEpoch = lambda _: None,
) -> TrainingResult | None:
    """Train on ``graph``, in one local process per worker, or in those that torchrun or srun started.

    Args:
        graph: the graph that ``settings.graph`` names, or a function that returns it: then only the process that plans
            has it, and not while workers with a limit on their memory run.
        settings: settings of the run.
        open_fabric: opens the switch, for the propagators that need one; called once the run is planned.
        on_epoch: called after each epoch, in the process that returns the result.

    Returns:
        The result; None in processes of torchrun or srun other than rank 0.

    Raises:
        OfframpError: the settings do not fit the graph, a worker died, or the switch is gone.
    """
    with open_launcher(settings.processes, given=settings.workers, timeout_s=settings.timeout_s) as launcher:
        if not launcher.leads:
            launcher.run(train_rank, None, WorkerJob, on_epoch)
            return None
        planned = plan_run(graph() if callable(graph) else graph, settings)
        described = planned.describe()
        with ExitStack() as stack:
            fabric: TrainingFabric | None = None
            if planned.exchanges:
                if open_fabric is None:
                    raise SettingsError("propagator", "expected a switch", settings.propagator)
                fabric = stack.enter_context(open_fabric())
            links: Sequence[str] = fabric.links if fabric else []
            work: Callable[..., RankResult[Epoch, Traffic] | None]
            jobs: Sequence[WorkerJob | StoredJob]
            if settings.worker_memory is None:
                work, jobs = train_rank, planned.jobs(links)
            else:
                if not launcher.starts:
                    raise SettingsError("worker_memory", "goes with workers that this command starts only")
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="offramp-")))
                work, jobs = train_stored_rank, _stored(planned.each_job(links), folder)
            if fabric:
                fabric.load(planned.plans, settings.memory // AGGREGATOR_BYTES, acks=settings.acks)
            del planned  # what workers have of it is in their jobs
            return_what_is_free()
            done: RankResult[Epoch, Traffic] = launcher.run(work, jobs, WorkerJob, on_epoch)
            totals = fabric.totals() if fabric else SwitchTotals()
    return TrainingResult(described, done.epochs, done.seconds, done.ranks, totals)
