# SPDX-License-Identifier: Apache-2.0
"""Which part of a network each core simulates: leaves with their hosts, and shares of the levels above."""

from __future__ import annotations

import numpy as np

from offramp_sim.packets.topology import Topology, Words


def partition(topology: Topology, parts: int) -> Words:
    """``(nodes,)`` partition of each node. With fewer leaves than parts, hosts and switches are apart."""
    hosts, leaves = topology.hosts, topology.leaves
    if leaves < parts and parts > 1:
        of_hosts = np.arange(hosts) * (parts - 1) // hosts
        return np.concatenate([of_hosts, np.full(topology.nodes - hosts, parts - 1)])
    by_level = [np.arange(count) * parts // count for count in topology.levels[1:]]
    return np.concatenate([by_level[0][topology.leaf_of()], *by_level])


def ranges(topology: Topology, parts_of: Words, part: int) -> Words:
    """``(r, 2)`` first and last node of a partition, level by level, which are next to each other there."""
    found, first = [], 0
    for count in topology.levels:
        mine = np.flatnonzero(parts_of[first : first + count] == part)
        if len(mine):
            found.append((first + mine[0], first + mine[-1] + 1))
        first += count
    return np.array(found, np.int64).reshape(-1, 2)
