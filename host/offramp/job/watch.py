# SPDX-License-Identifier: Apache-2.0
"""A cluster while a job runs: links, switches, ranks; for people, and as metrics for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from offramp.allreduce.control import AllReduceControl
from offramp.cluster.model import Cluster, Switch
from offramp.job.run import link_bytes
from offramp.job.steps import read_steps
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class SwitchLook:
    """What a switch says.

    Attributes:
        answers: whether it does.
        pages: of slots, if it runs all-reduce.
        taken: of them, by job.
        verdicts: packets by what they came to.
    """

    answers: bool
    pages: int = 0
    taken: dict[int, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """One moment.

    Attributes:
        at_s: of the monotonic clock.
        links: bytes that each host has sent and received on its first link.
        switches: by name.
        ranks: number and seconds of the last step of each rank.
    """

    at_s: float
    links: dict[str, tuple[int, int]]
    switches: dict[str, SwitchLook]
    ranks: dict[int, tuple[int, float]]

    def rates_bps(self, before: Look | None) -> dict[str, tuple[float, float]]:
        """Bits per second that each host sent and received since another moment; 0 without one."""
        seconds = self.at_s - before.at_s if before is not None else 0.0
        found = {}
        for name, (sent, received) in self.links.items():
            was = before.links.get(name) if before is not None else None
            moved = (0, 0) if was is None else (sent - was[0], received - was[1])
            found[name] = (moved[0] * 8 / seconds, moved[1] * 8 / seconds) if seconds > 0 else (0.0, 0.0)
        return found


def look(cluster: Cluster, folder: Path | None) -> Look:
    """Ask everybody; who does not answer is not in it, or said not to.

    Args:
        cluster: whom.
        folder: where the ranks of a run write, if that is to be seen.
    """
    switches = {each.name: _switch(each) for each in cluster.switches if each.control}
    ranks = {}
    for rank, rows in (read_steps(folder) if folder is not None and folder.is_dir() else {}).items():
        steps = [row for row in rows if row["what"] == "step"]
        if steps:
            ranks[rank] = steps[-1]["step"], (steps[-1]["end_ns"] - steps[-1]["begin_ns"]) / 1e9
    return Look(time.monotonic(), link_bytes(cluster, cluster.hosts), switches, ranks)


def _switch(switch: Switch) -> SwitchLook:
    session = Session(switch.control or "", device_id=switch.device, timeout_s=_TIMEOUT_S)
    try:
        session.capabilities()
        try:
            control = AllReduceControl(session)
        except OfframpError:  # another program
            return SwitchLook(answers=True)
        taken: dict[int, int] = {}
        for job in control._taken().values():
            taken[job] = taken.get(job, 0) + 1
        return SwitchLook(True, control.pages, taken, control.outcomes())
    except OfframpError:
        return SwitchLook(answers=False)
    finally:
        session.close()


def metrics(cluster: Cluster, now: Look) -> str:
    """The same in Prometheus' text format."""
    return "".join(f"{line}\n" for line in _metrics(cluster, now))


def _metrics(cluster: Cluster, now: Look) -> Iterator[str]:
    where = f'cluster="{cluster.name}"'
    yield "# HELP offramp_link_bytes_total Bytes on a host's first link."
    yield "# TYPE offramp_link_bytes_total counter"
    for name, both in now.links.items():
        for way, count in zip(("sent", "received"), both, strict=True):
            yield f'offramp_link_bytes_total{{{where},host="{name}",direction="{way}"}} {count}'
    yield "# HELP offramp_switch_up Whether a switch answers."
    yield "# TYPE offramp_switch_up gauge"
    for name, each in now.switches.items():
        yield f'offramp_switch_up{{{where},switch="{name}"}} {int(each.answers)}'
    yield "# HELP offramp_switch_pages Pages of slots of all-reduce; of a job those that it has."
    yield "# TYPE offramp_switch_pages gauge"
    for name, each in now.switches.items():
        yield f'offramp_switch_pages{{{where},switch="{name}",job=""}} {each.pages}'
        for job, pages in each.taken.items():
            yield f'offramp_switch_pages{{{where},switch="{name}",job="{job}"}} {pages}'
    yield "# HELP offramp_switch_packets_total Packets by what they came to in all-reduce."
    yield "# TYPE offramp_switch_packets_total counter"
    for name, each in now.switches.items():
        for verdict, count in each.verdicts.items():
            yield f'offramp_switch_packets_total{{{where},switch="{name}",verdict="{verdict}"}} {count}'
    for metric, help_text, at in (
        ("offramp_rank_step", "Number of the last step of a rank.", 0),
        ("offramp_rank_step_seconds", "Seconds of the last step of a rank.", 1),
    ):
        yield f"# HELP {metric} {help_text}"
        yield f"# TYPE {metric} gauge"
        for rank, row in now.ranks.items():
            yield f'{metric}{{{where},rank="{rank}"}} {row[at]:g}'
