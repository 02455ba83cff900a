# SPDX-License-Identifier: Apache-2.0
"""A cluster while a job runs: links and their queues, switches, agents, ranks, paths, and predictions."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, Final

from offramp.allreduce.control import LeaseTraffic
from offramp.cluster.model import Agent, Cluster, ClusterSwitch
from offramp.cluster.reach import command_on
from offramp.job.counters import link_bytes, of_hosts
from offramp.job.network import interface
from offramp.job.steps import read_paths, read_steps
from offramp.job.systems import all_reduce, has_switchgnn
from offramp.nic.connection import AgentConnection
from offramp.switchgnn.control import SwitchGnnControl
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

PLAN: Final = "plan.json"
"""File in the folder of ``offramp job run`` with what was predicted before anything ran."""
_TIMEOUT_S: Final = 5.0
_QUEUES: Final = 8
_HERMOD: Final = "HermodEgress."
_QUEUE_COUNTERS: Final = ("sent", "marked", "dropped")
_PLAN_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class SwitchLook:
    """The answer of a switch to one look.

    Attributes:
        answers: whether it answers.
        pages: pages of slots, if it runs all-reduce.
        taken: pages in use, by job.
        verdicts: packets by what they came to.
        traffic: traffic of each job that has pages, since it got them.
        queues: by port and queue (``"3/7"``), packets ``sent``, ``marked`` and ``dropped``, where its program
            counts them.
        passes: SwitchGNN's counts, if it runs that.
    """

    answers: bool
    pages: int = 0
    taken: dict[int, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    queues: dict[str, dict[str, int]] = field(default_factory=dict)
    passes: dict[str, int] = field(default_factory=dict)
    traffic: dict[int, LeaseTraffic] = field(default_factory=dict)


@dataclass(frozen=True)
class PortLook:
    """Frames of an agent's port; ``missed`` are those that it had no room for."""

    received: int
    sent: int
    missed: int


@dataclass(frozen=True)
class AgentLook:
    """The answer of a smartNIC's agent to one look.

    Attributes:
        answers: whether it answers.
        clients, requests: connected now, and carried out since it started.
        cut_off: clients that it has cut off.
        ports: ports by name.
    """

    answers: bool
    clients: int = 0
    requests: int = 0
    cut_off: int = 0
    ports: dict[str, PortLook] = field(default_factory=dict)


@dataclass(frozen=True)
class RankLook:
    """Steps of a rank.

    Attributes:
        step: number of the last one that ended.
        seconds: seconds that the step took.
        mean_s: mean of all but the first, or of the only one.
        parts: seconds of the last one of each part that the program names.
    """

    step: int
    seconds: float
    mean_s: float
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WayLook:
    """A row of the job's plan: seconds of a step by a way, as predicted; and measured, where it runs or has run."""

    taken: bool
    predicted_s: float | None
    measured_s: float | None
    why: str = ""


@dataclass(frozen=True)
class Look:
    """Observations at one moment.

    Attributes:
        at_s: time on the monotonic clock.
        links: bytes that each host has sent and received on its links.
        switches: switches by name.
        ranks: ranks by number.
        queues: bytes that wait at each host's first link now, and packets that it has dropped.
        agents: agents by ``HOST/AGENT``.
        paths: requests of each rank by path, where it runs an application of LEO.
        plan: plan by way.
    """

    at_s: float
    links: dict[str, tuple[int, int]]
    switches: dict[str, SwitchLook]
    ranks: dict[int, RankLook]
    queues: dict[str, tuple[int, int]] = field(default_factory=dict)
    agents: dict[str, AgentLook] = field(default_factory=dict)
    paths: dict[int, dict[str, int]] = field(default_factory=dict)
    plan: dict[str, WayLook] = field(default_factory=dict)

    def rates_bps(self, before: Look | None) -> dict[str, tuple[float, float]]:
        """Bits per second that each host sent and received since another moment; 0 without one."""
        seconds = self.at_s - before.at_s if before is not None else 0.0
        rates = {}
        for name, (sent, received) in self.links.items():
            was = before.links.get(name) if before is not None else None
            moved = (0, 0) if was is None else (sent - was[0], received - was[1])
            rates[name] = (moved[0] * 8 / seconds, moved[1] * 8 / seconds) if seconds > 0 else (0.0, 0.0)
        return rates


def look(cluster: Cluster, folder: Path | None) -> Look:
    """Look at everything; parts that do not answer are left out, or marked so.

    Args:
        cluster: whom.
        folder: folder into which the ranks of a run write, if it is to be shown; its plan lies in it or beside it.
    """
    there = folder is not None and folder.is_dir()
    return Look(
        time.monotonic(),
        of_hosts(cluster.hosts, cluster, link_bytes(cluster, nodes={host.name for host in cluster.hosts})),
        {each.name: _switch(each) for each in cluster.switches if each.control},
        _ranks(folder) if folder is not None and there else {},
        _queues(cluster),
        {f"{host.name}/{agent.name}": _agent(agent) for host in cluster.hosts for agent in host.agents},
        read_paths(folder) if folder is not None and there else {},
        _plan(folder) if folder is not None and there else {},
    )


