# SPDX-License-Identifier: Apache-2.0
"""Builds a cluster of hosts, switches and links without port numbers, checked like a cluster file.

Every importer ends here, so that all of them keep one promise: what comes out reads back from its own text, and every
host reaches every other over switches.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.model import FASTEST_BPS, MOST_PORTS, Cluster, ClusterDimension
from offramp.cluster.names import some
from offramp.cluster.read import cluster_of, parse_cluster
from offramp.cluster.routes import distances, two_apart
from offramp.cluster.write import cluster_text
from offramp_base.errors import OfframpError
from offramp_base.settings.source import SourceFile
from offramp_base.settings.units import BITS_PER_SECOND, nanoseconds_shown

Parts = dict[str, list[dict[str, Any]]]
"""Hosts, switches, links and dimensions as rows of a cluster file; switches without ``ports`` get as many as needed."""
FLAT: Final = "flat"
"""Name of the switch that joins what the files leave apart."""
_USUAL_PORTS: Final = 32


def build(origin: str, name: str, parts: Parts, defaults: Defaults, missing: str) -> Cluster:
    """The cluster of a file with these parts.

    Args:
        origin: the file, for messages.
        name: the cluster's.
        parts: its rows.
        defaults: whether one switch may join what is apart.
        missing: what the files should have said so that hosts reach each other, after "expected".

    Raises:
        OfframpError: what cannot be, named by the part; lines would be those of a text that nobody has seen.
    """
    if not parts.get("hosts") and not parts.get("dimensions"):
        raise OfframpError(f"{origin}: no hosts: expected {missing}")
    cluster = _checked(origin, name, parts)
    apart = two_apart(cluster)
    if apart is not None:
        if not defaults.flat:
            problem = (
                f"no way from {apart[0]} to {apart[1]}"
                if cluster.links
                else f"{len(cluster.hosts)} hosts without links"
            )
            raise OfframpError(f"{origin}: {problem}: expected {missing}; or --flat, and one switch joins them")
        parts = _joined(cluster, parts, defaults)
        cluster = _checked(origin, name, parts)
    reached = distances(cluster, cluster.hosts[0].name) if cluster.hosts else {}
    stray = {switch.name for switch in cluster.switches} - reached.keys()
    if stray:
        defaults.note(
            f"left out: {some(sorted(stray))}: {cluster.hosts[0].name} does not reach them, and needs none of them"
        )
        cluster = _checked(origin, name, _without(parts, stray))
    return _read_back(origin, cluster)


def clean(name: str) -> str:
    """A name of the letters that cluster files have for names."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:63].strip("-._") or "cluster"


def speed(defaults: Defaults, rate_bps: int | None = None, delay_ns: float | None = None) -> dict[str, Any]:
    """Fields of a link, those of the defaults where a file says nothing."""
    delay = defaults.delay_ns if delay_ns is None else delay_ns
    row: dict[str, Any] = {"rate": defaults.rate_bps if rate_bps is None else rate_bps}
    return row | ({"delay": nanoseconds_shown(delay)} if delay else {})


def fields_of(each: ClusterDimension) -> dict[str, Any]:
    """The row of a dimension."""
    return {
        "type": each.type,
        "size": each.size,
        "rate": each.rate_bps,
        "latency": nanoseconds_shown(each.latency_ns),
    }


def inside(rate_bps: int | None) -> dict[str, int]:
    """The field of a host whose GPUs exchange with each other at a rate, where cluster files have it."""
    return {"inside": min(rate_bps, FASTEST_BPS)} if rate_bps else {}


def _checked(origin: str, name: str, parts: Parts) -> Cluster:
    parts = _with_ports(origin, parts)
    data = {"name": clean(name)} | {part: rows for part, rows in parts.items() if rows}
    try:
        return cluster_of(SourceFile("cluster.yaml", data, {}), "cluster")
    except OfframpError as error:
        raise OfframpError(f"{origin}: {re.sub(r'^cluster.yaml:[0-9]+: ', '', str(error))}") from None


def _read_back(origin: str, cluster: Cluster) -> Cluster:
    try:
        return parse_cluster(cluster_text(cluster), "cluster.yaml")
    except OfframpError as error:
        size = f"{len(cluster.hosts)} hosts and {len(cluster.links)} links"
        problem = re.sub(r"^cluster.yaml:[0-9]*:? ?", "", str(error))
        raise OfframpError(f"{origin}: {size} do not fit into a cluster file: {problem}") from None


def _node(end: str) -> str:
    return end.partition(":")[0]


def _with_ports(origin: str, parts: Parts) -> Parts:
    """The rows, with a number of ports at each switch that its links fit on."""
    degree: Counter[str] = Counter()
    highest: dict[str, int] = {}
    for row in parts.get("links", []):
        for end in row["ends"]:
            node, _, port = str(end).partition(":")
            degree[node] += 1
            if port.isascii() and port.isdigit() and len(port) < 6:
                highest[node] = max(highest.get(node, 0), int(port))
    switches = []
    for row in parts.get("switches", []):
        needed = max(_USUAL_PORTS, degree[row["name"]], min(highest.get(row["name"], 0), MOST_PORTS))
        if degree[row["name"]] > MOST_PORTS:
            raise OfframpError(f"{origin}: {row['name']}: {needed} links: expected at most {MOST_PORTS}")
        switches.append({"ports": needed} | row)
    return parts | {"switches": switches}


def rate_of(link: dict[str, Any]) -> int:
    """The rate of a link's row in bits per second; 1 where it is no rate, which the reader refuses later."""
    rate = link["rate"]
    try:
        return int(rate) if isinstance(rate, int | float) else BITS_PER_SECOND.parse(str(rate))
    except (ValueError, OverflowError):
        return 1


def _joined(cluster: Cluster, parts: Parts, defaults: Defaults) -> Parts:
    """The parts with one switch above all: above the highest of switches that reach each other, and single hosts."""
    name = FLAT
    while name in cluster.by_name:
        name += "-above"
    links = list(parts.get("links", []))
    switches = {switch.name for switch in cluster.switches}
    lone = {host.name for host in cluster.hosts}
    seen: set[str] = set()
    for switch in (each.name for each in cluster.switches):
        if switch in seen:
            continue
        reached = distances(cluster, switch)
        together = [each for each in reached if each in switches]
        seen.update(together)
        hosts = [each for each in reached if each not in switches]
        if hosts:
            below = sum(
                link.rate_bps for host in hosts for link in cluster.links_of[host] if link.far(host).node in together
            )
            rate = max(1, int(below / defaults.oversubscription))
            links.append({"ends": [_top(cluster, together, hosts), name], **speed(defaults, rate)})
            lone.difference_update(hosts)
    links += [{"ends": [host.name, name], **speed(defaults)} for host in cluster.hosts if host.name in lone]
    return parts | {"links": links, "switches": [*parts.get("switches", []), {"name": name, "target": "plain"}]}


def _top(cluster: Cluster, switches: list[str], hosts: list[str]) -> str:
    """The switch that is farthest from its nearest host."""
    if len(switches) == 1:
        return switches[0]
    heights = {switch: len(cluster.by_name) for switch in switches}
    for host in hosts:
        for name, hops in distances(cluster, host).items():
            if name in heights:
                heights[name] = min(heights[name], hops)
    return max(switches, key=heights.__getitem__)


def _without(parts: Parts, names: set[str]) -> Parts:
    links = [row for row in parts.get("links", []) if not {_node(str(end)) for end in row["ends"]} & names]
    return parts | {"switches": [row for row in parts["switches"] if row["name"] not in names], "links": links}
