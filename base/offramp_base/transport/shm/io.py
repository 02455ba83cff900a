# SPDX-License-Identifier: Apache-2.0
"""A host's end of a link in shared memory: no privileges, no loss, no copy by the kernel."""

from __future__ import annotations

import select
import socket
import time
from pathlib import Path

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.base import LinkStats
from offramp_base.transport.shm import bell
from offramp_base.transport.shm.rings import FrameRings, Spoilt
from offramp_base.transport.unix import STALL_S, check_path
from offramp_base.wire.batch import PacketBatch


class ShmIO:
    """A FrameIO through memory that the switch at ``path`` shares.

    The switch holds back when a host does not read, so :meth:`send` reads while it waits.

    Attributes:
        name: for messages.
        memory: the rings.

    Raises:
        OfframpError: nothing listens at ``path``, or it is not such a port.
    """

    def __init__(self, path: str | Path) -> None:
        self.name = f"shm:{check_path(path)}"
        self.stats = LinkStats()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.connect(str(path))
            self.memory: SharedMemory = bell.accept(self._socket, self.name)
            self._rings = FrameRings(self.memory, host=True)
        except OSError as error:
            self._socket.close()
            raise OfframpError(f"{self.name}: {error.strerror}; is the switch running?") from None
        except OfframpError:
            self._socket.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._arrived: list[PacketBatch] = []
        self._gone = ""

    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the switch is busy.

        Raises:
            OfframpError: the link is gone, or the switch takes nothing for :data:`STALL_S` seconds.
        """
        rows = np.arange(len(batch))
        deadline = time.monotonic() + STALL_S
        while len(rows):
            self._drain()
            if self._gone:
                raise OfframpError(f"{self.name}: {self._gone}")
            try:
                count = self._rings.put(batch, rows)
            except Spoilt as error:
                self._gone = self._spoilt(error)
                continue
            if count:
                bell.ring(self._socket)
                rows = rows[count:]
                self.stats.sent += count
                deadline = time.monotonic() + STALL_S
            elif time.monotonic() > deadline:
                raise OfframpError(f"{self.name}: the switch took no frame for {STALL_S:g} s")
            else:
                self._wait(1.0)

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: the switch closed the link, or spoilt it, and all frames have been received.
        """
        deadline = time.monotonic() + timeout_s
        self._drain()
        while not self._arrived and not self._gone:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._wait(left)
            self._drain()
        if not self._arrived and self._gone:
            raise OfframpError(f"{self.name}: {self._gone}")
        batch = PacketBatch.concatenate(self._arrived)
        self._arrived.clear()
        self.stats.received += len(batch)
        return batch

    def fileno(self) -> int:
        """The descriptor of the wake-up socket, for code that moves frames by itself."""
        return self._socket.fileno()

    def close(self) -> None:
        """Release the link."""
        self._socket.close()
        self.memory.close()

    def _wait(self, timeout_s: float) -> None:
        self._poll.poll(max(0.0, timeout_s) * 1000)

    def _drain(self) -> None:
        """Take all messages that have arrived; once the rings of the bell are heard, none is missed."""
        if not self._gone and not bell.hear(self._socket):
            self._gone = "the switch closed the link"
        try:
            while (part := self._rings.take()) is not None:
                self._arrived.append(part)
                if self._rings.give_back():
                    bell.ring(self._socket)
        except Spoilt as error:
            self._gone = self._spoilt(error)

    @staticmethod
    def _spoilt(error: Spoilt) -> str:
        return f"the switch spoilt the link: {error}"
