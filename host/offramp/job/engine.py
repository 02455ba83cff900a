# SPDX-License-Identifier: Apache-2.0
"""The interface of an engine: what starts the ranks of a job, or takes the job as a whole.

``--on ENGINE:CLUSTER`` names one. The runner knows engines by :data:`ENGINES` only, where each module of
:mod:`offramp.job.engines` registers one.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from offramp.cluster.model import Cluster, ClusterHost
from offramp.cluster.reach import is_here
from offramp_base.ending.children import until_parent_ends
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp.job.kind import PlacedJob

_RUN_RANK: Final = ("-m", "offramp.workers.run_rank")
_PLACE: Final = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@dataclass(frozen=True)
class RankStart:
    """One start of all ranks of a job.

    Attributes:
        command: program of each rank and its arguments.
        cluster, hosts: the cluster, and the job's hosts in the order of their ranks.
        common: variables that all ranks share.
        own: variables of each rank, with its place (``RANK`` and so on).
        folder: folder for logs; where one launcher starts many ranks, all hosts see it.
    """

    command: Sequence[str]
    cluster: Cluster
    hosts: Sequence[ClusterHost]
    common: Mapping[str, str]
    own: Sequence[Mapping[str, str]]
    folder: Path

    @property
    def host_of(self) -> list[ClusterHost]:
        """The host of each rank."""
        return [host for host in self.hosts for _ in range(host.processes)]

    @property
    def shared(self) -> dict[str, str]:
        """Variables that have the same value on all ranks, without their places, which a launcher tells them."""
        first, *others = self.own
        same = {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}
        return dict(self.common) | {name: value for name, value in same.items() if name not in _PLACE}

    def launched(self) -> list[str]:
        """The command for a launcher that tells each process its place: ranks write logs of their own."""
        assigned = [f"{name}={value}" for name, value in self.shared.items()]
        log = str(self.folder.absolute())
        return ["env", *assigned, sys.executable, *_RUN_RANK, "--log", log, *self.command]


@dataclass(frozen=True)
class RankCommand:
    """A command of this machine that starts one rank, or several.

    Attributes:
        words: program and arguments.
        ranks: the ranks that it starts.
        log: name of the file for what it says.
        held: whether its standard input stays open as long as the job wants its ranks.
        environment: further variables of the command itself.
    """

    words: Sequence[str]
    ranks: range
    log: str
    held: bool = False
    environment: Mapping[str, str] | None = None


class JobEngine(ABC):
    """What runs a job on the hosts of a cluster.

    Attributes:
        what: description in a line.
        needs: programs that must be on PATH here.
    """

    what: ClassVar[str]
    needs: ClassVar[Sequence[str]] = ()

    def check(self) -> None:
        """Refuse an engine whose programs this machine lacks.

        Raises:
            OfframpError: names them.
        """
        missing = [name for name in self.needs if shutil.which(name) is None]
        if missing:
            raise OfframpError(f"engine {self.name}: no {' and no '.join(missing)} on PATH")

    @property
    def name(self) -> str:
        """The name by which people choose it."""
        return next(name for name in ENGINES.names() if ENGINES.get(name) is type(self))

    def reached(self, cluster: Cluster) -> Cluster:
        """The cluster with its hosts as this engine reaches them."""
        return cluster


class RankEngine(JobEngine):
    """An engine that starts ranks, while the command that uses it deploys and removes.

    Attributes:
        ending: signals that end its commands, the mildest first.
    """

    ending: ClassVar[Sequence[signal.Signals]] = (signal.SIGTERM, signal.SIGKILL)
    together: ClassVar[bool] = False
    """Whether one command starts ranks of several hosts, so that none of them can be ended without the others."""

    @abstractmethod
    def commands(self, start: RankStart) -> list[RankCommand]:
        """The commands that start all ranks, by rank."""

    def refuse(self, hosts: Sequence[ClusterHost]) -> str:  # noqa: ARG002
        """The reason that it cannot start ranks on these hosts; else empty."""
        return ""

    def failed_rank(self, said: str) -> int | None:  # noqa: ARG002
        """The rank that a launcher names in its log as the one that failed; None if it names none."""
        return None

    @property
    def earlier(self) -> int:
        """Number of earlier starts of the same job, where a batch system has started it before."""
        return 0


@dataclass(frozen=True)
class BatchSubmission:
    """A job as its user submits it.

    Attributes:
        job_file: the job's file.
        on: the cluster's file, or a laboratory.
        way: the way that its plan has taken.
        plan: the plan, one line for each way.
        out: folder for logs and reports.
    """

    job_file: Path
    on: str
    way: str
    plan: Sequence[str]
    out: Path


class BatchEngine(JobEngine):
    """An engine that takes a job as a whole: the same command runs inside of it, with an engine that starts ranks."""

    @abstractmethod
    def script(self, placed: PlacedJob, submission: BatchSubmission) -> str:
        """The text that the batch system takes.

        Raises:
            OfframpError: the job cannot be submitted.
        """

    @abstractmethod
    def run(self, placed: PlacedJob, submission: BatchSubmission, note: Callable[[str, str], None]) -> dict[str, Any]:
        """Submit the job and wait for it; its accounting, with the name of the engine.

        Raises:
            OfframpError: it was refused or has failed.
        """


def ending_with_us(host: ClusterHost) -> list[str]:
    """Words before a command on a host: it ends with the process that starts it here, however that ends.

    By ssh it runs in this folder, and ends with its connection; on this machine the kernel tells it, also when the
    thread that starts it ends, which therefore has to wait for it.
    """
    if host.reach == "ssh":
        return [sys.executable, *_RUN_RANK, "--while-connected", "--in", str(Path.cwd())]
    return until_parent_ends() if is_here(host) else []


def every_host(cluster: Cluster, reach: str) -> Cluster:
    """The cluster with all hosts reached in one way."""
    return replace(cluster, hosts=tuple(replace(host, reach=reach) for host in cluster.hosts))


def same_python() -> str:
    """The folder of this installation's programs, which a script puts first on PATH."""
    return os.path.dirname(os.path.abspath(sys.executable))  # noqa: PTH120, PTH100 - a link into the environment stays


ENGINES: Registry[type[JobEngine]] = Registry("engine", "offramp.engines", "offramp.job.engines")
"""Engines by the word before the colon of ``--on``."""


def parse_on(text: str) -> tuple[str, str]:
    """Engine and cluster of ``[ENGINE:]CLUSTER``; without an engine, ``hosts``.

    Raises:
        OfframpError: an engine without a cluster.
    """
    name, colon, cluster = text.partition(":")
    if name not in ENGINES:
        return "hosts", text
    if not colon or not cluster:
        raise OfframpError(f"engine {name}: expected {name}:CLUSTER-FILE, or {name}:lab for a laboratory")
    return name, cluster
