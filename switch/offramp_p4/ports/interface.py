# SPDX-License-Identifier: Apache-2.0
"""A port on a network interface, which may vanish and return."""

from __future__ import annotations

import logging
import select
from collections.abc import Callable
from typing import TYPE_CHECKING

from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameSocket, LinkStats
from offramp_base.transport.interface import has_carrier, interface_index, is_up
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.sending import Backlog

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LOG = logging.getLogger(__name__)


class InterfacePort:
    """Frames of one interface by the socket that ``opener`` makes, each time with the counts so far.

    Raises:
        OfframpError: there is no such interface, or no permission.
    """

    def __init__(self, name: str, ifname: str, opener: Callable[[LinkStats | None], FrameSocket]) -> None:
        self.name = name
        self.stats = LinkStats()
        self._ifname = ifname
        self._opener = opener
        self._kept = Backlog(self.stats)
        self._socket: FrameSocket | None = None
        interface_index(ifname)
        if not is_up(ifname):
            _LOG.warning("interface %s is down; the port begins to work when it comes up", ifname)
            return
        self._socket = opener(self.stats)

    def interest(self) -> list[tuple[int, int]]:
        """The socket while the interface is there."""
        if self._socket is None:
            return []
        return [(self._socket.fileno(), select.POLLIN | (select.POLLOUT if self._kept else 0))]

    def receive(self) -> PacketBatch:
        """Frames that have arrived, up to one share; valid until the next call."""
        if self._socket is None:
            return PacketBatch.empty()
        try:
            return self._socket.receive()
        except OSError as error:
            self._lose(error)
            return PacketBatch.empty()

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames; while the interface is gone they are dropped."""
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

    def rest(self) -> None:
        """Nothing to do."""

    @property
    def congested(self) -> bool:
        """Never: a real interface drops."""
        return False

    @property
    def busy(self) -> bool:
        """The kernel takes no more: the interface is slower than what is sent, by ``tc`` or by its line."""
        return bool(self._kept)

    @property
    def up(self) -> bool:
        """Whether the interface is there, up, and has a carrier."""
        return self._socket is not None and has_carrier(self._ifname)

    def tick(self, now: float) -> None:  # noqa: ARG002
        """Count the frames that were missed; attach again to an interface that has returned."""
        if self._socket is not None:
            self._socket.refresh()
        if self._socket is not None or not is_up(self._ifname):
            return
        try:
            self._socket = self._opener(self.stats)
        except OfframpError:
            return
        _LOG.warning("interface %s is back", self._ifname)

    def close(self) -> None:
        """Release the interface."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _lose(self, error: OSError) -> None:
        _LOG.warning("interface %s: %s; waiting for it to return", self._ifname, error.strerror)
        self.close()
        self._kept.drop()
