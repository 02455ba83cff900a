# SPDX-License-Identifier: Apache-2.0
"""``offramp job top``: links, switches and ranks while a job runs."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base.settings.field import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.job.job import Where
from offramp_cli.result import OUTPUT, Result, write_file

if TYPE_CHECKING:
    from rich.console import Group

    from offramp.cluster import Cluster
    from offramp.job.watch import Look


@dataclass(frozen=True)
class TopSettings(Where):
    """What is watched, and for how long."""

    out: Annotated[Path | None, Field("Folder of the run, for its ranks: as of offramp job run")] = None
    interval_s: Annotated[float, Field("Seconds between looks", key="interval", above=0, most=3600)] = 1.0
    looks: Annotated[int | None, Field("So many, then end; without: until Ctrl-C", least=1)] = None
    prometheus: Annotated[
        Path | None, Field("Write metrics into this file at each look", group=OUTPUT, written=True)
    ] = None


@command(TopSettings, Result, example="job top --on lab --out job-out")
def top(settings: TopSettings, result: Result) -> None:
    """Show hosts' links, switches' pages and verdicts, ranks and their steps, again and again."""
    from rich.live import Live

    from offramp.job.watch import look, metrics

    cluster = settings.cluster()
    console = show.console()
    before = None
    done = 0
    with Live(console=console, auto_refresh=False) as live:
        while True:
            now = look(cluster, _latest(settings.out))
            live.update(_shown(cluster, now, before), refresh=True)
            if settings.prometheus is not None:
                write_file("prometheus", settings.prometheus, metrics(cluster, now))
            done += 1
            if settings.looks is not None and done >= settings.looks:
                break
            before = now
            time.sleep(settings.interval_s)
    rates = {name: list(both) for name, both in now.rates_bps(before).items()}
    result.write("offramp.job.top/1", {"cluster": cluster.name, **asdict(now), "rates_bps": rates})


def _latest(out: Path | None) -> Path | None:
    """The folder of the run that is on: the one that was written last."""
    if out is None or not out.is_dir():
        return None
    folders = [each for each in out.iterdir() if each.is_dir()]
    return max(folders, key=lambda each: each.stat().st_mtime, default=out)


def _shown(cluster: Cluster, now: Look, before: Look | None) -> Group:
    from rich.console import Group

    from offramp.report.units import duration, percent, si

    links = show.table("host", "sends", "of its link", "receives")
    for name, (sent, received) in now.rates_bps(before).items():
        share = percent(sent / cluster.rate_bps(name)) if cluster.rate_bps(name) else ""
        links.add_row(name, si(sent, "bit/s"), share, si(received, "bit/s"))
    switches = show.table("switch", "pages taken", "jobs", "sums", "again", "strangers")
    for name, each in now.switches.items():
        counts = [str(each.verdicts.get(what, "")) for what in ("completed", "repeated", "stranger")]
        pages = f"{sum(each.taken.values())} of {each.pages}" if each.pages else "" if each.answers else "no answer"
        switches.add_row(name, pages, str(len(each.taken) or ""), *counts)
    ranks = show.table("rank", "step", "took")
    for rank, (number, seconds) in sorted(now.ranks.items()):
        ranks.add_row(str(rank), str(number), duration(seconds))
    return Group(*(table for table in (links, switches, ranks) if table.row_count))
