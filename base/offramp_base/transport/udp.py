# SPDX-License-Identifier: Apache-2.0
"""A link over UDP: each frame is one datagram, as in QEMU's ``dgram`` network back end; no privileges, any network."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import secrets
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, cast

from offramp_base.arguments import host_name
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.listening.token import NONCE_BYTES
from offramp_base.numerals import whole_number
from offramp_base.transport.base import LinkStats, OutgoingFrames
from offramp_base.transport.datagrams import SOL_UDP, UDP_GRO, Datagrams, Inbox
from offramp_base.transport.framing import MAX_FRAME
from offramp_base.transport.udp_guard import DatagramGuard, First, Local, NamedPeerGuard, Proved
from offramp_base.transport.udp_join import JOINING, prove, refusal
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Address = tuple[Any, ...]
PROVE_S: Final = 10.0
"""Seconds that a host waits for the port to accept its token."""
BUFFER: Final = 16 << 20
"""Requested buffer in bytes; without root, the kernel grants up to its own limit (``net.core.rmem_max``)."""
# <asm-generic/socket.h>, <linux/in.h>, <linux/in6.h>; Python names none of these.
_SO_RCVBUFFORCE, _SO_SNDBUFFORCE, _SO_MEMINFO, _DROPS = 33, 32, 55, 8
_PATH_MTU: Final = {socket.AF_INET: (socket.IPPROTO_IP, 14, 28), socket.AF_INET6: (socket.IPPROTO_IPV6, 24, 48)}
"""Level and name of the option, and bytes of the headers."""
_TELL_ERRORS: Final = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}
"""IP_RECVERR: an unconnected socket, too, is notified of its closed peer."""
_IPV6_NAME_BYTES: Final = 28


class UdpSocket:
    """Frames to and from one peer.

    One that listens has a guard that says who the peer is (:mod:`offramp_base.transport.udp_guard`); datagrams of
    others are dropped and counted as strangers', and so is what is sent while there is no peer, as dropped.
    ``stats.missed`` counts what the kernel counts: a run of frames that it got in one piece, of up to 64 of one length,
    is one.

    Attributes:
        longest_run: bytes of the longest frame that goes to the peer in one packet; such may be sent in one piece.
    """

    shortest = 0

    def __init__(self, sock: socket.socket, name: str, stats: LinkStats | None = None) -> None:
        self.socket, self.name = sock, name
        self.stats = stats or LinkStats()
        self._inbox = Inbox()
        self._guard: DatagramGuard | None = None  # the kernel knows the peer
        self._heard = self._joining = self._was_refused = False
        self._peer: bytes | None = None
        self.longest_run = 0
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
    def connect(cls, where: str, token: Token | None = None) -> Self:
        """Connect to the port at ``HOST:PORT``, as its host.

        Args:
            where: the port's address.
            token: that both prove; by default that of OFFRAMP_TOKEN_FILE. Without one the port learns that there
                is a host, which it believes processes of its own user on its machine.

        Raises:
            OfframpError: no such address, or, with a token, no port there that accepts it.
        """
        token = token or Token.from_environment()
        family, address = resolve(where)
        sock = socket.socket(family, socket.SOCK_DGRAM)
        link = cls(sock, f"udp:{where}")
        try:
            sock.connect(address)
            link.longest_run = _path_mtu(sock)
            link._peer = b""
            if token is None:
                link._joining = True
                with contextlib.suppress(ConnectionRefusedError):  # the next call will say so, too
                    sock.send(JOINING)
            else:
                prove(sock, token, link.name, secrets.token_bytes(NONCE_BYTES), PROVE_S)
        except OSError as error:
            sock.close()
            raise OfframpError(f"udp:{where}: {error.strerror}") from None
        except BaseException:
            sock.close()
            raise
        return link

    @classmethod
    def listen(cls, where: str, stats: LinkStats | None = None, token: Token | None = None) -> Self:
        """Listen at ``HOST:PORT``; the name of what is returned has the actual port where that was 0.

        Args:
            where: the address; behind it ``,peer=HOST:PORT`` names the peer, and ``,insecure`` takes the first that
                comes. Otherwise the peer proves the token, or is, on the loopback, a process of this user.
            stats: counters to use.
            token: token to prove; by default that of OFFRAMP_TOKEN_FILE.

        Raises:
            OfframpError: no such address here, it is in use, or it is reachable from other machines and there is
                neither peer nor token.
        """
        where, peer, insecure = _options(where)
        family, address = resolve(where)
        token = token or Token.from_environment()
        named = None if peer is None else _pack(*_of_family(peer, family))
        local = ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
        if not (local or token or named or insecure):
            raise OfframpError(
                f"udp:{where}: other machines reach this address; it needs ,peer=HOST:PORT behind it, a token "
                "(offramp token, OFFRAMP_TOKEN_FILE), or ,insecure where every machine that reaches it is trusted"
            )
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.bind(address)
            sock.setsockopt(*_TELL_ERRORS[family], 1)
        except OSError as error:
            sock.close()
            raise OfframpError(f"udp:{where}: {error.strerror}") from None
        host = where.rpartition(":")[0]
        link = cls(sock, f"udp:{host}:{sock.getsockname()[1]}", stats)
        if named is not None:
            link._guard = NamedPeerGuard()
            link._meet(named)
        elif insecure:
            link._guard = First()
        else:
            link._guard = Local() if token is None else Proved(token)
        return link

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self.socket.fileno()

    @property
    def settled(self) -> bool:
        """Whether the kernel alone decides what is the peer's: this is a host, whose port has answered."""
        return self._guard is None and not self._joining

    def receive(self) -> PacketBatch:
        """Frames that have arrived, without waiting; valid until the next call, unpadded.

        Frames that are longer than a link carries count as malformed.

        Raises:
            OSError: ECONNREFUSED when the peer has closed its socket; EACCES when the port refuses this host.
        """
        try:
            batch = self._receive()
        except ConnectionRefusedError:
            if self._peer_closed():
                raise
            batch = PacketBatch.empty()
        fits = batch.lengths <= MAX_FRAME
        if not fits.all():
            self.stats.malformed += len(batch) - int(fits.sum())
            batch = batch.select(fits)
        self.stats.received += len(batch)
        return batch

    def _receive(self) -> PacketBatch:
        if self._was_refused and self._peer_closed():
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        if self._guard is None:
            batch = self._inbox.receive(self.socket)
            if self._joining and len(batch):
                batch = self._look_for_refusal(batch)
        else:
            batch = self._inbox.receive(self.socket, self._peer if self._heard else None, self._admit)
        return batch

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> Datagrams:
        """Frames (``rows`` of the batch) made ready for :meth:`send`."""
        return Datagrams(batch, rows, self.longest_run)

    def send(self, message: OutgoingFrames, start: int = 0) -> int:
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
        part = datagrams.part(start, fitting)
        try:
            done = self._sent(part, self._peer)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            return 0
        self.stats.sent += done
        self.stats.sent_bytes += datagrams.size(start, start + done)
        return done

    def _sent(self, part: Datagrams, peer: bytes) -> int:
        try:
            return part.send(self.socket, peer)
        except ConnectionRefusedError:
            if self._peer_closed():
                raise
            return part.send(self.socket, peer)

    def forget(self) -> None:
        """Send to nobody until a peer is heard again, where the peer is not certain to be the right one.

        Everybody can say that a socket is closed.
        """
        if self._guard is None or not self._guard.proved:
            self._peer = None
            self._heard = False

    def _peer_closed(self) -> bool:
        """Whether an undeliverable datagram was sent to the peer, not to a stranger; clears the report."""
        self._was_refused, closed = False, self._guard is None
        with contextlib.suppress(BlockingIOError):
            while True:
                about = self.socket.recvmsg(0, 0, socket.MSG_ERRQUEUE)[3]
                closed |= self._peer is not None and _same(about, self._peer)
        return closed

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

    def _look_for_refusal(self, batch: PacketBatch) -> PacketBatch:
        """Check whether the first answer is a refusal of this host; none can come after a frame."""
        self._joining = False
        reason = refusal(next(batch.frames()))
        if reason is not None:
            raise OSError(errno.EACCES, reason)
        return batch

    def _admit(self, sender: bytes, datagram: Callable[[], bytes]) -> bool:
        """Whether a datagram is a frame of the peer, which it may make the peer."""
        assert self._guard is not None
        verdict = self._guard.judge(sender, datagram(), self._peer)
        if verdict.reply:
            try:
                self.socket.sendto(verdict.reply, _unpack(sender))
            except ConnectionRefusedError:  # of a datagram before
                self._was_refused = True
            except OSError:
                pass
        if verdict.meets and sender != self._peer:
            self._meet(sender)
        self._heard |= verdict.frame
        self.stats.strangers += verdict.refuses
        return verdict.frame

    def _meet(self, peer: bytes) -> None:
        self._peer, self._heard = peer, False
        with socket.socket(self.socket.family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(_unpack(peer))
                self.longest_run = _path_mtu(probe)
            except OSError:  # there is no way to it
                self.longest_run = 0


def _path_mtu(sock: socket.socket) -> int:
    """Bytes of the longest frame that goes to the peer of a connected socket in one packet."""
    level, option, headers = _PATH_MTU[sock.family]
    return sock.getsockopt(level, option) - headers


def _same(address: Address, name: bytes) -> bool:
    """Whether an address equals that of a struct sockaddr, whatever interface it names."""
    host, port, *_ = _unpack(name)
    return (str(address[0]).partition("%")[0], address[1]) == (host, port)


def _unpack(name: bytes) -> Address:
    """The address that a struct sockaddr_in or sockaddr_in6 holds."""
    port = int.from_bytes(name[2:4], "big")
    if len(name) < _IPV6_NAME_BYTES:
        return socket.inet_ntop(socket.AF_INET, name[4:8]), port
    flow, scope = int.from_bytes(name[4:8], "big"), struct.unpack_from("I", name, 24)[0]
    return socket.inet_ntop(socket.AF_INET6, name[8:24]), port, flow, scope


def _pack(family: socket.AddressFamily, address: Address) -> bytes:
    """An address as struct sockaddr_in or sockaddr_in6, in the form in which the kernel reports a sender's."""
    head = struct.pack("=H", family) + int(address[1]).to_bytes(2, "big")
    host = socket.inet_pton(family, str(address[0]).partition("%")[0])
    if family == socket.AF_INET:
        return head + host + bytes(8)
    return head + bytes(4) + host + struct.pack("=I", address[3])


def _options(where: str) -> tuple[str, str | None, bool]:
    """The address, the named peer, and whether the first to come is the peer.

    Raises:
        OfframpError: another option, or both.
    """
    address, *options = where.split(",")
    peer, insecure = None, False
    for option in options:
        name, _, value = option.partition("=")
        if name == "peer" and value and peer is None:
            peer = value
        elif option == "insecure" and not insecure:
            insecure = True
        else:
            raise OfframpError(f"udp:{where}: option {option!r}: expected peer=HOST:PORT or insecure")
    if peer is not None and insecure:
        raise OfframpError(f"udp:{where}: expected peer=HOST:PORT or insecure, not both")
    return address, peer, insecure


def _of_family(where: str, family: socket.AddressFamily) -> tuple[socket.AddressFamily, Address]:
    resolved, address = resolve(where)
    if resolved != family:
        raise OfframpError(f"udp: peer={where}: is not of the same family as the port's address")
    return resolved, address


def resolve(where: str) -> tuple[socket.AddressFamily, Address]:
    """The address of ``HOST:PORT``; an IPv6 address stands in brackets.

    Raises:
        OfframpError: not of this form, or no such host.
    """
    host, colon, port = where.rpartition(":")
    number = whole_number(port)
    if not colon or not host or number is None or number > 0xFFFF:
        raise OfframpError(f"udp:{where}: expected udp:HOST:PORT")
    bare = host.strip("[]")
    try:
        host_name(bare.partition("%")[0])  # a link-local address may have a zone
        answers = socket.getaddrinfo(bare, number, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise OfframpError(f"udp:{where}: {error.strerror}") from None
    except ValueError:  # what no host's name can be, which no resolver gets to see
        raise OfframpError(f"udp:{where}: no such host") from None
    return answers[0][0], answers[0][4]
