# SPDX-License-Identifier: Apache-2.0
"""The common base of ports on sockets that carry frames: interfaces and UDP."""

from __future__ import annotations

import select
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from offramp_base.transport.base import FrameSocket, LinkStats
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.sending import Backlog

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class SocketPort(ABC):
    """A port that keeps frames while its socket takes no more; without a socket it drops them."""

    name: str

    def __init__(self) -> None:
        self.stats = LinkStats()
        self._kept = Backlog(self.stats)
        self._socket: FrameSocket | None = None

    def interest(self) -> list[tuple[int, int]]:
        """The socket, if there is one."""
        if self._socket is None:
            return []
        return [(self._socket.fileno(), select.POLLIN | (select.POLLOUT if self._kept else 0))]

    def receive(self) -> list[PacketBatch]:
        """Frames that have arrived, up to one share; valid until the next call."""
        if self._socket is None:
            return []
        try:
            batch = self._socket.receive()
        except OSError as error:
            self._lose(error)
            return []
        return [batch] if len(batch) else []

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames; those that nobody receives are dropped."""
        if self._socket is None:
            self.stats.dropped += len(batch if rows is None else rows)
            return
        self._kept.add(self._socket, batch, rows)
        self.flush()

    def flush(self) -> None:
        """Send the frames that were kept."""
        if self._socket is None:
            return
        try:
            self._kept.send(self._socket)
        except OSError as error:
            self._lose(error)

    def rest(self) -> None:  # noqa: B027 - a method of every port
        """Do nothing."""

    @property
    def congested(self) -> bool:
        """Never: a network drops."""
        return False

    @property
    def busy(self) -> bool:
        """Whether frames are kept because the socket takes no more now."""
        return bool(self._kept)

    def tick(self, now: float) -> None:  # noqa: ARG002
        """Count the frames that were missed."""
        if self._socket is not None:
            self._socket.refresh()

    def close(self) -> None:
        """Release the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @abstractmethod
    def _lose(self, error: OSError) -> None:
        """Handle that the other end of the link is gone."""
