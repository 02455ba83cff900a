# SPDX-License-Identifier: Apache-2.0
"""A port that listens for UDP datagrams of the host at :class:`offramp_base.transport.udp.UdpSocket`'s other end."""

from __future__ import annotations

import logging

from offramp_base.listening import Token
from offramp_base.transport.udp import UdpSocket
from offramp_p4.ports.socket_port import SocketPort

_LOG = logging.getLogger(__name__)


class UdpPort(SocketPort):
    """The port's host is the one that is named, one that proves the token, or a process of this user.

    Raises:
        OfframpError: as :meth:`offramp_base.transport.udp.UdpSocket.listen`.
    """

    def __init__(self, where: str, token: Token | None = None) -> None:
        super().__init__()
        self._socket = self._udp = UdpSocket.listen(where, self.stats, token)
        self.name = self._udp.name

    @property
    def up(self) -> bool:
        """Always: a socket has no carrier."""
        return True

    def _lose(self, error: OSError) -> None:
        _LOG.info("%s: its host: %s", self.name, error.strerror)
        self._udp.forget()
        self._kept.drop()
