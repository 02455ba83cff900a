# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job: a process for each, where its host is, with what torchrun would have set."""

from __future__ import annotations

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
from offramp.cluster.reach import command_on, is_here
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
    """

    job: JobSettings
    cluster: Cluster
    hosts: Sequence[ClusterHost]
    network: Path | None
    folder: Path
    attempt: int = 0
    leading: int | None = None
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """Start them.

        Raises:
            OfframpError: a host that is not reached; what was started has ended.
        """
        self._meeting.unlink(missing_ok=True)
        try:
            for rank, host in enumerate(h for h in self.hosts for _ in range(h.processes)):
                self.processes.append(self._start(rank, self._local(rank), host))
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
        waiting = {os.pidfd_open(each.pid): rank for rank, each in enumerate(self.processes)}
        leading = len(self.processes) if self.leading is None else self.leading
        poll_s = _LOOK_S if stopped is None else _POLL_S
        grace_s = _GRACE_S if timeout_s is None else min(_GRACE_S, timeout_s * _GRACE_SHARE)
        try:
            while any(rank < leading for rank in waiting.values()):
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
                    rank = waiting.pop(descriptor)
                    os.close(descriptor)
                    code = self.processes[rank].wait()
                    if code:
                        raise OfframpError(self._failure(rank, code))
        finally:
            for descriptor in waiting:
                os.close(descriptor)
            self.stop(grace_s)
        return time.monotonic() - begun

    def stop(self, grace_s: float = _GRACE_S) -> None:
        """End the ranks that still run, within these seconds by themselves."""
        for each in self.processes:
            if each.poll() is None:
                each.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        for each in self.processes:
            try:
                each.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(each.pid, signal.SIGKILL)  # what it has started, too, which would keep the port of rank 0
                each.wait()

    @property
    def _meeting(self) -> Path:
        """The file by which ranks on one machine meet."""
        return self.folder / f"meeting-{self.attempt}"

    def _local(self, rank: int) -> int:
        """Rank among those of its host."""
        names = [host.name for host in self.hosts for _ in range(host.processes)]
        return names[:rank].count(names[rank])

    def _start(self, rank: int, local: int, host: ClusterHost) -> subprocess.Popen[bytes]:
        size = sum(each.processes for each in self.hosts)
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        environment |= {
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(host.processes),
            "MASTER_ADDR": "127.0.0.1" if host.reach == "local" else self.hosts[0].where,
            "MASTER_PORT": str(self.job.port),
            "OMP_NUM_THREADS": "1",
            "TORCHELASTIC_RESTART_COUNT": str(self.attempt),
            "OFFRAMP_JOB_FOLDER": str(self.folder),
            "OFFRAMP_JOB_NAME": self.job.name,
        }
        if all(is_here(each) for each in self.hosts):
            environment[MEETING] = str(self._meeting.absolute())
        name = "lo" if host.reach == "local" else interface(self.cluster, host)
        if name is not None:
            environment["GLOO_SOCKET_IFNAME"] = name
        if self.network is not None:
            environment["OFFRAMP_NETWORK"] = str(self.network)
        environment |= dict(each.split("=", 1) for each in self.job.environment)
        with (self.folder / f"rank-{rank}.log").open("ab") as log:
            try:
                return subprocess.Popen(
                    command_on(host, self.job.command, environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    process_group=0,
                )
            except OSError as error:
                raise OfframpError(f"rank {rank} on {host.name}: {error.filename}: {error.strerror}") from None

    def _failure(self, rank: int, code: int) -> str:
        raw = (self.folder / f"rank-{rank}.log").read_bytes()[-_TAIL:]
        lines = [line for line in raw.decode("utf-8", "replace").strip().splitlines() if line.strip()]
        last_line = f": {lines[-1].strip()}" if lines else ""
        host = [host.name for host in self.hosts for _ in range(host.processes)][rank]
        return f"job {self.job.name}: {ended_as(f'rank {rank} on {host}', code)}{last_line}"
