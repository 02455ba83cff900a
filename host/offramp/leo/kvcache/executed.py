# SPDX-License-Identifier: Apache-2.0
"""Record of executed writes: a duplicate or late frame gets the original reply and has no effect."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from offramp.leo.kvcache.wire import REMEMBERED, CacheFrame

MOST_CLIENTS: Final = 1024
"""Clients whose writes are remembered; the one whose last write is oldest is forgotten first."""


class Executed:
    """The last writes of each client."""

    def __init__(self) -> None:
        self._clients: OrderedDict[int, _Writes] = OrderedDict()

    def begin(self, frame: CacheFrame) -> bool:
        """Whether this write is to be executed: it is recent, and was not begun before."""
        writes = self._clients.setdefault(frame.client, _Writes())
        self._clients.move_to_end(frame.client)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return writes.begin(frame.request)

    def reply(self, frame: CacheFrame) -> CacheFrame | None:
        """The reply to this write; None while it is under way, or if it is forgotten."""
        writes = self._clients.get(frame.client)
        return None if writes is None else writes.replies.get(frame.request)

    def end(self, frame: CacheFrame, reply: CacheFrame | None) -> None:
        """Remember the reply to a write; None: it was refused, and may be tried again."""
        writes = self._clients.get(frame.client)
        if writes is None or frame.request not in writes.replies:
            return
        if reply is None:
            del writes.replies[frame.request]
        else:
            writes.replies[frame.request] = reply


class _Writes:
    """One client's writes by request number, for the last :data:`REMEMBERED` numbers."""

    def __init__(self) -> None:
        self.replies: dict[int, CacheFrame | None] = {}
        self._newest = -1

    def begin(self, request: int) -> bool:
        if request in self.replies or request <= self._newest - REMEMBERED:
            return False
        self.replies[request] = None
        if request > self._newest:
            self._newest = request
            while (oldest := next(iter(self.replies))) <= request - REMEMBERED:
                del self.replies[oldest]
        return True
