# SPDX-License-Identifier: Apache-2.0
"""Parts of a network that cores simulate: leaves with their hosts, and shares of the levels above.

The ports of one switch share nothing but its arrivals. A star can therefore be divided too: each core has some hosts,
and the switch's ports that lead to them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offramp_sim.packets.layout import LINE_WORDS, SwitchRecord
from offramp_sim.packets.topology import Topology, Words


def partition(topology: Topology, parts: int) -> Words:
    """``(nodes,)`` partition of each node. With fewer leaves than parts, hosts and switches are in different ones."""
    hosts, leaves = topology.hosts, topology.leaves
    if topology.lanes:
        return np.concatenate([_blocks(hosts, parts), np.repeat(np.arange(parts), LINE_WORDS)])
    if (leaves < parts and parts > 1) or topology.ways is not None:
        of_hosts = np.arange(hosts) * (parts - 1) // hosts
        return np.concatenate([of_hosts, np.full(topology.nodes - hosts, parts - 1)])
    by_level = [_blocks(count, parts) for count in topology.levels[1:]]
    return np.concatenate([by_level[0][topology.leaf_of()], *by_level])


def divided(topology: Topology, parts: int) -> Topology:
    """A star whose switch is a node in each partition, for packets to the hosts there.

    A host's link stays one line, but it ends in a lane for each of these nodes: the queue of packets to it.
    A lane's number is ``lanes`` plus its partition times the hosts plus its host, so that arrivals of one time are in
    the order of hosts, as in the whole switch. The ports of the star keep their numbers. Between these nodes are others
    to which nothing leads, so that no two cores write to one cache line when they note what a node has to do.
    """
    hosts = topology.hosts
    host = np.arange(hosts)
    node = hosts + LINE_WORDS * np.arange(1, parts + 1) - 1
    own = node[_blocks(hosts, parts)]
    lanes = len(topology.source)
    switches = np.repeat(topology.switches, LINE_WORDS * parts, axis=0)
    switches[:, SwitchRecord.first_in] = lanes + np.repeat(np.arange(parts), LINE_WORDS) * hosts
    switches[:, SwitchRecord.last_in] = switches[:, SwitchRecord.first_in] + hosts
    return replace(
        topology,
        levels=(hosts, LINE_WORDS * parts),
        source=np.concatenate([own, host, node[:1], np.tile(host, parts)]),
        target=np.concatenate([host, own, node[:1], np.repeat(node, hosts)]),
        switches=switches,
        lanes=lanes,
    )


def _blocks(count: int, parts: int) -> Words:
    return np.arange(count) * parts // count


def ranges(topology: Topology, parts_of: Words, part: int) -> Words:
    """``(r, 2)`` first and last node of a partition at each level, where its nodes are contiguous."""
    spans, first = [], 0
    for count in topology.levels:
        mine = np.flatnonzero(parts_of[first : first + count] == part)
        if len(mine):
            spans.append((first + mine[0], first + mine[-1] + 1))
        first += count
    return np.array(spans, np.int64).reshape(-1, 2)
