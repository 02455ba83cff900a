# SPDX-License-Identifier: Apache-2.0
"""Hosts, switches and cables for a network of dimensions: each NPU is a host of one GPU.

A dimension of type switch is a switch for each of its groups, a ring or a fully connected one cables within a group;
what a rank's links carry together is the dimension's rate. Hosts carry nothing for others, so that where messages pass
NPUs, in a ring of more than three or from one dimension to the next, each NPU has a router in front of it.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import Parts, speed
from offramp.cluster.model import MOST_HOSTS, MOST_PORTS, MOST_SWITCHES, ClusterDimension

MOST_LINKS: Final = 10_000
"""As many as fit into a cluster file."""
_SWITCHED: Final = ("switch", "in-network")


def joined(dimensions: tuple[ClusterDimension, ...], defaults: Defaults) -> Parts | None:
    """Rows of hosts, switches and links; None where a cluster file cannot hold as many."""
    count = math.prod(each.size for each in dimensions)
    crossed = [(d, each) for d, each in enumerate(dimensions) if each.size > 1]
    routed = len(crossed) > 1 or any(each.type == "ring" and each.size > 3 for _, each in crossed)
    if count > MOST_HOSTS or sum(_links(each, count) for _, each in crossed) + count * routed > MOST_LINKS:
        return None
    hosts = [f"npu{k}" for k in range(count)]
    nodes = [f"router{k}" for k in range(count)] if routed else hosts
    switches = list(nodes) if routed else []
    links: list[dict[str, Any]] = []
    if routed:
        total = sum(each.rate_bps for _, each in crossed)
        links += [{"ends": [host, node], **speed(defaults, total, 0)} for host, node in zip(hosts, nodes, strict=True)]
    for d, each in crossed:
        stride = math.prod(before.size for before in dimensions[:d])
        starts = [k for k in range(count) if k // stride % each.size == 0]
        for group, start in enumerate(starts):
            members = [nodes[start + stride * n] for n in range(each.size)]
            if each.type in _SWITCHED:
                switches.append(f"dim{d + 1}-switch{group}")
            links += _group(each, members, switches[-1] if each.type in _SWITCHED else "", defaults)
    if len(switches) > MOST_SWITCHES or max((each.size for _, each in crossed), default=0) > MOST_PORTS:
        return None
    return {
        "hosts": [{"name": host, "gpus": 1} for host in hosts],
        "switches": [{"name": name, "target": "plain"} for name in switches],
        "links": links,
    }


def _links(each: ClusterDimension, count: int) -> int:
    per_group = math.comb(each.size, 2) if each.type == "fully-connected" else each.size
    return count // each.size * per_group


def _group(each: ClusterDimension, members: list[str], switch: str, defaults: Defaults) -> list[dict[str, Any]]:
    """Links of one group: a switch's half of the latency is each link's."""
    if switch:
        return [{"ends": [name, switch], **speed(defaults, each.rate_bps, each.latency_ns / 2)} for name in members]
    if each.type == "fully-connected" or each.size <= 3:
        pairs = list(combinations(members, 2))
    else:
        pairs = list(zip(members, members[1:] + members[:1], strict=True))
    share = each.size - 1 if each.type == "fully-connected" else min(2, each.size - 1)
    row = speed(defaults, -(-each.rate_bps // share), each.latency_ns)
    return [{"ends": [a, b], **row} for a, b in pairs]
