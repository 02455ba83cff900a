# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job, which its engine starts, each with what torchrun would have set."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Final

from offramp.cluster.model import Cluster, ClusterHost
from offramp.cluster.reach import is_here
from offramp.job.engine import ENGINES, RankCommand, RankEngine, RankStart
from offramp.job.network import interface
from offramp.job.settings import JobSettings
from offramp.workers.meeting import MEETING
from offramp_base.ending.children import ended_as
from offramp_base.errors import OfframpError

_PASSED: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME", "OFFRAMP_TOKEN_FILE", "VIRTUAL_ENV")
"""Variables of our own environment that are passed to hosts that share our files."""
_TAIL: Final = 2000
_LOOK_S: Final = 1.0
_POLL_S: Final = 0.1
_GRACE_S: Final = 10.0
"""Seconds that ranks have to end by themselves."""
_HARDER_S: Final = 5.0
"""Seconds that a launcher has to end ranks that it has to kill."""
_GRACE_SHARE: Final = 0.1
"""The same of the seconds that they may run, where these are few."""


@dataclass
class RankProcesses:
    """Starts all ranks, and waits for them; :meth:`stop` ends what still runs.

    Attributes:
        job, cluster, hosts: the job, its cluster, and its hosts in rank order.
        network: file for ``OFFRAMP_NETWORK``; None: without our backend's settings.
        folder: folder for logs, ``rank-0.log`` and so on.
        attempt: number of earlier starts of the job.
        leading: number of ranks, from 0, that end by themselves; the others serve them. None: all.
        engine: what starts them; None: each where its host is, as the cluster's file says.
    """

    job: JobSettings
    cluster: Cluster
    hosts: Sequence[ClusterHost]
    network: Path | None
    folder: Path
    attempt: int = 0
    leading: int | None = None
    engine: RankEngine | None = None
    commands: list[RankCommand] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """Start them.

        Raises:
            OfframpError: a host that is not reached; what was started has ended.
        """
        self._meeting.unlink(missing_ok=True)
        try:
            engine = self._engine
            self.commands = engine.commands(self._placed())
            for command in self.commands:
                self.processes.append(self._start(command))
        except BaseException:
            self.stop()
            raise

    def wait(
        self,
        timeout_s: float | None = None,
        lost: Callable[[], str] = lambda: "",
        stopped: Callable[[], bool] | None = None,
    ) -> float:
        """Wait for all that end by themselves; seconds that passed.

        Args:
            timeout_s: most seconds that it may take.
            lost: asked once a second why they cannot go on; empty where they can.
            stopped: asked all the time whether nobody waits for them any more; they are killed then.

        Raises:
            OfframpError: one has failed: its rank, how it ended and the end of what it said; the others have ended.
        """
        begun = looked = time.monotonic()
        waiting = {os.pidfd_open(each.pid): number for number, each in enumerate(self.processes)}
        leading = self._size if self.leading is None else self.leading
        poll_s = _LOOK_S if stopped is None else _POLL_S
        grace_s = _GRACE_S if timeout_s is None else min(_GRACE_S, timeout_s * _GRACE_SHARE)
        try:
            while any(self.commands[number].ranks.start < leading for number in waiting.values()):
                now = time.monotonic()
                left = float("inf") if timeout_s is None else begun + timeout_s - now
                if stopped is not None and stopped():
                    grace_s = 0.0
                    raise OfframpError(f"job {self.job.name}: nobody waits for it any more")
                if left <= 0:
                    raise OfframpError(f"job {self.job.name}: has not ended within {timeout_s:.3g} s")
                if now - looked > _LOOK_S:
                    if reason := lost():
                        raise OfframpError(f"job {self.job.name}: {reason}")
                    looked = time.monotonic()
                ready = wait(list(waiting), min(left, poll_s))
                for descriptor in ready:
                    assert isinstance(descriptor, int)
                    number = waiting.pop(descriptor)
                    os.close(descriptor)
                    code = self.processes[number].wait()
                    if code:
                        raise OfframpError(self._failure(self.commands[number], code))
        finally:
            for descriptor in waiting:
                os.close(descriptor)
            self.stop(grace_s)
        return time.monotonic() - begun

    def stop(self, grace_s: float = _GRACE_S) -> None:
        """End the ranks that still run, within these seconds by themselves."""
        mildest, *harder = self._engine.ending
        for each in self.processes:
            if each.stdin is not None:
                with contextlib.suppress(OSError):
                    each.stdin.close()
            if each.poll() is None:
                each.send_signal(mildest)
        deadline = time.monotonic() + grace_s
        for each in self.processes:
            for number in harder:
                try:
                    each.wait(max(0.0, deadline - time.monotonic()))
                    break
                except subprocess.TimeoutExpired:
                    os.killpg(each.pid, number)  # what it has started, too, which would keep the port of rank 0
                    if number is not signal.SIGKILL:
                        deadline = time.monotonic() + min(grace_s, _HARDER_S)
            each.wait()

    @property
    def _engine(self) -> RankEngine:
        engine = self.engine if self.engine is not None else ENGINES.get("hosts")()
        assert isinstance(engine, RankEngine)
        return engine

    @property
    def _size(self) -> int:
        """Number of ranks."""
        return sum(each.processes for each in self.hosts)

    @property
    def _meeting(self) -> Path:
        """The file by which ranks on one machine meet."""
        return self.folder / f"meeting-{self.attempt}"

    def _local(self, rank: int) -> int:
        """Rank among those of its host."""
        names = [host.name for host in self.hosts for _ in range(host.processes)]
        return names[:rank].count(names[rank])

    def _placed(self) -> RankStart:
        """The ranks with their variables."""
        common = {name: os.environ[name] for name in _PASSED if name in os.environ}
        common |= {
            "MASTER_PORT": str(self.job.port),
            "OMP_NUM_THREADS": "1",
            "TORCHELASTIC_RESTART_COUNT": str(self.attempt),
            "OFFRAMP_JOB_FOLDER": str(self.folder.absolute()),
            "OFFRAMP_JOB_NAME": self.job.name,
        }
        if all(is_here(each) for each in self.hosts):
            common[MEETING] = str(self._meeting.absolute())
        if self.network is not None:
            common["OFFRAMP_NETWORK"] = str(self.network)
        given = dict(each.split("=", 1) for each in self.job.environment)
        hosts = [host for host in self.hosts for _ in range(host.processes)]
        own = [self._place(rank, self._local(rank), host) | given for rank, host in enumerate(hosts)]
        return RankStart(self.job.command, self.cluster, self.hosts, common | given, own, self.folder)

    def _place(self, rank: int, local: int, host: ClusterHost) -> dict[str, str]:
        place = {
            "RANK": str(rank),
            "WORLD_SIZE": str(self._size),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(host.processes),
            "MASTER_ADDR": "127.0.0.1" if host.reach == "local" else self.hosts[0].where,
        }
        name = "lo" if host.reach == "local" else interface(self.cluster, host)
        return place if name is None else place | {"GLOO_SOCKET_IFNAME": name}

    def _start(self, command: RankCommand) -> subprocess.Popen[bytes]:
        with (self.folder / command.log).open("ab") as log:
            try:
                return subprocess.Popen(
                    list(command.words),
                    stdin=subprocess.PIPE if command.held else subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=None if command.environment is None else os.environ | dict(command.environment),
                    process_group=0,
                )
            except OSError as error:
                raise OfframpError(f"{self._who(command.ranks.start)}: {error.filename}: {error.strerror}") from None

    def _failure(self, command: RankCommand, code: int) -> str:
        """What has failed, in a line: a rank where that is known, with the end of its log."""
        rank: int | None = command.ranks.start
        if len(command.ranks) > 1:
            rank = self._engine.failed_rank(self._said(command.log))
        if rank is not None and rank in command.ranks:
            said = self._said(f"rank-{rank}.log") or self._said(command.log)
            return f"job {self.job.name}: {ended_as(self._who(rank), code)}{_last_line(said)}"
        who = f"{Path(command.log).stem} of ranks {command.ranks.start} to {command.ranks.stop - 1}"
        return f"job {self.job.name}: {ended_as(who, code)}{_last_line(self._said(command.log))}"

    def _who(self, rank: int) -> str:
        host = [host.name for host in self.hosts for _ in range(host.processes)][rank]
        return f"rank {rank} on {host}"

    def _said(self, name: str) -> str:
        """The end of a log; empty without one."""
        path = self.folder / name
        return path.read_bytes()[-_TAIL:].decode("utf-8", "replace") if path.is_file() else ""


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if any(letter.isalnum() for letter in line)]
    return f": {lines[-1]}" if lines else ""
