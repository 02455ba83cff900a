# SPDX-License-Identifier: Apache-2.0
"""Values of the tree, read for a request and written into notifications."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from offramp_base.gnmi.schema import PROTO, gnmi
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.ports.panel import FrontPanel
from offramp_p4_tools.gnmi.model import KEY, ROOT
from offramp_p4_tools.gnmi.selection import Selected
from offramp_p4_tools.gnmi.values import Known, json_value, scalar_value, subtree

MOST_LEAVES: Final = 50_000
"""Leaves that all paths of one request name together, those named twice counted twice."""
_CHUNK: Final = 500
"""Updates in one notification of a subscription."""
_LIST: Final = len(ROOT) - 1


class NotificationContext:
    """The common part of all notifications that answer one request."""

    def __init__(self, panel: FrontPanel, prefix: Any, encoding: int) -> None:
        self._panel, self._encoding = panel, encoding
        # Paths are written from the root on; the prefix tells whose they are, in the words of the client.
        self._prefix = gnmi.Path(target=prefix.target, origin=prefix.origin) if prefix.ByteSize() else None
        self._leaves = 0

    def count(self, leaves: int) -> None:
        """Count ``leaves`` more requested leaves.

        Raises:
            RpcError: RESOURCE_EXHAUSTED, these are too many.
        """
        self._leaves += leaves
        if self._leaves > MOST_LEAVES:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"the paths name more than {MOST_LEAVES} values together")

    def known(self, selected: Iterable[Selected]) -> Iterator[Known]:
        """The leaves that are there, with their values now."""
        for port, leaf, _ in selected:
            value = leaf.value(self._panel, port)
            if value is not None:
                yield port, leaf, value

    def snapshot(self, selected: Sequence[Selected]) -> Any:
        """One notification with all that a path of a Get names: leaves, or what holds them as a value of JSON."""
        update = self._empty()
        if self._encoding == PROTO:
            self._add(update, self.known(selected))
            return update
        for (names, port), group in groupby(sorted(selected, key=_node), key=_node):
            members = list(group)
            known = list(self.known(members))
            if not known:
                continue
            if names == members[0].leaf.full:
                self._add(update, known)
                continue
            value = subtree(known, len(names), self._encoding)
            update.update.add(path=_path(names, port), val=json_value(value, self._encoding))
        return update

    def notifications(self, known: Iterable[Known]) -> Iterator[Any]:
        """Notifications with these leaves."""
        update = self._empty()
        for each in known:
            if len(update.update) == _CHUNK:
                yield update
                update = self._empty()
            self._add(update, [each])
        if update.update:
            yield update

    def _empty(self) -> Any:
        return gnmi.Notification(timestamp=time.time_ns(), prefix=self._prefix)

    def _add(self, notification: Any, known: Iterable[Known]) -> None:
        for port, leaf, value in known:
            notification.update.add(path=_path(leaf.full, port), val=scalar_value(leaf, value, self._encoding))


def _node(selected: Selected) -> tuple[tuple[str, ...], int]:
    """The node that a path names: names from the root on, and the port, or -1 above the ports."""
    names = selected.leaf.full[: selected.depth]
    return names, selected.port if selected.depth > _LIST else -1


def _path(names: Sequence[str], port: int) -> Any:
    path = gnmi.Path()
    for at, name in enumerate(names):
        element = path.elem.add(name=name)
        if at == _LIST:
            element.key[KEY] = str(port)
    return path
