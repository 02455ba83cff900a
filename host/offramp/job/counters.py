# SPDX-License-Identifier: Apache-2.0
"""Bytes that have crossed each link of a cluster, by the counters of the interfaces at its ends.

A host's interfaces are asked first; links between switches are counted where the cluster's file says how commands reach
a switch (``reach``). A laboratory's file does.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from offramp.cluster.model import Cable, Cluster, ClusterHost, ClusterSwitch
from offramp.cluster.reach import command_on
from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError

_TIMEOUT_S: Final = 10.0
_WORDS: Final = ("ip", "-json", "-statistics", "link", "show")
Moved = tuple[int, int]
"""Bytes from the first end of a link, and from its second."""
Interfaces = Mapping[str, tuple[int, int]]
"""Bytes sent and received by each interface of a node, by its name."""
Ask = Callable[[ClusterHost | ClusterSwitch], Interfaces]


def interfaces_of(node: ClusterHost | ClusterSwitch) -> Interfaces:
    """The counters of a node's interfaces; empty if it does not tell, or if its links are not interfaces."""
    if node.reach is None or (isinstance(node, ClusterHost) and node.reach == "local"):
        return {}
    try:
        done = subprocess.run(command_on(node, _WORDS), check=True, capture_output=True, timeout=_TIMEOUT_S)
        rows = [(str(row["ifname"]), row["stats64"]) for row in parse_json(done.stdout)]
        return {name: (int(stats["tx"]["bytes"]), int(stats["rx"]["bytes"])) for name, stats in rows}
    except (OSError, subprocess.SubprocessError, OfframpError, LookupError, TypeError, ValueError):
        return {}


def link_bytes(cluster: Cluster, ask: Ask = interfaces_of, nodes: Collection[str] | None = None) -> dict[Cable, Moved]:
    """The bytes that have crossed each link since its ends are up; links that nobody counts are absent.

    Args:
        cluster: the links and their ends.
        ask: reads the counters of one node.
        nodes: names of those that may be asked; None: all.
    """
    counted: dict[Cable, Moved] = {}
    for node in cluster.by_name.values():  # hosts first
        links = [each for each in cluster.links_of[node.name] if each not in counted]
        if not links or (nodes is not None and node.name not in nodes):
            continue
        interfaces = ask(node)
        for link in links:
            port = link.near(node.name).port
            name = node.interface_of(port) if isinstance(node, ClusterSwitch) else str(port)
            if name in interfaces:
                sent, received = interfaces[name]
                counted[link] = (sent, received) if link.a.node == node.name else (received, sent)
    return {link: counted[link] for link in cluster.links if link in counted}


def since(before: Mapping[Cable, Moved], after: Mapping[Cable, Moved]) -> dict[Cable, Moved]:
    """The bytes between two counts; a link whose counters went back, or that is only in one of them, is absent."""
    moved = {
        link: (after[link][0] - first, after[link][1] - second)
        for link, (first, second) in before.items()
        if link in after
    }
    return {link: counts for link, counts in moved.items() if min(counts) >= 0}


def of_hosts(
    hosts: Sequence[ClusterHost], cluster: Cluster, moved: Mapping[Cable, Moved]
) -> dict[str, tuple[int, int]]:
    """Bytes that each of these hosts has sent and received on all of its counted links."""
    sums: dict[str, tuple[int, int]] = {}
    for host in hosts:
        for link in cluster.links_of[host.name]:
            if link in moved:
                first, second = moved[link] if link.a.node == host.name else moved[link][::-1]
                sent, received = sums.get(host.name, (0, 0))
                sums[host.name] = sent + first, received + second
    return sums
