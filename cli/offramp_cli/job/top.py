# SPDX-License-Identifier: Apache-2.0
"""``offramp job top``: links, switches and ranks while a job runs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from offramp_base import Field, SettingsError
from offramp_base.extras import needs
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.job.job import Where
from offramp_cli.result import OUTPUT, Result, write_file

if TYPE_CHECKING:
    from rich.console import Console, Group

    from offramp.cluster import Cluster
    from offramp.job.watch import Look

WEB: Final = "127.0.0.1:0"
"""Default address of the web page."""


@dataclass(frozen=True)
class TopSettings(Where):
    """The cluster to watch, and for how long."""

    out: Annotated[Path | None, Field("Folder of the run (offramp job run --out), to show its ranks")] = None
    interval_s: Annotated[float, Field("Seconds between looks", key="interval", above=0, most=3600)] = 1.0
    looks: Annotated[int | None, Field("End after this many looks; by default, run until Ctrl-C", least=1)] = None
    web: Annotated[
        str | None,
        Field(
            "Serve a page, and metrics at /metrics, here: HOST:PORT of this machine (port 0: a free one) or unix:PATH",
            metavar="[ADDRESS]",
        ),
    ] = None
    otlp: Annotated[
        str | None,
        Field("Send metrics, and steps as traces, to this collector of OpenTelemetry", group=OUTPUT, metavar="URL"),
    ] = None
    prometheus: Annotated[Path | None, Field("Write metrics to this file at each look", written=True)] = None


@command(TopSettings, Result, example="job top --on lab --out job-out")
def top(settings: TopSettings, result: Result) -> None:
    """Show links, switches, agents, ranks and their steps, refreshed until the end; on a web page with --web."""
    cluster = settings.cluster()
    console = show.console()
    with _sink(settings, cluster) as send:
        if settings.web is not None:
            _serve(settings, cluster, console, result, send)
        else:
            _refresh(settings, cluster, console, result, send)


Send = Callable[["Look", Path | None], None]


@contextmanager
def _sink(settings: TopSettings, cluster: Cluster) -> Iterator[Send]:
    """A function that takes each look, and the folder of its run, to files and collectors."""
    from offramp.job.metrics import metrics

    telemetry = None
    if settings.otlp is not None:
        from offramp.job.telemetry import Telemetry

        telemetry = Telemetry(settings.otlp, cluster)

    def send(now: Look, folder: Path | None) -> None:
        if settings.prometheus is not None:
            write_file("prometheus", settings.prometheus, metrics(cluster, now))
        if telemetry is not None:
            telemetry.send(now, folder)

    yield send
    if telemetry is not None:
        telemetry.close()


def _refresh(settings: TopSettings, cluster: Cluster, console: Console, result: Result, send: Send) -> None:
    from rich.live import Live

    from offramp.job import look
    from offramp.job.watch import as_json

    before = None
    done = 0
    with Live(console=console, auto_refresh=False) as live:
        while True:
            folder = _latest(settings.out)
            now = look(cluster, folder)
            live.update(_shown(cluster, now, before), refresh=True)
            send(now, folder)
            done += 1
            if settings.looks is not None and done >= settings.looks:
                break
            before = now
            time.sleep(settings.interval_s)
    result.write("offramp.job.top/1", as_json(cluster, now, before))


def _with_address(words: list[str]) -> list[str]:
    """Give ``--web`` without an address the default one."""
    arguments = list(words)
    if "--web" in arguments:
        at = arguments.index("--web") + 1
        if at == len(arguments) or arguments[at].startswith("-"):
            arguments.insert(at, WEB)
    return arguments


top.rewrite = _with_address


def _serve(settings: TopSettings, cluster: Cluster, console: Console, result: Result, send: Send) -> None:
    import asyncio
    from importlib.util import find_spec

    from offramp.job import look
    from offramp.job.web.server import Watcher, listen, serve

    assert settings.web is not None
    if find_spec("aiohttp") is None:
        raise SettingsError("web", needs("aiohttp"))
    sock, address = listen(settings.web)

    def sample() -> Look:
        folder = _latest(settings.out)
        now = look(cluster, folder)
        send(now, folder)
        return now

    async def run() -> str:
        watcher = Watcher(cluster, sample, settings.interval_s, settings.looks)
        await serve(sock, watcher)
        return watcher.json()

    url = str(address) if str(address).startswith("unix:") else f"http://{address}/"
    console.print(f"{cluster.name}: {url}", soft_wrap=True)
    sys.stdout.flush()
    last = asyncio.run(run())
    result.write("offramp.job.top/1", json.loads(last))


def _latest(out: Path | None) -> Path | None:
    """The folder of the present run: the one that was written last."""
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
    jobs = show.table("switch", "job", "pages taken", "packets", "bytes", "sums")
    for name, each in now.switches.items():
        for number, traffic in each.traffic.items():
            numbers = (each.taken.get(number, 0), traffic.packets, traffic.octets, traffic.sums)
            jobs.add_row(name, str(number), *map(str, numbers))
    ranks = show.table("rank", "step", "took", "on average")
    for rank, steps in sorted(now.ranks.items()):
        ranks.add_row(str(rank), str(steps.step), duration(steps.seconds), duration(steps.mean_s))
    agents = show.table("agent", "clients", "requests", "sent", "received", "missed")
    for name, agent in now.agents.items():
        ports = agent.ports.values()
        frames = (sum(getattr(port, what) for port in ports) for what in ("sent", "received", "missed"))
        cells = [str(agent.clients), str(agent.requests), *map(str, frames)]
        agents.add_row(name, *(cells if agent.answers else ["no answer"]))
    plan = show.table("by", "taken", "predicted", "measured")
    for way, row in now.plan.items():
        times = ("" if each is None else duration(each) for each in (row.predicted_s, row.measured_s))
        plan.add_row(way, "yes" if row.taken else "", *times)
    paths = show.table("rank", "path", "requests")
    for rank, requests_by in sorted(now.paths.items()):
        for path, requests in requests_by.items():
            paths.add_row(str(rank), path, str(requests))
    return Group(*(table for table in (links, switches, jobs, agents, plan, ranks, paths) if table.row_count))
