# SPDX-License-Identifier: Apache-2.0
"""Deploy a plan, run the ranks, take everything away: one transaction."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from offramp.cluster.forwarding import ports_of_hosts
from offramp.cluster.model import Cluster, Host, Switch
from offramp.cluster.reach import command_on
from offramp.job.calibrate import FILE, description
from offramp.job.graph import command_of, epoch_s
from offramp.job.later import undo_later
from offramp.job.network import Admitted, Way, check_links, interface, network_text
from offramp.job.ranks import Ranks
from offramp.job.settings import JobSettings
from offramp.job.switches import JobOnSwitch
from offramp.job.transaction import Transaction
from offramp.job.tree import roles
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.listening.token import Token

Note = Callable[[str, str], None]
_LOOK_S: Final = 10.0
_EPOCHS: Final = 6
"""Of a calibration; the first is not counted."""


def _silent(what: str, name: str) -> None:
    """Nobody wants to know."""


@dataclass
class RunResult:
    """What a run did.

    Attributes:
        seconds: from the start of the ranks to the end of the last one, of the attempt that ended well.
        attempts: how often it was started.
        bytes_by_link: sent and received by each host on its first link, while the ranks ran.
        steps: of deploying, in order.
    """

    seconds: float
    attempts: int
    bytes_by_link: dict[str, tuple[int, int]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


def deployment(job: JobSettings, cluster: Cluster, hosts: Sequence[Host], number: int) -> list[JobOnSwitch]:
    """The steps on switches for sums in the network, leaves first; checked before anything is touched.

    Raises:
        OfframpError: names file and line of what cannot take the job.
    """
    check_links(cluster, hosts)
    ports = ports_of_hosts(cluster)
    made = []
    for name, role in roles(cluster, hosts).items():
        switch = cluster.by_name[name]
        assert isinstance(switch, Switch)
        step = JobOnSwitch(switch, cluster.place(name), role, ports[name], number, job.pages, job.segments)
        step.check()
        made.append(step)
    return made


@contextmanager
def deployed(
    job: JobSettings, cluster: Cluster, ways: Sequence[Way], folder: Path, note: Note = _silent
) -> Iterator[Path]:
    """Put everything there that the ranks need for these ways; the file for ``OFFRAMP_NETWORK``.

    Raises:
        OfframpError: something cannot be put there; what was is taken away.
    """
    hosts = job.hosts_of(cluster)
    number = random.SystemRandom().randrange(1, 1 << 32)
    wanted = deployment(job, cluster, hosts, number) if Way.SWITCH in ways else []
    with Transaction(note, partial(undo_later, cluster) if wanted else None) as transaction:
        for step in wanted:
            transaction.apply(step)
        known = Admitted(number, job.segments) if wanted else None
        path = folder / "network.yaml"
        if len(ways) == 1:
            text = network_text(ways[0], job, cluster, hosts, known, folder)
        else:
            merged: dict[str, Any] = {}
            for way in ways:
                merged |= yaml.safe_load(network_text(way, job, cluster, hosts, known, folder))
            merged["offloads"] = [f"{description(way)}:{way}" for way in ways if way is not Way.GLOO]
            text = yaml.safe_dump(merged | {"least": 0}, sort_keys=False)
        write_text(path, text)
        yield path


def run_job(job: JobSettings, cluster: Cluster, way: Way, folder: Path, note: Note = _silent) -> RunResult:
    """Run a job with its all-reduces by one way; a rank that dies has it started again, up to ``restarts`` times.

    Args:
        job: what runs.
        cluster: where.
        way: who sums.
        folder: for logs and what ranks write.
        note: told each step, as :class:`~offramp.job.transaction.Transaction` tells it.

    Raises:
        OfframpError: it cannot be deployed, or a rank failed once too often.
    """
    hosts = job.hosts_of(cluster)
    steps: list[str] = []

    def hear(what: str, name: str) -> None:
        steps.append(f"{what} {name}")
        note(what, name)

    count = sum(host.processes for host in hosts)
    job = _with_token(job if job.train is None else command_of(job, way, count, folder), folder)
    for attempt in range(job.restarts + 1):
        with deployed(job, cluster, [way], folder, hear) as network:
            ranks = Ranks(job, cluster, hosts, network, folder, attempt)
            before = link_bytes(cluster, hosts)
            hear("start", f"{count} ranks")
            try:
                ranks.start()
                seconds = ranks.wait()
            except OfframpError as error:
                if attempt == job.restarts:
                    raise
                hear("restart", str(error))
                continue
            after = link_bytes(cluster, hosts)
        moved = {name: (after[name][0] - sent, after[name][1] - got) for name, (sent, got) in before.items()}
        return RunResult(seconds, attempt + 1, moved, steps)
    raise AssertionError("the last attempt returns or raises")


def calibrate(
    job: JobSettings,
    cluster: Cluster,
    ways: Sequence[Way],
    size: int,
    folder: Path,
    timeout_s: float,
    note: Note = _silent,
) -> Mapping[Way, float]:
    """Seconds of an all-reduce of ``size`` bytes by each way that works on the cluster.

    Raises:
        OfframpError: it cannot be deployed or run, or takes too long.
    """
    if job.train is not None:
        return _calibrate_graph(job, cluster, ways, folder, timeout_s)
    words = (sys.executable, "-m", "offramp.job.calibrate", str(size), *ways)
    probe = _with_token(replace(job, command=words, name=f"{job.name} (calibration)"), folder)
    hosts = probe.hosts_of(cluster)
    with deployed(probe, cluster, ways, folder, note) as network:
        ranks = Ranks(probe, cluster, hosts, network, folder)
        ranks.start()
        ranks.wait(timeout_s)
    found = parse_json(read_text(folder / FILE))
    return {Way(way): float(seconds) for way, seconds in found.items()}


def _calibrate_graph(
    job: JobSettings, cluster: Cluster, ways: Sequence[Way], folder: Path, timeout_s: float
) -> Mapping[Way, float]:
    """The training itself for a few epochs by each way, as far as time allows."""
    deadline = time.monotonic() + timeout_s
    found: dict[Way, float] = {}
    for way in ways:
        if (left := deadline - time.monotonic()) <= 0:
            break
        mine = folder / str(way)
        mine.mkdir(exist_ok=True)
        count = sum(host.processes for host in job.hosts_of(cluster))
        probe = _with_token(command_of(job, way, count, mine, _EPOCHS), mine)
        ranks = Ranks(probe, cluster, probe.hosts_of(cluster), None, mine)
        try:
            ranks.start()
            ranks.wait(left)
        except OfframpError:  # the plan says that it could not be measured
            continue
        seconds = epoch_s(mine)
        if seconds is not None:
            found[way] = seconds
    return found


def link_bytes(cluster: Cluster, hosts: Sequence[Host]) -> dict[str, tuple[int, int]]:
    """Bytes that each host has sent and received on its first link since it is up; nothing of hosts that do not say."""
    found = {}
    for host in hosts:
        name = interface(cluster, host)
        if name is None or host.reach == "local":
            continue
        words = ["ip", "-json", "-statistics", "link", "show", "dev", name]
        try:
            done = subprocess.run(command_on(host, words), check=True, capture_output=True, timeout=_LOOK_S)
            stats = parse_json(done.stdout)[0]["stats64"]
            found[host.name] = int(stats["tx"]["bytes"]), int(stats["rx"]["bytes"])
        except (OSError, subprocess.SubprocessError, OfframpError, LookupError, TypeError, ValueError):
            continue
    return found


def _with_token(job: JobSettings, folder: Path) -> JobSettings:
    """With a token of the job's own, which Hermod's endpoints ask for, unless it has one."""
    path = folder / "job.token"
    if any(each.startswith("OFFRAMP_TOKEN_FILE=") for each in job.environment):
        return job
    if not path.exists():
        Token.random().write(path)
    return replace(job, environment=(*job.environment, f"OFFRAMP_TOKEN_FILE={path}"))
