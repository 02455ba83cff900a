"""A link over a network interface: raw Ethernet frames by an AF_PACKET socket (packet(7))."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError
from offramp.transport import ring
from offramp.transport.mmsg import Message
from offramp.wire.batch import PacketBatch

MIN_FRAME = 14
"""An Ethernet header; the kernel takes nothing shorter."""
HEADROOM = 64
"""Room beyond the MTU: Ethernet header and tags."""
STALL_S = 10.0
_MOST_PARTS = 32
"""Of one call; frames may come as fast as they are taken."""

# <linux/if_packet.h>, <asm-generic/socket.h>; Python names none of these.
_SOL_PACKET = 263
_PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 1, 1
_PACKET_QDISC_BYPASS, _PACKET_IGNORE_OUTGOING = 20, 23
_ETH_P_ALL = 3
_SIOCGIFMTU = 0x8921


class AfPacketSocket:
    """A promiscuous packet socket on one interface that hears what arrives, not what it sends.

    Frames arrive in a ring of ``ring_bytes`` shared with the kernel, where each takes a slot of the MTU and more.
    ``truncated`` and ``short`` count frames that were too long to receive and too short to send.

    Raises:
        OfframpError: no such interface, or no permission.
    """

    def __init__(self, ifname: str, ring_bytes: int = ring.RING_BYTES) -> None:
        self.ifname = ifname
        self.index = interface_index(ifname)
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError:
            raise OfframpError(
                f"interface {ifname}: raw sockets need root or CAP_NET_RAW; unix:PATH links need neither"
            ) from None
        try:
            self._configure(ring_bytes)
        except OSError as error:
            self.socket.close()
            raise OfframpError(f"interface {ifname}: {error.strerror}") from None
        self.short = 0

    def _configure(self, ring_bytes: int) -> None:
        sock = self.socket
        sock.setblocking(False)
        self._ring = ring.Ring(sock, self._mtu() + HEADROOM, ring_bytes)
        for option in (_PACKET_QDISC_BYPASS, _PACKET_IGNORE_OUTGOING):
            sock.setsockopt(_SOL_PACKET, option, 1)
        membership = struct.pack("iHH8s", self.index, _PACKET_MR_PROMISC, 0, b"")
        sock.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
        # Bound last: before this the socket hears nothing, so no frame of another interface slips in.
        sock.bind((self.ifname, _ETH_P_ALL))

    def _mtu(self) -> int:
        import fcntl

        request = struct.pack("16si20x", self.ifname.encode(), 0)
        mtu: int = struct.unpack_from("16si", fcntl.ioctl(self.socket, _SIOCGIFMTU, request))[1]
        return mtu

    @property
    def truncated(self) -> int:
        """Frames longer than the interface's MTU, dropped (a NIC that merges packets makes such)."""
        return self._ring.truncated

    def missed(self) -> int:
        """Frames that came while the ring was full, since the last call."""
        return self._ring.missed()

    def receive(self) -> PacketBatch:
        """What has arrived, without waiting; valid until the next call, unpadded.

        Raises:
            OSError: ENETDOWN when the interface is down or gone.
        """
        return self._ring.receive()

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> Message:
        """Frames (``rows`` of the batch) made ready for :meth:`send`; too short ones are left out and counted."""
        lengths = batch.lengths if rows is None else batch.lengths[rows]
        fits = lengths >= MIN_FRAME
        if not fits.all():
            self.short += int(len(lengths) - fits.sum())
            rows = np.flatnonzero(fits) if rows is None else rows[fits]
        return Message(batch, rows)

    def send(self, message: Message, start: int = 0) -> int:
        """Hand frames to the kernel; how many it took. OSError when the interface is gone."""
        try:
            return message.send(self.socket, start)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return 0
            raise

    def close(self) -> None:
        """Release the interface."""
        self._ring.close()
        self.socket.close()


class AfPacketIO:
    """A FrameIO on a network interface.

    Raises:
        OfframpError: no such interface, or no permission.
    """

    def __init__(self, ifname: str) -> None:
        self._port = AfPacketSocket(ifname)
        self._poll = select.poll()
        self._poll.register(self._port.socket, select.POLLIN)

    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the interface is busy; frames below 14 bytes cannot be sent.

        Raises:
            OfframpError: the interface is gone, or takes nothing for :data:`STALL_S` seconds.
        """
        if len(batch) and int(batch.lengths.min()) < MIN_FRAME:
            raise OfframpError(
                f"interface {self._port.ifname}: frame of {int(batch.lengths.min())} bytes, "
                f"expected at least {MIN_FRAME}"
            )
        message, at = self._port.message(batch), 0
        deadline = time.monotonic() + STALL_S
        while at < len(message):
            try:
                done = self._port.send(message, at)
            except OSError as error:
                raise self._gone(error) from None
            if done:
                deadline = time.monotonic() + STALL_S
                at += done
            elif time.monotonic() > deadline:
                raise OfframpError(f"interface {self._port.ifname} took no frame for {STALL_S:g} s")
            else:
                time.sleep(0.0005)  # the transmit queue is full; poll(2) does not say when it has room

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: the interface is down or gone.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            parts: list[PacketBatch] = []
            try:
                while len(parts) < _MOST_PARTS and len(part := self._port.receive()):
                    parts.append(ring.padded(part))
            except OSError as error:
                raise self._gone(error) from None
            if parts or time.monotonic() >= deadline:
                return PacketBatch.concatenate(parts)

    def close(self) -> None:
        """Release the interface."""
        self._port.close()

    def _gone(self, error: OSError) -> OfframpError:
        return OfframpError(f"interface {self._port.ifname}: {error.strerror}")


def interface_index(ifname: str) -> int:
    """The kernel's number of an interface.

    Raises:
        OfframpError: there is no such interface; the message lists those there are.
    """
    try:
        return socket.if_nametoindex(ifname)
    except OSError:
        known = ", ".join(name for _, name in socket.if_nameindex())
        raise OfframpError(f"no interface {ifname!r}; there are {known or 'none'}") from None
