# SPDX-License-Identifier: Apache-2.0
"""Frames that a port keeps while its socket is busy."""

from __future__ import annotations

import errno
from collections import deque
from typing import TYPE_CHECKING, Final

from offramp_base.transport.base import FrameSocket, LinkStats, OutgoingFrames
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

KEEP: Final = 4096
"""Frames kept for a busy link; beyond that they are lost, as in a switch whose queue is full."""


class Backlog:
    """Frames in order, at most :data:`KEEP`; those that are lost count as dropped in ``stats``."""

    def __init__(self, stats: LinkStats) -> None:
        self._stats = stats
        self._kept: deque[tuple[OutgoingFrames, int]] = deque()  # each from which frame on

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, socket: FrameSocket, batch: PacketBatch, rows: npt.NDArray[np.intp] | None) -> None:
        """Keep frames (``rows`` of the batch, or all) for ``socket``."""
        self._kept.append((socket.message(batch, rows), 0))

    def send(self, socket: FrameSocket) -> None:
        """Send as much as the socket takes, and drop what is too much to keep.

        Raises:
            OSError: the link is gone.
        """
        self._send(socket)
        excess = sum(len(message) - at for message, at in self._kept) - KEEP
        while excess > 0:  # what came last goes first
            message, at = self._kept.pop()
            keep = max(0, len(message) - at - excess)
            self._stats.dropped += len(message) - at - keep
            excess -= len(message) - at - keep
            if keep:
                self._kept.append((message.part(0, at + keep), at))

    def drop(self) -> None:
        """Discard everything kept."""
        self._stats.dropped += sum(len(message) - at for message, at in self._kept)
        self._kept.clear()

    def _send(self, socket: FrameSocket) -> None:
        while self._kept:
            message, at = self._kept[0]
            try:
                done = socket.send(message, at)
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    raise
                self._stats.dropped += 1  # the first one is longer than the link takes
                self._stats.unfit += 1
                done = 1
            if at + done < len(message):
                self._kept[0] = message, at + done
                if not done:
                    return
            else:
                self._kept.popleft()
