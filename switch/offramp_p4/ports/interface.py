# SPDX-License-Identifier: Apache-2.0
"""A port on a network interface, which may vanish and return."""

from __future__ import annotations

import logging
from collections.abc import Callable

from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameSocket, LinkStats
from offramp_base.transport.interface import has_carrier, interface_index, is_up
from offramp_p4.ports.socket_port import SocketPort

_LOG = logging.getLogger(__name__)


class InterfacePort(SocketPort):
    """Frames of one interface by the socket that ``opener`` makes, each time with the counts so far.

    Raises:
        OfframpError: there is no such interface, or no permission.
    """

    def __init__(self, name: str, ifname: str, opener: Callable[[LinkStats | None], FrameSocket]) -> None:
        super().__init__()
        self.name = name
        self._ifname = ifname
        self._opener = opener
        interface_index(ifname)
        if not is_up(ifname):
            _LOG.warning("interface %s is down; the port begins to work when it comes up", ifname)
            return
        self._socket = opener(self.stats)

    @property
    def up(self) -> bool:
        """Whether the interface is there, up, and has a carrier."""
        return self._socket is not None and has_carrier(self._ifname)

    def tick(self, now: float) -> None:
        """Count the frames that were missed; attach again to an interface that has returned."""
        super().tick(now)
        if self._socket is not None or not is_up(self._ifname):
            return
        try:
            self._socket = self._opener(self.stats)
        except OfframpError:
            return
        _LOG.warning("interface %s is back", self._ifname)

    def _lose(self, error: OSError) -> None:
        _LOG.warning("interface %s: %s; waiting for it to return", self._ifname, error.strerror)
        self.close()
        self._kept.drop()
