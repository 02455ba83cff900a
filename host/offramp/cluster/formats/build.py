# SPDX-License-Identifier: Apache-2.0
"""Builds a cluster of hosts, switches and links without port numbers, checked like a cluster file.

Every importer ends here, so that all of them keep one promise: what comes out reads back from its own text, and every
host reaches every other over switches.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.model import FASTEST_BPS, MOST_PORTS, Cluster, ClusterDimension, ClusterHost
from offramp.cluster.names import some
from offramp.cluster.read import cluster_of, parse_cluster
from offramp.cluster.routes import distances
from offramp.cluster.write import cluster_text
from offramp_base.errors import OfframpError
from offramp_base.settings.field import declared
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
    groups = _groups(cluster)
    idle = [each for group in groups if not group["hosts"] for each in group["switches"]]
    if idle:
        defaults.note(f"left out: {some(idle)}: no host is below")
        parts = parts | {"switches": [row for row in parts["switches"] if row["name"] not in idle]}
        parts["links"] = [row for row in parts["links"] if not {_node(end) for end in row["ends"]} & set(idle)]
        groups = [group for group in groups if group["hosts"]]
    if len(groups) > 1:
        if not defaults.flat:
            first, other = groups[0]["hosts"][0], groups[1]["hosts"][0]
            hosts = "1 host" if len(cluster.hosts) == 1 else f"{len(cluster.hosts)} hosts"
            apart = f"{hosts} without links" if not cluster.links else f"no way from {first} to {other}"
            raise OfframpError(f"{origin}: {apart}: expected {missing}; or --flat, and one switch joins them")
        parts = _joined(cluster, groups, parts, defaults)
    if idle or len(groups) > 1:
        cluster = _checked(origin, name, parts)
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
    known = any(each.key == "inside" for each in declared(ClusterHost))
    return {"inside": min(rate_bps, FASTEST_BPS)} if rate_bps and known else {}


def _checked(origin: str, name: str, parts: Parts) -> Cluster:
    parts = _with_ports(origin, _split(parts))
    data = {"name": clean(name)} | {part: rows for part, rows in parts.items() if rows}
    try:
        return cluster_of(SourceFile("cluster.yaml", data, {}), "cluster")
    except OfframpError as error:
        raise OfframpError(f"{origin}: {re.sub(r'^cluster.yaml:[0-9]+: ', '', str(error))}") from None


def _read_back(origin: str, cluster: Cluster) -> Cluster:
    try:
        return parse_cluster(cluster_text(cluster), "cluster.yaml")
    except OfframpError as error:
        raise OfframpError(f"{origin}: {re.sub(r'^cluster.yaml:[0-9]*:? ?', '', str(error))}") from None


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


def _split(parts: Parts) -> Parts:
    """Switches of more links than a switch has ports become two tiers that block nothing."""
    at: dict[str, list[tuple[dict[str, Any], int]]] = defaultdict(list)
    for row in parts.get("links", []):
        for k, end in enumerate(row["ends"]):
            at[str(end)].append((row, k))
    wide = [row for row in parts.get("switches", []) if len(at[row["name"]]) > MOST_PORTS]
    if not wide:
        return parts
    links = [{**row, "ends": list(row["ends"])} for row in parts["links"]]
    copies = {id(old): new for old, new in zip(parts["links"], links, strict=True)}
    switches = list(parts["switches"])
    for row in wide:
        ends = at[row["name"]]
        most = MOST_PORTS - 1
        for n, start in enumerate(range(0, len(ends), most), 1):
            lower, total = f"{row['name']}-part{n}", 0
            for link, k in ends[start : start + most]:
                copies[id(link)]["ends"][k] = lower
                total += rate_of(link)
            switches.append({**row, "name": lower})
            links.append({"ends": [lower, row["name"]], "rate": total})
    return parts | {"switches": switches, "links": links}


def rate_of(link: dict[str, Any]) -> int:
    """The rate of a link's row in bits per second; 1 where it is no rate, which the reader refuses later."""
    rate = link["rate"]
    try:
        return int(rate) if isinstance(rate, int | float) else BITS_PER_SECOND.parse(str(rate))
    except (ValueError, OverflowError):
        return 1


def _groups(cluster: Cluster) -> list[dict[str, list[str]]]:
    """Hosts and switches by what reaches what; groups of switches alone come last."""
    hosts = {host.name for host in cluster.hosts}
    seen: set[str] = set()
    groups = []
    for name in cluster.by_name:
        if name in seen:
            continue
        reached = distances(cluster, name)
        seen.update(reached)
        groups.append({"hosts": [n for n in reached if n in hosts], "switches": [n for n in reached if n not in hosts]})
    return groups


def _joined(cluster: Cluster, groups: list[dict[str, list[str]]], parts: Parts, defaults: Defaults) -> Parts:
    """The parts with one switch above all groups: at the switch of each that is farthest from its hosts."""
    name = FLAT
    while name in cluster.by_name:
        name += "-above"
    links = list(parts.get("links", []))
    covered: set[str] = set()
    for group in groups:
        if group["switches"]:
            top = max(group["switches"], key=lambda switch: _height(cluster, switch, group["hosts"]))
            below = [host for host in distances(cluster, top) if host in group["hosts"]]
            rate = int(sum(cluster.rate_bps(host) for host in below) / defaults.oversubscription)
            links.append({"ends": [top, name], **speed(defaults, max(1, rate))})
            covered.update(below)
    lone = [host.name for host in cluster.hosts if host.name not in covered]
    links += [{"ends": [host, name], **speed(defaults)} for host in lone]
    return parts | {"links": links, "switches": [*parts.get("switches", []), {"name": name, "target": "plain"}]}


def _height(cluster: Cluster, switch: str, hosts: list[str]) -> int:
    far = distances(cluster, switch)
    return min((far[host] for host in hosts if host in far), default=0)
