# SPDX-License-Identifier: Apache-2.0
"""A port whose host shares memory with it: :class:`offramp_base.transport.shm.io.ShmIO` at the other end."""

from __future__ import annotations

import logging
import select
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.framing import MAX_FRAME
from offramp_base.transport.shm import bell
from offramp_base.transport.shm.rings import MEMORY_BYTES, RING_BYTES, FrameRings, Spoilt
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.unix import FAIR_SHARE, HIGH_WATER, UnixPort

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_TOLD_BYTES: Final = RING_BYTES // 2
"""A host is woken for so much, for less when nothing else arrives: it may take the processor from the switch."""

_MOST_ROWS: Final = RING_BYTES // 16
"""Frames that a ring has room for, if each has the header of Ethernet."""

_LOG = logging.getLogger(__name__)


class ShmPort(UnixPort):
    """As a :class:`UnixPort`, whose socket carries no frames: it brings the memory of the rings, and wakes.

    Each host has memory of its own, which the port makes. One that writes there what cannot be is cut off.

    Raises:
        OfframpError: the socket cannot be made at ``path``, or llvmlite is missing.
    """

    transport = "shm"

    def __init__(self, path: str | Path) -> None:
        self._memory: SharedMemory | None = None
        self._rings: FrameRings | None = None
        self._untold = 0  # bytes
        self._waiting: deque[tuple[PacketBatch, npt.NDArray[np.intp], int]] = deque()  # the bytes, too
        super().__init__(path)

    def interest(self) -> list[tuple[int, int]]:
        """The listener while no host is connected, else the host, who also rings when there is room again."""
        return [((self._listener if self._host is None else self._host).fileno(), select.POLLIN)]

    def receive(self) -> list[PacketBatch]:
        """Some of the frames that have arrived; accepts a host if there is none."""
        if self._host is None and not self._accept():
            return []
        parts: list[PacketBatch] = []
        try:
            if self._take(parts, FAIR_SHARE):  # else there is more, and the bell stays as it is
                here = self._host is not None and bell.receive(self._host)
                self._take(parts, RING_BYTES)  # all: for what is there now the bell was rung
                if not here:
                    self._disconnect()
        except Spoilt as error:
            self._cut_off(error)
        if self._waiting:
            self.flush()
        self.stats.received += sum(map(len, parts))
        return parts

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames; without a host they are dropped, and always those that are too long for a link."""
        if rows is None:
            rows = np.arange(len(batch))
        lengths = batch.lengths[rows]
        if batch.data.shape[1] > MAX_FRAME and len(rows) and int(lengths.max()) > MAX_FRAME:
            fits = lengths <= MAX_FRAME
            self.stats.dropped += len(rows) - int(fits.sum())
            self.stats.unfit += len(rows) - int(fits.sum())
            rows, lengths = rows[fits], lengths[fits]
        if self._host is None or self._stalled():
            self.stats.dropped += len(rows)
            return
        if not len(rows):
            return
        if not self._waiting:
            self._progress = time.monotonic()
        size = int(lengths.sum())
        self._waiting.append((batch, rows, size))
        self._kept_bytes += size
        self.flush()

    def flush(self) -> None:
        """Send the frames that were kept, as far as there is room."""
        try:
            while self._waiting and self._rings is not None:
                batch, rows, size = self._waiting[0]
                count = self._rings.put(batch, rows)
                if not count:
                    break
                self._sent(batch, rows, size, count)
        except Spoilt as error:
            self._cut_off(error)
        if self._untold >= _TOLD_BYTES or (self._waiting and self._untold):
            self.rest()

    def rest(self) -> None:
        """Wake the host for frames that it has not been notified of."""
        if self._untold and self._host is not None:
            bell.ring(self._host)
        self._untold = 0

    @property
    def busy(self) -> bool:
        """Frames are kept because the host takes no more now."""
        return bool(self._waiting) and not self._stalled()

    @property
    def congested(self) -> bool:
        """Whether the host is far behind, but still reading."""
        return self._kept_bytes > HIGH_WATER and not self._stalled()

    def tick(self, now: float) -> None:  # noqa: ARG002 - once a second is often enough
        """Send what was kept, if a host that took something did not say so."""
        self.flush()

    def _sent(self, batch: PacketBatch, rows: npt.NDArray[np.intp], size: int, count: int) -> None:
        """The first of these frames, which take ``size`` bytes, have been sent."""
        if count < len(rows):
            left = size - int(batch.lengths[rows[:count]].sum())
            self._waiting[0] = batch, rows[count:], left
            size -= left
        else:
            self._waiting.popleft()
        self._kept_bytes -= size
        self._untold += size
        self._progress = time.monotonic()
        self.stats.sent += count
        self.stats.sent_bytes += size

    def _take(self, parts: list[PacketBatch], most: int) -> bool:
        """Take messages until there are ``most`` parts, each of one message or more; whether all were taken."""
        rings, took = self._rings, len(parts)
        if rings is None:
            return True
        part, rows = None, sum(map(len, parts))
        while len(parts) < most and (part := rings.take(most - len(parts))) is not None:
            parts.append(part)
            rows += len(part)
            if rows > _MOST_ROWS:
                raise Spoilt(f"{rows} frames at once: they are shorter than headers")
        if len(parts) > took and rings.give_back() and self._host is not None:
            bell.ring(self._host)
        return part is None and len(parts) < most

    def _stalled(self) -> bool:
        return bool(self._waiting) and self._behind()

    def _connected(self, host: socket.socket) -> None:
        host.setblocking(False)
        memory = SharedMemory(MEMORY_BYTES, "offramp-link")
        try:
            bell.offer(host, memory)
        except OSError:
            memory.close()
            host.close()
            return
        self._memory, self._rings = memory, FrameRings(memory, host=False)
        super()._connected(host)

    def _cut_off(self, error: Spoilt) -> None:
        _LOG.warning("%s: its host is cut off: %s", self.name, error)
        self.stats.malformed += 1
        self._disconnect()

    def _disconnect(self) -> None:
        self.stats.dropped += sum(len(rows) for _, rows, _ in self._waiting)
        self._waiting.clear()
        self._rings, self._untold = None, 0
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        super()._disconnect()
