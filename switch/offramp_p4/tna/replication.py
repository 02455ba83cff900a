# SPDX-License-Identifier: Apache-2.0
"""Tofino's packet replication engine: two-level multicast trees, link aggregation, pruning.

A tree is a list of nodes. A node (level 1) has a replication id and may have an exclusion id; its copies
(level 2) go to ports and to one member of each of its link aggregation groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from offramp_p4.state import Replica, ReplicationEngine


@dataclass(frozen=True, slots=True)
class MulticastNode:
    """A level-1 node; ``xid`` None is never excluded."""

    rid: int
    ports: tuple[int, ...] = ()
    lags: tuple[int, ...] = ()
    xid: int | None = None


@dataclass(frozen=True, slots=True)
class MulticastTree:
    """A multicast group: nodes that always make copies, and groups from each of which a hash picks one node."""

    nodes: tuple[MulticastNode, ...] = ()
    ecmp: tuple[tuple[MulticastNode, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicationRequest:
    """A packet's request for copies: the fields of ``ingress_intrinsic_metadata_for_tm_t``."""

    rid: int = 0
    level1_exclusion_id: int = 0
    level2_exclusion_id: int = 0
    level1_mcast_hash: int = 0
    level2_mcast_hash: int = 0


@dataclass(slots=True)
class TofinoReplication(ReplicationEngine):
    """Trees by multicast group id; groups written over P4Runtime are trees without exclusion ids.

    Attributes:
        lags: ports by link aggregation group.
        excluded_ports: by level-2 exclusion id, the ports that get no copy of a packet whose ``rid`` is the
            node's.
    """

    trees: dict[int, MulticastTree] = field(default_factory=dict)
    lags: dict[int, tuple[int, ...]] = field(default_factory=dict)
    excluded_ports: dict[int, frozenset[int]] = field(default_factory=dict)

    def copies(self, group: int, packet: ReplicationRequest) -> list[Replica]:
        """The copies of a packet for a group, in the order of the tree; none for an unknown group."""
        if group not in self.trees:
            known = self.multicast.get(group, ())
            return [r for r in known if not self._pruned(r.port, r.instance, packet)]
        tree = self.trees[group]
        nodes = [*tree.nodes, *(n[packet.level1_mcast_hash % len(n)] for n in tree.ecmp if n)]
        return [copy for node in nodes for copy in self._node(node, packet)]

    def reset(self) -> None:
        """No groups, no sessions."""
        ReplicationEngine.reset(self)
        self.trees.clear()
        self.lags.clear()
        self.excluded_ports.clear()

    def _node(self, node: MulticastNode, packet: ReplicationRequest) -> list[Replica]:
        if node.xid is not None and node.xid == packet.level1_exclusion_id:
            return []
        members = (self.lags.get(lag, ()) for lag in node.lags)
        ports = [*node.ports, *(m[packet.level2_mcast_hash % len(m)] for m in members if m)]
        return [Replica(port, node.rid) for port in ports if not self._pruned(port, node.rid, packet)]

    def _pruned(self, port: int, rid: int, packet: ReplicationRequest) -> bool:
        return rid == packet.rid and port in self.excluded_ports.get(packet.level2_exclusion_id, ())
