# SPDX-License-Identifier: Apache-2.0
"""A port that connects to the Unix socket of another switch's port: a link between switches."""

from __future__ import annotations

import select
import socket

from offramp_p4.ports.unix import UnixPort


class UnixPeer(UnixPort):
    """The connecting end of a link whose other end is a :class:`UnixPort`; tries again while nothing listens there."""

    def interest(self) -> list[tuple[int, int]]:
        """The other switch, once connected."""
        if self._host is None:
            return []
        return [(self._host.fileno(), select.POLLIN | (select.POLLOUT if self._kept else 0))]

    @property
    def up(self) -> bool:
        """Whether the other switch is there."""
        return self._host is not None

    def tick(self, now: float) -> None:  # noqa: ARG002 - once a second is often enough
        """Connect if the link is down."""
        if self._host is None:
            self._accept()

    def close(self) -> None:
        """Close the link; the socket is the other switch's."""
        self._disconnect()

    def _open(self) -> None:
        self._accept()

    def _accept(self) -> bool:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            link.connect(str(self._path))
            self._connected(link)
        except OSError:
            link.close()
            return False
        return True
