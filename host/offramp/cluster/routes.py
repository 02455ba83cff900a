# SPDX-License-Identifier: Apache-2.0
"""Reachability of a cluster's nodes over switches: hosts carry nothing for others."""

from __future__ import annotations

from collections import deque

from offramp.cluster.model import Cluster, ClusterSwitch
from offramp_base.errors import OfframpError


def distances(cluster: Cluster, target: str) -> dict[str, int]:
    """Links from each node that reaches ``target`` to it."""
    hops = {target: 0}
    waiting = deque([target])
    while waiting:
        name = waiting.popleft()
        if name != target and not isinstance(cluster.by_name[name], ClusterSwitch):
            continue
        for link in cluster.links_of[name]:
            other = link.far(name).node
            if other not in hops:
                hops[other] = hops[name] + 1
                waiting.append(other)
    return hops


def two_apart(cluster: Cluster) -> tuple[str, str] | None:
    """Two hosts of which the first does not reach the other; hosts carry nothing for others."""
    hosts = [host.name for host in cluster.hosts]
    if len(hosts) < 2:
        return None
    switches = {switch.name for switch in cluster.switches}
    first = distances(cluster, hosts[0])
    if any(distances(cluster, name).keys() >= set(hosts) for name in first if name in switches and first[name] == 1):
        return None
    for host in hosts:  # a network without a switch for all is small: it has a cable for each pair
        reached = distances(cluster, host)
        other = next((name for name in hosts if name not in reached), None)
        if other is not None:
            return host, other
    return None


def check_connected(cluster: Cluster) -> None:
    """Refuse a cluster with two hosts that do not reach each other, over switches alone.

    Raises:
        OfframpError: names them, with file and line.
    """
    apart = two_apart(cluster)
    if apart is not None:
        first, name = apart
        raise OfframpError(f"{cluster.place(name)}: {name}: no way to {first}: expected links that join them")
