"""A link over UDP: each frame is one datagram, as in QEMU's ``dgram`` network back end; no privileges, any network."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from typing import TYPE_CHECKING, Any, Final, Self, cast

from offramp.errors import OfframpError
from offramp.transport.base import LinkStats, Outgoing
from offramp.transport.datagrams import SOL_UDP, UDP_GRO, Datagrams, Inbox
from offramp.transport.framing import MAX_FRAME
from offramp.transport.mmsg import LIBC
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
_SOCKADDR_BYTES: Final = 16


class UdpSocket:
    """Frames to and from one peer; datagrams of others are not heard.

    A socket that was told no peer takes the first that sends, and another one when that is gone; until then what is
    sent is dropped. ``stats.missed`` counts what the kernel counts: a run of frames that it got in one piece, of up to
    64 of one length, is one.
    """

    shortest = 0

    def __init__(self, sock: socket.socket, name: str, stats: LinkStats | None = None) -> None:
        self.socket, self.name = sock, name
        self.stats = stats or LinkStats()
        self.connected = False
        self._inbox = Inbox()
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
            made._join(address)
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
        if not self.connected and not self._meet():
            return PacketBatch.empty()
        batch = self._inbox.receive(self.socket)
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
        if not self.connected:
            self.stats.dropped += len(datagrams) - start
            return len(datagrams) - start
        fitting = datagrams.fitting(start, MAX_FRAME)
        if fitting == start < len(datagrams):
            raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
        try:
            done = datagrams.part(start, fitting).send(self.socket)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            return 0
        self.stats.sent += done
        return done

    def forget(self) -> None:
        """Take the next peer that sends."""
        self.connected = False
        # connect(2) with no family dissolves the association; Python knows no such address.
        here = self.socket.getsockname()
        LIBC.connect(self.socket.fileno(), bytes(_SOCKADDR_BYTES), _SOCKADDR_BYTES)
        if self.socket.getsockname() != here:  # a port that the kernel chose goes with the association
            self.socket.bind(here)

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

    def _meet(self) -> bool:
        """Whether somebody has sent, who is the peer from now on."""
        try:
            _, address = self.socket.recvfrom(0, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        self._join(address)
        return True

    def _join(self, address: Address) -> None:
        self.socket.connect(address)
        level, option, headers = _PATH_MTU[self.socket.family]
        self._longest_run = self.socket.getsockopt(level, option) - headers
        self.connected = True


def resolve(where: str) -> tuple[socket.AddressFamily, Address]:
    """The address of ``HOST:PORT``; an IPv6 address stands in brackets.

    Raises:
        OfframpError: not of this form, or no such host.
    """
    host, colon, port = where.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise OfframpError(f"udp:{where}: expected udp:HOST:PORT")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
    except OSError as error:
        raise OfframpError(f"udp:{where}: {error.strerror}") from None
    return found[0][0], found[0][4]
