# SPDX-License-Identifier: Apache-2.0
"""Execution of a run's ranks: in this process, in local processes, or in those that a launcher started."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from offramp.workers.address import interface_towards
from offramp.workers.group import GlooGroup, Group
from offramp.workers.mailbox import PeerLostError
from offramp.workers.messages import MOST_ROW
from offramp.workers.place import find_place
from offramp.workers.processes import TIMEOUT_S, Work, run_workers
from offramp.workers.tracing import traced
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError


class Launcher(ABC):
    """Gives each rank its job.

    Attributes:
        leads: whether this process plans the run and gets its result; False only for the other ranks of a launcher.
        starts: whether it starts processes for the ranks.
    """

    leads = True
    starts = False

    @abstractmethod
    def run(self, work: Work, jobs: Sequence[Any] | None, kind: Any, report: Callable[[Any], None]) -> Any:
        """Run ``work`` on every rank; returns the result of rank 0.

        Args:
            work: a module-level function.
            jobs: one per rank; None if this process does not lead.
            kind: type of the jobs.
            report: called with what rank 0 reports.

        Raises:
            OfframpError: a rank failed, died or was stopped.
        """


class Here(Launcher):
    """Ranks in local processes; a single rank in this process."""

    starts = True

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def run(self, work: Work, jobs: Sequence[Any] | None, kind: Any, report: Callable[[Any], None]) -> Any:  # noqa: ARG002
        """Run ``work`` on every rank, in processes that end with this one."""
        assert jobs is not None
        work = traced(work)
        if len(jobs) == 1:
            return work(Group(), jobs[0], report)
        return run_workers(work, jobs, report, timeout_s=self._timeout_s)


class Joined(Launcher):
    """This process is one rank of several; the others do the same elsewhere."""

    def __init__(self, group: Group) -> None:
        self._group, self.leads = group, group.rank == 0
        self._planned = False

    def run(self, work: Work, jobs: Sequence[Any] | None, kind: Any, report: Callable[[Any], None]) -> Any:
        """Run ``work`` on this rank, with the job that rank 0 sends.

        Raises:
            OfframpError: also what rank 0 met before it had any jobs, in its words.
        """
        self._settle("")
        return work(self._group, self._group.scatter(jobs, kind), report)

    def fail(self, problem: str) -> None:
        """Rank 0 has no jobs, because of ``problem``: the others, which wait for theirs, end with the same line."""
        if self.leads and not self._planned:
            with suppress(RuntimeError, OfframpError):  # one of them is gone already
                self._settle(problem)

    def _settle(self, problem: str) -> None:
        self._planned = True
        seen = self._group.introduce(problem.encode()[:MOST_ROW])[0]
        if seen:
            raise OfframpError(seen.decode(errors="replace"))


OpenLauncher = Callable[..., AbstractContextManager[Launcher]]
"""Type of :func:`open_launcher`."""


@contextmanager
def open_launcher(
    ranks: int, *, field: str = "workers", given: object = None, timeout_s: float = TIMEOUT_S
) -> Iterator[Launcher]:
    """The launcher of a run with ``ranks`` ranks: processes that torchrun or srun started, otherwise our own.

    Args:
        ranks: number of ranks that the run needs.
        field: name of the settings' field that determines it.
        given: value that was given for the field; by default ``ranks``.
        timeout_s: seconds that a process of our own may be stopped.

    Raises:
        OfframpError: the launcher's variables are invalid, or it started another number of processes.
    """
    place = find_place()
    if place is None:
        yield Here(timeout_s)
        return
    if place.size != ranks:
        problem = f"needs {ranks} {'process' if ranks == 1 else 'processes'}, {place.started}"
        raise SettingsError(field, problem, ranks if given is None else given)
    host = place.host(os.environ)
    if "GLOO_SOCKET_IFNAME" not in os.environ and (interface := interface_towards(host)) is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = interface  # by itself, gloo goes by the host's name, which may be nobody's
    try:
        group = GlooGroup(place.rendezvous, place.rank, place.size)
    except RuntimeError as error:
        problem = " ".join(str(error).split())[:300]
        raise PeerLostError(f"rank {place.rank}: cannot meet the other ranks at {host}: {problem}") from None
    joined = Joined(group)
    try:
        yield joined
    except OfframpError as error:
        joined.fail(str(error))
        raise
    except RuntimeError as error:
        if "gloo" not in str(error) and "Connection" not in str(error):
            raise
        raise PeerLostError(f"rank {place.rank}: another rank is gone: {' '.join(str(error).split())}") from None
    finally:
        group.close()
