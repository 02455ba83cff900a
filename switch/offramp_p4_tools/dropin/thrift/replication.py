# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and mirroring sessions as bmv2's run-time services see them: groups of nodes, nodes of ports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.state import CloneSession, Replica
from offramp_p4_tools.dropin.thrift.services import RequestRefused

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch

_GROUP_ID, _GROUP, _NODE, _ERROR = 2, 3, 4, 5
_NO_SESSION: Final = 1
_MOST: Final = 1 << 16


@dataclass
class _Node:
    rid: int
    ports: list[int]


@dataclass
class ReplicationMethods:
    """The methods of multicast and mirroring."""

    switch: AnySwitch
    _nodes: dict[int, _Node] = field(default_factory=dict)
    _groups: dict[int, list[int]] = field(default_factory=dict)
    _sessions: dict[int, int] = field(default_factory=dict)
    """Multicast groups of mirroring sessions that have one."""

    # --- multicast ------------------------------------------------------------------------------------------------

    def bm_mc_mgrp_create(self, mgrp: int) -> int:
        """Make an empty group; its handle is its number."""
        if not 0 <= mgrp < _MOST:
            raise RequestRefused(_GROUP_ID, f"multicast group {mgrp}")
        self._groups[mgrp] = []
        self._replicate()
        return mgrp

    def bm_mc_mgrp_destroy(self, mgrp_handle: int) -> None:
        """Remove a group; removing one that is absent is not an error."""
        self._groups.pop(mgrp_handle, None)
        self.switch.pre.multicast.pop(mgrp_handle, None)

    def bm_mc_node_create(self, rid: int, port_map: str, lag_map: str = "") -> int:
        """Make a node of ports; its handle."""
        if len(self._nodes) >= _MOST or not 0 <= rid < _MOST:
            raise RequestRefused(_ERROR, f"node with replication id {rid}")
        handle = next(i for i in count() if i not in self._nodes)
        self._nodes[handle] = _Node(rid, _ports(port_map, lag_map))
        return handle

    def bm_mc_node_associate(self, mgrp_handle: int, l1_handle: int) -> None:
        """Put a node into a group."""
        self._node(l1_handle)
        group = self._group(mgrp_handle)
        if l1_handle in group:
            raise RequestRefused(_ERROR, f"node {l1_handle} is in group {mgrp_handle}")
        group.append(l1_handle)
        self._replicate()

    def bm_mc_node_dissociate(self, mgrp_handle: int, l1_handle: int) -> None:
        """Take a node out of a group."""
        group = self._group(mgrp_handle)
        if l1_handle not in group:
            raise RequestRefused(_NODE, f"node {l1_handle} is not in group {mgrp_handle}")
        group.remove(l1_handle)
        self._replicate()

    def bm_mc_node_destroy(self, l1_handle: int) -> None:
        """Remove a node."""
        self._node(l1_handle)
        for group in self._groups.values():
            if l1_handle in group:
                group.remove(l1_handle)
        del self._nodes[l1_handle]
        self._replicate()

    def bm_mc_node_update(self, l1_handle: int, port_map: str, lag_map: str = "") -> None:
        """Give a node other ports."""
        self._node(l1_handle).ports = _ports(port_map, lag_map)
        self._replicate()

    def bm_mc_get_entries(self) -> str:
        """Groups and nodes as JSON."""
        nodes = self._nodes.items()
        return json.dumps(
            {
                "mgrps": [{"id": group, "l1_handles": handles} for group, handles in self._groups.items()],
                "l1_handles": [{"handle": h, "rid": n.rid, "l2_handle": h} for h, n in nodes],
                "l2_handles": [{"handle": h, "ports": n.ports, "lags": []} for h, n in nodes],
                "lags": [],
            }
        )

    def _group(self, handle: int) -> list[int]:
        if handle not in self._groups:
            raise RequestRefused(_GROUP, f"no multicast group {handle}")
        return self._groups[handle]

    def _node(self, handle: int) -> _Node:
        if handle not in self._nodes:
            raise RequestRefused(_NODE, f"no multicast node {handle}")
        return self._nodes[handle]

    def _replicate(self) -> None:
        pre = self.switch.pre
        for group, handles in self._groups.items():
            nodes = [self._nodes[handle] for handle in handles]
            pre.multicast[group] = tuple(Replica(port, node.rid) for node in nodes for port in node.ports)
        for session, group in self._sessions.items():
            pre.clones[session] = CloneSession(pre.multicast.get(group, ()))

    # --- mirroring ------------------------------------------------------------------------------------------------

    def mirroring_session_add(self, mirror_id: int, config: Any) -> None:
        """Send the clones of a session to a port or a multicast group."""
        port, group = config.get("port"), config.get("mgid")
        self._sessions.pop(mirror_id, None)
        if group is not None:
            self._sessions[mirror_id] = group
            self.switch.pre.clones[mirror_id] = CloneSession(())
            self._replicate()
        elif port is not None:
            self.switch.pre.clones[mirror_id] = CloneSession((Replica(port, 0),))

    def mirroring_session_delete(self, mirror_id: int) -> None:
        """Remove a session."""
        self._sessions.pop(mirror_id, None)
        if self.switch.pre.clones.pop(mirror_id, None) is None:
            raise RequestRefused(_NO_SESSION, f"no mirroring session {mirror_id}")

    def mirroring_session_get(self, mirror_id: int) -> Any:
        """The destination of a session's clones."""
        if mirror_id not in self.switch.pre.clones:
            raise RequestRefused(_NO_SESSION, f"no mirroring session {mirror_id}")
        if mirror_id in self._sessions:
            return {"mgid": self._sessions[mirror_id]}
        replicas = self.switch.pre.clones[mirror_id].replicas
        return {"port": replicas[0].port} if replicas else {}

    def mirroring_mapping_add(self, mirror_id: int, egress_port: int) -> int:
        """Add a mirroring session in the form of older clients; returns 0."""
        self.mirroring_session_add(mirror_id, {"port": egress_port})
        return 0

    def mirroring_mapping_delete(self, mirror_id: int) -> int:
        """Remove a mirroring session in the form of older clients; returns 0, or 1 if there is none."""
        self._sessions.pop(mirror_id, None)
        return int(self.switch.pre.clones.pop(mirror_id, None) is None)

    def mirroring_mapping_get_egress_port(self, mirror_id: int) -> int:
        """The port of a session, or -1."""
        session = self.switch.pre.clones.get(mirror_id)
        return session.replicas[0].port if session and session.replicas else -1


def _ports(port_map: str, lag_map: str) -> list[int]:
    """Ports of a map in which the last digit stands for port 0."""
    if "1" in lag_map:
        raise RequestRefused(_ERROR, "link aggregation groups are not supported")
    if len(port_map) > _MOST or port_map.strip("01"):
        raise RequestRefused(_ERROR, "a port map consists of zeros and ones")
    return [port for port, digit in enumerate(reversed(port_map)) if digit == "1"]
