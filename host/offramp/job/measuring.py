# SPDX-License-Identifier: Apache-2.0
"""A calibration that a plan can wait for: it ends, or is abandoned, by the job's deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

from offramp.cluster.model import Cluster
from offramp.job import run
from offramp.job.bounded import Deadline, within
from offramp.job.engine import RankEngine
from offramp.job.kind import CalibrationResult, Measure
from offramp.job.later import undo_later
from offramp.job.settings import JobSettings
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError

_SHARE: Final = 0.8
"""Share of the time that deploying and measuring may take; the rest is for ending ranks and undoing the deployment."""


def measurer(
    job: JobSettings, cluster: Cluster, clock: Callable[[], float] = monotonic, engine: RankEngine | None = None
) -> Measure:
    """Measures on the cluster until the job's deadline, whose time begins now; fails where that is over first.

    Ranks are started by the engine that will start the job's.
    """
    deadline = Deadline(job.deadline_s, clock)

    def measure(ways: Sequence[str], size: int) -> CalibrationResult:
        left_s = deadline.left_s
        if not left_s:
            raise OfframpError(f"the models took all of the {job.deadline_s:g} s that planning may take")
        stopped = Event()
        return within(
            left_s,
            lambda: _measured(job, cluster, ways, size, left_s, stopped, engine),
            _stopping(cluster, stopped),
        )

    return measure


def _measured(
    job: JobSettings,
    cluster: Cluster,
    ways: Sequence[str],
    size: int,
    left_s: float,
    stopped: Event,
    engine: RankEngine | None,
) -> CalibrationResult:
    with temporary_folder() as folder:
        limit_s = left_s * _SHARE
        return run.calibrate(job, cluster, ways, size, Path(folder), limit_s, stopped=stopped.is_set, engine=engine)


def _stopping(cluster: Cluster, stopped: Event) -> Callable[[], None]:
    def stop() -> None:
        stopped.set()
        if any(switch.control for switch in cluster.switches):
            undo_later(cluster)  # should this process end before the calibration has undone its own

    return stop
