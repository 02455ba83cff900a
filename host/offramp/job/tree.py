# SPDX-License-Identifier: Apache-2.0
"""The tree along which sums climb to one switch: a job's part on each switch, from a fabric's links."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from offramp.allreduce.entries import Contributor, SwitchRole
from offramp.cluster.model import Cluster, ClusterHost, ClusterSwitch
from offramp.cluster.names import some
from offramp.fabric import Fabric
from offramp_base.errors import OfframpError


def roles(fabric: Fabric, hosts: Sequence[ClusterHost]) -> dict[str, SwitchRole]:
    """The role of each switch in a job with one rank on each host: one switch, or leaves below one spine.

    Raises:
        OfframpError: hosts with several ranks, switches that take no such program, or no two levels that join all; with
            file and line.
    """
    cluster = fabric.cluster
    leaf_of = leaves_of(cluster, hosts, "all-reduce in the switch")
    leaves = list(dict.fromkeys(leaf_of.values()))
    ranks = {name: [r for r, host in enumerate(hosts) if leaf_of[host.name] == name] for name in leaves}
    members = {
        name: tuple(Contributor(_port(cluster, hosts[r].name, name), r, (r,)) for r in each)
        for name, each in ranks.items()
    }
    if len(members) == 1:
        out = {name: SwitchRole(each) for name, each in members.items()}
    else:
        top = _spine(fabric, list(members))
        out, racks = {}, []
        for name, each in members.items():
            cables = fabric.cables(name, top)
            up = cables[zlib.crc32(top.encode()) % len(cables)]
            out[name] = SwitchRole(each, int(up.near(name).port))
            racks.append(Contributor(int(up.far(name).port), ranks[name][0], tuple(ranks[name])))
        out[top] = SwitchRole(tuple(racks))
    for name in out:
        _check(cluster, name)
    return out


def leaves_of(cluster: Cluster, hosts: Sequence[ClusterHost], what: str) -> dict[str, str]:
    """The switch at each host's first link, by the host's name.

    Args:
        cluster: the cluster.
        hosts: the hosts of the job, with one rank each.
        what: names in messages who expects that.

    Raises:
        OfframpError: hosts with several ranks, or at no switch; with file and line.
    """
    leaves: dict[str, str] = {}
    for host in hosts:
        if host.processes != 1:
            problem = f"{host.processes} ranks: {what} expects one on each host"
            raise OfframpError(f"{cluster.place(host.name)}: {host.name}: {problem}")
        links = cluster.links_of[host.name]
        switch = cluster.by_name[links[0].far(host.name).node] if links else None
        if not isinstance(switch, ClusterSwitch):
            raise OfframpError(f"{cluster.place(host.name)}: {host.name}: its first link leads to no switch")
        leaves[host.name] = switch.name
    return leaves


def _port(cluster: Cluster, host: str, switch: str) -> int:
    return int(cluster.links_of[host][0].near(switch).port)


def _spine(fabric: Fabric, leaves: list[str]) -> str:
    """The first switch with a link to every leaf that could run the program."""
    for each in fabric.cluster.switches:
        beside = all(fabric.cables(leaf, each.name) for leaf in leaves)
        if beside and each.name not in leaves and each.target == "v1model" and each.control:
            return each.name
    raise OfframpError(f"{fabric.cluster.origin}: no switch that takes programs joins {some(leaves)}")


def _check(cluster: Cluster, name: str) -> None:
    switch = cluster.by_name[name]
    assert isinstance(switch, ClusterSwitch)
    if switch.target != "v1model" or not switch.control:
        what = f"target {switch.target}" if switch.target != "v1model" else "no control address"
        raise OfframpError(f"{cluster.place(name)}: {name}: {what}: all-reduce among plain frames expects v1model")
