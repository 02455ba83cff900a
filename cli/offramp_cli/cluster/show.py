# SPDX-License-Identifier: Apache-2.0
"""``offramp cluster check`` and ``show``: check a cluster file, and show its contents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_cli import show as printing
from offramp_cli.command import command
from offramp_cli.result import Plotted, Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.cluster import Cluster


@dataclass(frozen=True)
class File:
    """A cluster file."""

    cluster: Annotated[Path, Field("A cluster file, YAML or TOML", position=True)]


@command(File, Result, example="cluster check cluster.yaml")
def check(given: File, result: Result) -> None:
    """Check a cluster file: fields, units, names, addresses, ports, links, and that every host reaches every other."""
    cluster = _read(given.cluster)
    counts = _counts(cluster)
    printing.console().print(f"{given.cluster}: {', '.join(printing.count(n, what) for what, n in counts.items())}")
    result.write("offramp.cluster.check/1", {"name": cluster.name, "counts": counts})


@command(File, Plotted, example="cluster show cluster.yaml --plot cluster.svg")
def show(given: File, outputs: Plotted) -> None:
    """Show hosts, switches and links of a cluster file, and the paths between its racks."""
    cluster = _read(given.cluster)
    console = printing.console()
    _print(console, cluster)
    outputs.write("offramp.cluster/1", as_json(cluster))
    if outputs.plot is not None:
        from offramp_sim.lab.picture import draw

        outputs.draw(lambda path: draw(cluster, path))


def as_json(cluster: Cluster) -> dict[str, Any]:
    """The contents of a file as JSON, with the numbers of all ports."""
    from dataclasses import asdict
    from math import isinf

    nodes = {part: [asdict(each) for each in getattr(cluster, part)] for part in ("hosts", "switches", "dimensions")}
    links = [
        {"ends": [str(each.a), str(each.b)], "rate_bps": each.rate_bps, "delay_ns": each.delay_ns}
        for each in cluster.links
    ]
    failures = [
        {"link": list(each.nodes), "at_ns": each.start_ns, "until_ns": None if isinf(each.end_ns) else each.end_ns}
        for each in cluster.failures
    ]
    return {"name": cluster.name, **nodes, "links": links, "routing": cluster.routing, "failures": failures}


def _read(path: Path) -> Cluster:
    from offramp.cluster import read_cluster
    from offramp.cluster.routes import check_connected

    cluster = read_cluster(path)
    if cluster.links:
        check_connected(cluster)
    return cluster


def _counts(cluster: Cluster) -> dict[str, int]:
    parts = {"host": cluster.hosts, "rank": cluster.ranks, "switch": cluster.switches, "link": cluster.links}
    counts = {what: len(each) for what, each in parts.items()}
    if cluster.failures:
        counts["failure"] = len(cluster.failures)
    counts["dimension"] = len(cluster.dimensions)
    counts["agent"] = sum(len(host.agents) for host in cluster.hosts)
    counts["card"] = sum(len(host.cards) for host in cluster.hosts)
    return counts


def _print(console: Console, cluster: Cluster) -> None:
    from math import isinf

    from offramp.report.units import duration, si

    hosts = printing.table(
        "host", "address", "cores", "GPUs", "memory", "ranks", "rate", "in it", left=("host", "in it")
    )
    for host in cluster.hosts:
        inside = [*(f"agent {each.name}" for each in host.agents), *(f"card {each.name}" for each in host.cards)]
        memory = "" if host.memory is None else si(host.memory, "B")
        rate = si(cluster.rate_bps(host.name), "bit/s")
        counts = map(str, (host.cores, host.gpus))
        hosts.add_row(host.name, host.address or "", *counts, memory, str(host.processes), rate, ", ".join(inside))
    switches = printing.table(
        "switch", "target", "control", "memory", "queues", "ports used", left=("switch", "control")
    )
    for each in cluster.switches:
        used = f"{len(cluster.links_of[each.name])} of {each.ports}"
        switches.add_row(each.name, each.target, each.control or "", si(each.memory, "B"), str(each.queues), used)
    links = printing.table("link", " ", "rate", "delay", left=("link", " "))
    for link in cluster.links:
        delay = duration(link.delay_ns * 1e-9) if link.delay_ns else ""
        links.add_row(str(link.a), str(link.b), si(link.rate_bps, "bit/s"), delay)
    for table in (hosts, switches, links):
        if table.row_count:
            console.print(table)
            console.print()
    if cluster.routing != "destination":
        console.print(f"routing: {cluster.routing}")
    for failure in cluster.failures:
        until = "" if isinf(failure.end_ns) else f" until {duration(failure.end_ns * 1e-9)}"
        console.print(f"{failure.nodes[0]} - {failure.nodes[1]} fails at {duration(failure.start_ns * 1e-9)}{until}")
    if cluster.dimensions:
        shape = " x ".join(f"{each.size} ({each.type}, {si(each.rate_bps, 'bit/s')})" for each in cluster.dimensions)
        console.print(f"ranks: {shape}")
