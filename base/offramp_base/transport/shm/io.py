# SPDX-License-Identifier: Apache-2.0
"""A host's end of a link in shared memory: no privileges, no loss, no copy by the kernel."""

from __future__ import annotations

import select
import time
from functools import cached_property

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.host_link import CLOSED, STALL_S, HostLink
from offramp_base.transport.shm import bell
from offramp_base.transport.shm.rings import FrameRings, Spoilt
from offramp_base.wire.batch import PacketBatch


class ShmIO(HostLink):
    """A link through memory that the switch shares; its socket only wakes.

    Attributes:
        memory: the rings.
    """

    transport = "shm"
    memory: SharedMemory

    def _connected(self) -> None:
        self.memory = bell.accept(self._socket, self.name)

    @cached_property
    def _rings(self) -> FrameRings:
        """Made when first needed: where C++ moves the frames, no machine code for it is loaded here."""
        return FrameRings(self.memory, host=True)

    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the switch is busy.

        Raises:
            OfframpError: the link is gone, or the switch takes nothing for sixty seconds.
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
                self._spoilt(error)
                continue
            if count:
                bell.ring(self._socket)
                rows = rows[count:]
                self.stats.sent += count
                deadline = time.monotonic() + STALL_S
            else:
                self._check_stall(deadline)
                self._wait(select.POLLIN, 1.0)

    def close(self) -> None:
        """Release the link."""
        super().close()
        self.memory.close()

    def _drain(self) -> bool:
        """Take all messages that have arrived; once the rings of the bell are heard, none is missed."""
        before = len(self._arrived)
        if not self._gone and not bell.receive(self._socket):
            self._gone = CLOSED
        try:
            while (part := self._rings.take()) is not None:
                self._arrived.append(part)
                if self._rings.give_back():
                    bell.ring(self._socket)
        except Spoilt as error:
            self._spoilt(error)
        return len(self._arrived) > before

    def _spoilt(self, error: Spoilt) -> None:
        self._gone = f"the switch spoilt the link: {error}"