def as_json(cluster: Cluster, now: Look, before: Look | None) -> dict[str, Any]:
    """A look for ``--json`` and for the page: with rates since the look before, and those of the links."""
    rates = {name: list(pair) for name, pair in now.rates_bps(before).items()}
    lines = {host.name: cluster.rate_bps(host.name) for host in cluster.hosts}
    return {"cluster": cluster.name, **asdict(now), "rates_bps": rates, "line_bps": lines}


def _ranks(folder: Path) -> dict[int, RankLook]:
    looks = {}
    for rank, rows in read_steps(folder).items():
        seconds = [(row["step"], (row["end_ns"] - row["begin_ns"]) / 1e9) for row in rows if row["what"] == "step"]
        if seconds:
            parts = {
                row["what"]: (row["end_ns"] - row["begin_ns"]) / 1e9
                for row in rows
                if row["what"] != "step" and "track" not in row
            }
            looks[rank] = RankLook(*seconds[-1], mean(each for _, each in seconds[1:] or seconds), parts)
    return looks


def _plan(folder: Path) -> dict[str, WayLook]:
    """The plan that the command wrote before it deployed, with what the ranks of each way have measured so far."""
    path = next((each / PLAN for each in (folder, folder.parent) if (each / PLAN).is_file()), None)
    if path is None:
        return {}
    try:
        rows = parse_json(read_text(path, _PLAN_BYTES))["plan"]
        return {str(row["offload"]): _way(row, path.parent) for row in rows}
    except (OfframpError, LookupError, TypeError, ValueError):  # it is being written, or is something else
        return {}


def _way(row: Mapping[str, Any], out: Path) -> WayLook:
    ranks = _ranks(out / str(row["offload"])).values()
    predicted = row["step_s"]
    return WayLook(
        bool(row["taken"]),
        None if predicted is None else float(predicted),
        max((rank.mean_s for rank in ranks), default=None),
        str(row["why"]),
    )


def _queues(cluster: Cluster) -> dict[str, tuple[int, int]]:
    queues = {}
    for host in cluster.hosts:
        name = interface(cluster, host)
        if name is None or host.reach == "local":
            continue
        words = ["tc", "-statistics", "-json", "qdisc", "show", "dev", name]
        try:
            done = subprocess.run(command_on(host, words), check=True, capture_output=True, timeout=_TIMEOUT_S)
            rows = [row for row in parse_json(done.stdout) if "parent" not in row]
            queues[host.name] = sum(row.get("backlog", 0) for row in rows), sum(row.get("drops", 0) for row in rows)
        except (OSError, subprocess.SubprocessError, OfframpError, TypeError, AttributeError):
            continue
    return queues


def _agent(agent: Agent) -> AgentLook:
    """Counters of an agent whose socket is on this machine; an agent elsewhere does not answer."""
    try:
        connection = AgentConnection(agent.socket)
    except OfframpError:
        return AgentLook(answers=False)
    try:
        stats = connection.stats()
        ports = {row["name"]: PortLook(row["received"], row["sent"], row["missed"]) for row in stats["ports"]}
        return AgentLook(True, stats["clients"] - 1, stats["requests"], stats["cut_off"], ports)  # but for this one
    except (OfframpError, LookupError, TypeError):
        return AgentLook(answers=False)
    finally:
        connection.close()


def _switch(switch: ClusterSwitch) -> SwitchLook:
    session = Session(switch.control or "", device_id=switch.device, timeout_s=_TIMEOUT_S)
    try:
        session.capabilities()
        queues, control = _switch_queues(session), all_reduce(session)
        passes = SwitchGnnControl(session).counters() if has_switchgnn(session) else {}
        if control is None:
            return SwitchLook(True, queues=queues, passes=passes)
        pages_used, traffic = control.pages_by_job(), control.traffic()
        return SwitchLook(True, control.pages, pages_used, control.outcomes(), queues, passes, traffic)
    except OfframpError:
        return SwitchLook(answers=False)
    finally:
        session.close()


def _switch_queues(session: Session) -> dict[str, dict[str, int]]:
    """Non-zero counters of Hermod's program, by port and queue; empty for other programs."""
    queues: dict[str, dict[str, int]] = {}
    for what in _QUEUE_COUNTERS:
        try:
            cells = session.read_counter(_HERMOD + what)
        except OfframpError:
            return {}
        for index, (packets, _) in cells.items():
            if packets:
                port, queue = divmod(index, _QUEUES)
                queues.setdefault(f"{port}/{queue}", dict.fromkeys(_QUEUE_COUNTERS, 0))[what] = packets
    return queues
