# SPDX-License-Identifier: Apache-2.0
"""A port that listens for UDP datagrams of the host at :class:`offramp_base.transport.udp.UdpSocket`'s other end."""

from __future__ import annotations

import logging
import select
from typing import TYPE_CHECKING

from offramp_base.listening import Token
from offramp_base.transport.base import LinkStats
from offramp_base.transport.udp import UdpSocket
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.sending import Backlog

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LOG = logging.getLogger(__name__)


class UdpPort:
    """The port's host is the one that is named, one that proves the token, or a process of this user.

    Raises:
        OfframpError: as :meth:`offramp_base.transport.udp.UdpSocket.listen`.
    """

    def __init__(self, where: str, token: Token | None = None) -> None:
        self.stats = LinkStats()
        self._socket = UdpSocket.listen(where, self.stats, token)
        self.name = self._socket.name
        self._kept = Backlog(self.stats)

    def interest(self) -> list[tuple[int, int]]:
        """The socket."""
        return [(self._socket.fileno(), select.POLLIN | (select.POLLOUT if self._kept else 0))]

    def receive(self) -> PacketBatch:
        """Frames that have arrived, up to one share; valid until the next call."""
        try:
            return self._socket.receive()
        except OSError as error:
            self._lose(error)
            return PacketBatch.empty()

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames; without a host they are dropped."""
        self._kept.add(self._socket, batch, rows)
        self.flush()

    def flush(self) -> None:
        """Send the frames that were kept."""
        try:
            self._kept.send(self._socket)
        except OSError as error:
            self._lose(error)

    def rest(self) -> None:
        """Nothing to do."""

    @property
    def congested(self) -> bool:
        """Never: a network drops."""
        return False

    @property
    def busy(self) -> bool:
        """Frames are kept because the socket takes no more now."""
        return bool(self._kept)

    @property
    def up(self) -> bool:
        """Always: a socket has no carrier."""
        return True

    def tick(self, now: float) -> None:  # noqa: ARG002
        """Count the frames that were missed."""
        self._socket.refresh()

    def close(self) -> None:
        """Release the socket."""
        self._socket.close()

    def _lose(self, error: OSError) -> None:
        _LOG.info("%s: its host: %s", self.name, error.strerror)
        self._socket.forget()
        self._kept.drop()
