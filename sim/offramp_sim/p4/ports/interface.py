"""A port on a network interface, which may vanish and return."""

from __future__ import annotations

import errno
import fcntl
import logging
import select
import socket
import struct

from offramp.errors import OfframpError
from offramp.transport.af_packet import AfPacketSocket, interface_index
from offramp.wire.batch import PacketBatch
from offramp_sim.p4.ports.base import PortStats

KEEP = 4096
"""Frames kept for a busy interface; beyond that they are lost, as in a switch whose queue is full."""
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 1
_RUNNING = _IFF_UP | 0x40

_LOG = logging.getLogger(__name__)


class InterfacePort:
    """AF_PACKET on one interface.

    Raises:
        OfframpError: there is no such interface, or no permission.
    """

    def __init__(self, ifname: str) -> None:
        self.name = ifname
        self.stats = PortStats()
        self._kept = PacketBatch.empty()
        self._socket: AfPacketSocket | None = None
        interface_index(ifname)
        if not is_up(ifname):
            _LOG.warning("interface %s is down; the port begins to work when it comes up", ifname)
            return
        self._socket = AfPacketSocket(ifname)

    def interest(self) -> list[tuple[int, int]]:
        """The socket while the interface is there."""
        if self._socket is None:
            return []
        events = select.POLLIN | (select.POLLOUT if len(self._kept) else 0)
        return [(self._socket.socket.fileno(), events)]

    def receive(self) -> PacketBatch:
        """What has arrived, up to one array full."""
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

    def send(self, batch: PacketBatch) -> None:
        """Send frames; while the interface is gone they are dropped."""
        self._kept = PacketBatch.concatenate([self._kept, batch])
        self.flush()
        if len(self._kept) > KEEP:
            self.stats.dropped += len(self._kept) - KEEP
            self._kept = self._kept.select(slice(0, KEEP))

    def flush(self) -> None:
        """Send what was kept."""
        if self._socket is None:
            self.stats.dropped += len(self._kept)
            self._kept = PacketBatch.empty()
            return
        while len(self._kept):
            before = self._socket.short
            try:
                done = self._socket.send(self._kept)
            except OSError as error:
                if error.errno == errno.EMSGSIZE:  # the first one is longer than the MTU
                    self.stats.dropped += 1
                    self._kept = self._kept.select(slice(1, None))
                    continue
                self._lose(error)
                return
            short = self._socket.short - before
            self.stats.sent += done - short
            self.stats.dropped += short
            self._kept = self._kept.select(slice(done, None))
            if not done:
                return

    @property
    def congested(self) -> bool:
        """Never: a real interface drops."""
        return False

    @property
    def up(self) -> bool:
        """Whether the interface is there, up, and has a carrier."""
        return self._socket is not None and flags(self.name) & _RUNNING == _RUNNING

    def tick(self, now: float) -> None:  # noqa: ARG002
        """Attach again to an interface that has returned."""
        if self._socket is not None or not is_up(self.name):
            return
        try:
            self._socket = AfPacketSocket(self.name)
        except OfframpError:
            return
        _LOG.warning("interface %s is back", self.name)

    def close(self) -> None:
        """Release the interface."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _lose(self, error: OSError) -> None:
        _LOG.warning("interface %s: %s; waiting for it to return", self.name, error.strerror)
        self.close()
        self.stats.dropped += len(self._kept)
        self._kept = PacketBatch.empty()


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
