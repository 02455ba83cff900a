# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and clone sessions where machine code finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.context import SwitchContext
from offramp_p4.native.state.hashtable import HashTable, as_words
from offramp_p4.state import Replica, ReplicationEngine

_V = TypeVar("_V")


class WatchedDict(dict[int, _V], Generic[_V]):
    """A dictionary that says whether it has changed."""

    changed = True

    def __setitem__(self, key: int, value: _V) -> None:
        super().__setitem__(key, value)
        self.changed = True

    def __delitem__(self, key: int) -> None:
        super().__delitem__(key)
        self.changed = True

    def __ior__(self, other: Any) -> WatchedDict[_V]:  # type: ignore[override,misc]
        self.update(other)
        return self

    def clear(self) -> None:
        """Like :meth:`dict.clear`."""
        super().clear()
        self.changed = True

    def pop(self, *args: Any) -> Any:
        """Like :meth:`dict.pop`."""
        self.changed = True
        return super().pop(*args)

    def popitem(self) -> tuple[int, _V]:
        """Like :meth:`dict.popitem`."""
        self.changed = True
        return super().popitem()

    def setdefault(self, *args: Any) -> Any:
        """Like :meth:`dict.setdefault`."""
        self.changed = True
        return super().setdefault(*args)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Like :meth:`dict.update`."""
        super().update(*args, **kwargs)
        self.changed = True


class NativeReplication(ReplicationEngine):
    """The packet replication engine."""

    def __init__(self) -> None:
        super().__init__(WatchedDict(), WatchedDict())

    def attach(self, context: SwitchContext) -> None:
        """Be found in the context."""
        self._groups = _ReplicaRows(context, offset(at.SwitchMemory.groups))
        self._sessions = _ReplicaRows(context, offset(at.SwitchMemory.sessions))

    def sync(self) -> None:
        """Write the changes."""
        self.multicast = watched(self.multicast)
        self.clones = watched(self.clones)
        if self.multicast.changed:
            self.multicast.changed = False
            self._groups.write((group, replicas, 0, 0) for group, replicas in list(self.multicast.items()))
        if self.clones.changed:
            self.clones.changed = False
            self._sessions.write(
                (n, s.replicas, s.packet_length, s.class_of_service) for n, s in list(self.clones.items())
            )


def watched(groups: dict[int, _V]) -> WatchedDict[_V]:
    """A dictionary that is watched: this one, or a copy."""
    return groups if isinstance(groups, WatchedDict) else WatchedDict(groups)


class _ReplicaRows:
    """Rows of :class:`~offramp_p4.native.runtime.replicas.Replicas` by number."""

    def __init__(self, context: SwitchContext, base: int) -> None:
        self._context, self._base = context, base
        self._hash = HashTable(context, base, 1)

    def write(self, items: Iterator[tuple[int, tuple[Replica, ...], int, int]]) -> None:
        """Replace everything."""
        listed = list(items)
        self._hash.clear()
        pairs = [pair for _, replicas, *_ in listed for r in replicas for pair in (r.port, r.instance)]
        self._replicas = np.array(pairs or [0], np.int64)
        rows, start = [], address(self._replicas)
        for _, replicas, length, cos in listed:
            rows.append((start, len(replicas), length, cos))
            start += 16 * len(replicas)
        self._context.hold(self._base + offset(at.TableRecord.rows), np.array(rows or [(0, 0, 0, 0)], np.int64))
        if listed:
            self._hash.insert(as_words((n for n, *_ in listed), 1), np.arange(1, len(listed) + 1))
