"""A port on a network interface, which may vanish and return."""

from __future__ import annotations

import errno
import fcntl
import logging
import select
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING

from offramp.errors import OfframpError
from offramp.transport.af_packet import AfPacketSocket, interface_index
from offramp.transport.mmsg import Message
from offramp.transport.ring import RING_BYTES
from offramp.wire.batch import PacketBatch
from offramp_sim.p4.ports.base import PortStats

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

KEEP = 4096
"""Frames kept for a busy interface; beyond that they are lost, as in a switch whose queue is full."""
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 1
_RUNNING = _IFF_UP | 0x40

_LOG = logging.getLogger(__name__)


class InterfacePort:
    """AF_PACKET on one interface; what arrives waits in ``ring_bytes`` of memory.

    Raises:
        OfframpError: there is no such interface, or no permission.
    """

    def __init__(self, ifname: str, ring_bytes: int = RING_BYTES) -> None:
        self.name = ifname
        self.stats = PortStats()
        self._kept: deque[tuple[Message, int]] = deque()  # each from which frame on
        self._ring_bytes = ring_bytes
        self._socket: AfPacketSocket | None = None
        interface_index(ifname)
        if not is_up(ifname):
            _LOG.warning("interface %s is down; the port begins to work when it comes up", ifname)
            return
        self._socket = AfPacketSocket(ifname, ring_bytes)

    def interest(self) -> list[tuple[int, int]]:
        """The socket while the interface is there."""
        if self._socket is None:
            return []
        events = select.POLLIN | (select.POLLOUT if self._kept else 0)
        return [(self._socket.socket.fileno(), events)]

    def receive(self) -> PacketBatch:
        """What has arrived, up to one share; valid until the next call."""
        if self._socket is None:
            return PacketBatch.empty()
        before = self._socket.truncated
        try:
            batch = self._socket.receive()
        except OSError as error:
            self._lose(error)
            return PacketBatch.empty()
        self.stats.malformed += self._socket.truncated - before
        self.stats.received += len(batch)
        return batch

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames; while the interface is gone they are dropped."""
        if self._socket is None:
            self.stats.dropped += len(batch if rows is None else rows)
            return
        before = self._socket.short
        message = self._socket.message(batch, rows)
        self.stats.dropped += self._socket.short - before
        self._kept.append((message, 0))
        self.flush()
        excess = sum(len(message) - at for message, at in self._kept) - KEEP
        while excess > 0:  # what came last goes first
            message, at = self._kept.pop()
            keep = max(0, len(message) - at - excess)
            self.stats.dropped += len(message) - at - keep
            excess -= len(message) - at - keep
            if keep:
                self._kept.append((message.part(0, at + keep), at))

    def flush(self) -> None:
        """Send what was kept."""
        while self._kept and self._socket is not None:
            message, at = self._kept[0]
            try:
                done = self._socket.send(message, at)
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    self._lose(error)
                    return
                self.stats.dropped += 1  # the first one is longer than the MTU
                done = 1
                self.stats.sent -= 1
            self.stats.sent += done
            if at + done < len(message):
                self._kept[0] = message, at + done
                if not done:
                    return
            else:
                self._kept.popleft()

    @property
    def congested(self) -> bool:
        """Never: a real interface drops."""
        return False

    @property
    def up(self) -> bool:
        """Whether the interface is there, up, and has a carrier."""
        return self._socket is not None and flags(self.name) & _RUNNING == _RUNNING

    def tick(self, now: float) -> None:  # noqa: ARG002
        """Count what was missed; attach again to an interface that has returned."""
        if self._socket is not None:
            self.stats.missed += self._socket.missed()
        if self._socket is not None or not is_up(self.name):
            return
        try:
            self._socket = AfPacketSocket(self.name, self._ring_bytes)
        except OfframpError:
            return
        _LOG.warning("interface %s is back", self.name)

    def close(self) -> None:
        """Release the interface."""
        if self._socket is not None:
            self.stats.missed += self._socket.missed()
            self._socket.close()
            self._socket = None

    def _lose(self, error: OSError) -> None:
        _LOG.warning("interface %s: %s; waiting for it to return", self.name, error.strerror)
        self.close()
        self.stats.dropped += sum(len(message) - at for message, at in self._kept)
        self._kept.clear()


def is_up(ifname: str) -> bool:
    """Whether the interface exists and is up."""
    return bool(flags(ifname) & _IFF_UP)


def flags(ifname: str) -> int:
    """The flags of an interface (netdevice(7)); 0 if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            reply = fcntl.ioctl(probe, _SIOCGIFFLAGS, struct.pack("16sh22x", ifname.encode()[:15], 0))
        except OSError:
            return 0
    found: int = struct.unpack_from("16sh", reply)[1]
    return found
