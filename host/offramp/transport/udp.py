"""A link over UDP: each frame is one datagram, as in QEMU's ``dgram`` network back end; no privileges, any network."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from typing import TYPE_CHECKING, Any, Final, Self, cast

from offramp.errors import OfframpError
from offramp.numerals import whole_number
from offramp.transport.base import LinkStats, Outgoing
from offramp.transport.datagrams import SOL_UDP, UDP_GRO, Datagrams, Inbox
from offramp.transport.framing import MAX_FRAME
from offramp.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Address = tuple[Any, ...]
BUFFER: Final = 16 << 20
"""Requested; the kernel grants up to its own limit (``net.core.rmem_max``) to those who are not root."""
# <asm-generic/socket.h>, <linux/in.h>, <linux/in6.h>; Python names none of these.
_SO_RCVBUFFORCE, _SO_SNDBUFFORCE, _SO_MEMINFO, _DROPS = 33, 32, 55, 8
_PATH_MTU: Final = {socket.AF_INET: (socket.IPPROTO_IP, 14, 28), socket.AF_INET6: (socket.IPPROTO_IPV6, 24, 48)}
"""Level and name of the option, and bytes of the headers."""
_TELL_ERRORS: Final = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}
"""IP_RECVERR: a socket that is not connected hears of its closed peer, too."""
_IPV6_NAME_BYTES: Final = 28


class UdpSocket:
    """Frames to and from one peer.

    One that was told no peer sends to whom it heard last; before it has heard anybody, and when that peer's socket is
    closed, what is sent is dropped. ``stats.missed`` counts what the kernel counts: a run of frames that it got in one
    piece, of up to 64 of one length, is one.
    """

    shortest = 0

    def __init__(self, sock: socket.socket, name: str, stats: LinkStats | None = None) -> None:
        self.socket, self.name = sock, name
        self.stats = stats or LinkStats()
        self._inbox = Inbox()
        self._listens = True
        self._peer: bytes | None = None
        self._longest_run = 0
        self._drops = 0
        sock.setblocking(False)
        for forced, plain in ((_SO_RCVBUFFORCE, socket.SO_RCVBUF), (_SO_SNDBUFFORCE, socket.SO_SNDBUF)):
            try:
                sock.setsockopt(socket.SOL_SOCKET, forced, BUFFER)
            except PermissionError:
                sock.setsockopt(socket.SOL_SOCKET, plain, BUFFER)
        with contextlib.suppress(OSError):  # before Linux 5.0 every datagram comes alone
            sock.setsockopt(SOL_UDP, UDP_GRO, 1)

    @classmethod
    def connect(cls, where: str) -> Self:
        """To the peer at ``HOST:PORT``.

        Raises:
            OfframpError: no such address.
        """
        family, address = resolve(where)
        sock = socket.socket(family, socket.SOCK_DGRAM)
        made = cls(sock, f"udp:{where}")
        try:
            sock.connect(address)
            made._longest_run = _path_mtu(sock)
            made._listens, made._peer = False, b""  # the kernel knows it
        except OSError as error:
            sock.close()
            raise OfframpError(f"udp:{where}: {error.strerror}") from None
        return made

    @classmethod
    def listen(cls, where: str, stats: LinkStats | None = None) -> Self:
        """At ``HOST:PORT``; the name of what is returned has the port where that was 0.

        Raises:
            OfframpError: no such address here, or it is in use.
        """
        family, address = resolve(where)
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.bind(address)
            sock.setsockopt(*_TELL_ERRORS[family], 1)
        except OSError as error:
            sock.close()
            raise OfframpError(f"udp:{where}: {error.strerror}") from None
        host = where.rpartition(":")[0]
        return cls(sock, f"udp:{host}:{sock.getsockname()[1]}", stats)

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self.socket.fileno()

    def receive(self) -> PacketBatch:
        """What has arrived, without waiting; valid until the next call, unpadded.

        Frames that are longer than a link carries count as malformed.

        Raises:
            OSError: ECONNREFUSED when the peer has closed its socket.
        """
        batch = self._inbox.receive(self.socket)
        if self._listens and len(batch) and self._inbox.sender != self._peer:
            self._meet(self._inbox.sender)
        fits = batch.lengths <= MAX_FRAME
        if not fits.all():
            self.stats.malformed += len(batch) - int(fits.sum())
            batch = batch.select(fits)
        self.stats.received += len(batch)
        return batch

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> Datagrams:
        """Frames (``rows`` of the batch) made ready for :meth:`send`."""
        return Datagrams(batch, rows, self._longest_run)

    def send(self, message: Outgoing, start: int = 0) -> int:
        """Hand frames from number ``start`` on to the kernel; how many it took.

        Raises:
            OSError: ECONNREFUSED when the peer has closed its socket; EMSGSIZE: the next frame is longer than
                a link carries.
        """
        datagrams = cast("Datagrams", message)
        if self._peer is None:
            self.stats.dropped += len(datagrams) - start
            return len(datagrams) - start
        fitting = datagrams.fitting(start, MAX_FRAME)
        if fitting == start < len(datagrams):
            raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
        try:
            done = datagrams.part(start, fitting).send(self.socket, self._peer)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            return 0
        self.stats.sent += done
        return done

    def forget(self) -> None:
        """Send to nobody until somebody is heard."""
        self._peer = None
        with contextlib.suppress(BlockingIOError):
            while True:  # what the kernel says about datagrams that nobody took
                self.socket.recvmsg(0, 0, socket.MSG_ERRQUEUE)

    def refresh(self) -> None:
        """Count the datagrams that came while the buffer was full."""
        if self.socket.fileno() < 0:
            return
        drops: int = struct.unpack_from("I", self.socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36), 4 * _DROPS)[0]
        self.stats.missed += drops - self._drops & 0xFFFF_FFFF
        self._drops = drops

    def close(self) -> None:
        """Release the socket."""
        self.refresh()
        self.socket.close()

    def _meet(self, peer: bytes) -> None:
        self._peer = peer
        with socket.socket(self.socket.family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(_unpack(peer))
                self._longest_run = _path_mtu(probe)
            except OSError:  # there is no way to it
                self._longest_run = 0


def _path_mtu(sock: socket.socket) -> int:
    """Bytes of the longest frame that goes to the peer of a connected socket in one packet."""
    level, option, headers = _PATH_MTU[sock.family]
    return sock.getsockopt(level, option) - headers


def _unpack(name: bytes) -> Address:
    """Of struct sockaddr_in or sockaddr_in6."""
    port = int.from_bytes(name[2:4], "big")
    if len(name) < _IPV6_NAME_BYTES:
        return socket.inet_ntop(socket.AF_INET, name[4:8]), port
    flow, scope = int.from_bytes(name[4:8], "big"), struct.unpack_from("I", name, 24)[0]
    return socket.inet_ntop(socket.AF_INET6, name[8:24]), port, flow, scope


def resolve(where: str) -> tuple[socket.AddressFamily, Address]:
    """The address of ``HOST:PORT``; an IPv6 address stands in brackets.

    Raises:
        OfframpError: not of this form, or no such host.
    """
    host, colon, port = where.rpartition(":")
    number = whole_number(port)
    if not colon or not host or number is None or number > 0xFFFF:
        raise OfframpError(f"udp:{where}: expected udp:HOST:PORT")
    try:
        found = socket.getaddrinfo(host.strip("[]"), number, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise OfframpError(f"udp:{where}: {error.strerror}") from None
    except ValueError:  # what no host's name can be: a null byte, a label that is empty or too long
        raise OfframpError(f"udp:{where}: no such host") from None
    return found[0][0], found[0][4]
