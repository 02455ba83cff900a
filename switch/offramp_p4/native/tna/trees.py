# SPDX-License-Identifier: Apache-2.0
"""Tofino's multicast trees and mirror sessions where machine code finds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.tna.replication import EXCLUSION_SHIFT
from offramp_p4.native.state.context import SwitchContext, Words
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.native.state.replication import WatchedDict, watched
from offramp_p4.state import Replica
from offramp_p4.tna.replication import MulticastNode, MulticastTree, TofinoReplication


class NativeTrees(TofinoReplication):
    """The packet replication engine."""

    def __init__(self) -> None:
        super().__init__(WatchedDict(), WatchedDict(), WatchedDict(), WatchedDict(), WatchedDict())

    def attach(self, context: SwitchContext) -> None:
        """Be found in the context."""
        self._context = context
        self._groups, self._sessions, self._prunings = (
            HashTable(context, offset(base), 1)
            for base in (at.SwitchMemory.groups, at.SwitchMemory.sessions, at.SwitchMemory.pruned)
        )

    def sync(self) -> None:
        """Write the changes."""
        self.multicast, self.clones = multicast, clones = watched(self.multicast), watched(self.clones)
        self.trees, self.lags = trees, lags = watched(self.trees), watched(self.lags)
        self.excluded_ports = excluded = watched(self.excluded_ports)
        if any([_took(multicast), _took(trees), _took(lags)]):
            self._write_groups()
        if _took(clones):
            self._write_sessions()
        if _took(excluded):
            pairs = [x << EXCLUSION_SHIFT | port for x, ports in self.excluded_ports.items() for port in ports]
            _fill(self._prunings, pairs)

    def _write_groups(self) -> None:
        trees = {group: _tree(replicas) for group, replicas in self.multicast.items()} | self.trees
        self._memory: list[Words] = []
        rows = [(len(choices := self._choices(tree)), self._keep(choices)) for tree in trees.values()]
        self._context.hold(offset(at.SwitchMemory.groups) + offset(at.TableRecord.rows), _words(rows))
        _fill(self._groups, trees)

    def _choices(self, tree: MulticastTree) -> list[tuple[int, int]]:
        groups = [*((node,) for node in tree.nodes), *(nodes for nodes in tree.ecmp if nodes)]
        return [(len(nodes), self._keep([self._row(node) for node in nodes])) for nodes in groups]

    def _row(self, node: MulticastNode) -> tuple[int, int, int, int]:
        lags = [self.lags.get(lag, ()) for lag in node.lags]
        members = [(len(ports), self._keep([ports])) for ports in [*((p,) for p in node.ports), *lags] if ports]
        return node.rid, -1 if node.xid is None else node.xid, len(members), self._keep(members)

    def _keep(self, rows: Sequence[Sequence[int]]) -> int:
        """Rows of words in memory that stays; its address."""
        self._memory.append(_words(rows))
        return address(self._memory[-1])

    def _write_sessions(self) -> None:
        self._pairs: list[Words] = []
        rows = []
        for session in self.clones.values():
            self._pairs.append(_words([(r.port, r.instance) for r in session.replicas]))
            most = max(0, session.packet_length)
            rows.append((len(session.replicas), address(self._pairs[-1]), most, session.class_of_service))
        self._context.hold(offset(at.SwitchMemory.sessions) + offset(at.TableRecord.rows), _words(rows))
        _fill(self._sessions, self.clones)


def _tree(replicas: Iterable[Replica]) -> MulticastTree:
    """A group without exclusion ids."""
    return MulticastTree(tuple(MulticastNode(r.instance, (r.port,)) for r in replicas))


def _words(rows: Sequence[Sequence[int]]) -> Words:
    return np.array(rows if len(rows) else [(0,)], np.int64)


def _fill(table: HashTable, keys: Iterable[int]) -> None:
    """Number the keys from 1."""
    listed = list(keys)
    table.clear()
    if listed:
        table.insert(as_words(listed, 1), np.arange(1, len(listed) + 1))


def _took(watched_dict: WatchedDict[Any]) -> bool:
    """Whether a dictionary has changed since the last call."""
    changed, watched_dict.changed = watched_dict.changed, False
    return changed
