# SPDX-License-Identifier: Apache-2.0
"""A listener that hears the greetings of many peers and waits for none of them."""

from __future__ import annotations

import array
import contextlib
import errno
import os
import selectors
import socket
import time
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.listening.access import Access
from offramp_base.listening.address import Address, parse_address
from offramp_base.listening.handshake import ANSWER_BYTES, LENGTH, REFUSAL, ServerHandshake, frame
from offramp_base.listening.limits import ConnectionLimits
from offramp_base.listening.objects import parse_object
from offramp_base.listening.sockets import BACKLOG, bind, remove, trusted_user

_FD_BYTES: Final = 4


class Greeting:
    """A peer that has proved its token and sent its greeting; it waits for :meth:`accept` or :meth:`refuse`.

    Attributes:
        content: the greeting: an object of JSON, not yet checked field by field.
        peer: its address, for people.
        descriptors: descriptors that came with it; the caller that accepts the greeting owns them.
    """

    def __init__(self, listener: Listener, sock: socket.socket, peer: str, content: dict[str, Any], fds: list[int]):
        self.content, self.peer, self.descriptors = content, peer, fds
        self._listener, self._sock = listener, sock

    def accept(self, answer: Mapping[str, Any] | None = None) -> socket.socket:
        """Answer, and take over the connection, which is left non-blocking.

        Raises:
            OSError: the peer is gone; the connection is closed.
        """
        try:
            _send_all(self._sock, frame(answer or {}))
        except OSError:
            self._close()
            raise
        return self._sock

    def refuse(self, reason: str) -> None:
        """Tell the peer the reason, and count the refusal."""
        self._listener.refused["its request"] += 1
        with contextlib.suppress(OSError):
            _send_all(self._sock, frame({"error": reason[:1000]}))
        self._close()

    def _close(self) -> None:
        self._sock.close()
        _close_all(self.descriptors)


class _Stranger:
    """A connection whose greeting is not complete."""

    def __init__(self, sock: socket.socket, address: Address, handshake: ServerHandshake, end: float) -> None:
        self.sock, self.handshake, self.end = sock, handshake, end
        self.peer = str(address)
        self.host = None if address.local else str(address.where[0])
        self.proved = False
        self.want = ANSWER_BYTES
        self.header = True
        self.got = bytearray()
        self.descriptors: list[int] = []

    def read(self, descriptors: int) -> bool:
        """Read bytes that have arrived, up to the number wanted now; returns whether all of them are there.

        Raises:
            ConnectionError: the peer has closed.
            OSError: the connection is lost.
        """
        missing = self.want - len(self.got)
        if self.proved and descriptors and self.sock.family == socket.AF_UNIX:
            room = socket.CMSG_SPACE(descriptors * _FD_BYTES)
            data, rights, _, _ = self.sock.recvmsg(missing, room, socket.MSG_CMSG_CLOEXEC)
            for level, kind, content in rights:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    self.descriptors += array.array("i", content[: len(content) // _FD_BYTES * _FD_BYTES])
        else:
            data = self.sock.recv(missing)
        if not data:
            raise ConnectionError("closed before its greeting was complete")
        self.got += data
        return len(self.got) == self.want

    def close(self) -> None:
        self.sock.close()
        _close_all(self.descriptors)


class Listener:
    """Listens at an address; :meth:`poll` returns greetings that are complete and never waits.

    It belongs to one thread. Where another event loop watches it, :meth:`fileno` becomes readable when there is
    something to do; greetings that time out need a call now and then all the same.

    Args:
        address: ``HOST:PORT`` or ``unix:PATH``; port 0 takes a free one.
        access: the proof that peers must give.
        protocol: name of what is spoken here: a proof for one protocol is none for another.
        limits: limits of strangers.
        clock: seconds, monotonic.

    Attributes:
        address: the address at which it listens.
        refused: connections that were refused, by reason; the reasons are few, whatever peers say.

    Raises:
        OfframpError: the address is none, cannot be had, or is not served without a token.
    """

    def __init__(
        self,
        address: str | Address,
        access: Access,
        protocol: str,
        limits: ConnectionLimits | None = None,
        clock: Any = time.monotonic,
    ) -> None:
        self._access, self._protocol, self._clock = access, protocol, clock
        self._limits = limits or ConnectionLimits()
        place = parse_address(address) if isinstance(address, str) else address
        self._socket = bind(place, access, protocol)
        self._socket.listen(BACKLOG)
        self._socket.setblocking(False)
        self.address = str(Address(place.family, self._socket.getsockname()))
        self.refused: Counter[str] = Counter()
        self._strangers: dict[socket.socket, _Stranger] = {}
        self._selector = selectors.EpollSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)

    @property
    def sock(self) -> socket.socket:
        """The socket that listens, to set options on."""
        return self._socket

    @property
    def pending(self) -> int:
        """Connections whose greeting is not complete."""
        return len(self._strangers)

    def fileno(self) -> int:
        """A descriptor that is readable when :meth:`poll` has something to do."""
        return self._selector.fileno()

    def poll(self, timeout_s: float = 0.0) -> list[Greeting]:
        """Greetings that are complete now; the work of one call is bounded.

        Args:
            timeout_s: seconds to wait for something to happen.
        """
        complete = []
        accepting = False
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is self._socket:
                accepting = True
            elif (greeting := self._read_greeting(key.data)) is not None:
                complete.append(greeting)
        if accepting:
            self._accept()
        self._dismiss_silent()
        return complete

    def close(self) -> None:
        """Stop listening and turn away peers that have not finished greeting."""
        for stranger in list(self._strangers.values()):
            self._forget(stranger)
            stranger.close()
        self._selector.close()
        remove(self._socket)

    def _accept(self) -> None:
        for _ in range(self._limits.accepts):
            try:
                sock, name = self._socket.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._make_room(list(self._strangers.values()))
                return  # nobody waits, or the connection is gone again
            sock.setblocking(False)
            if sock.family == socket.AF_UNIX and not trusted_user(sock):
                self._turn_away(sock, "another user")
                continue
            handshake = ServerHandshake(self._access.token, self._protocol)
            try:
                _send_all(sock, handshake.challenge)
            except OSError:
                self._turn_away(sock, "gone before its greeting")
                continue
            stranger = _Stranger(sock, self._name(sock, name), handshake, self._clock() + self._limits.greeting_s)
            if len(self._strangers) >= self._limits.pending:
                self._make_room(self._strangers.values())
            elif stranger.host is not None:
                same = [s for s in self._strangers.values() if s.host == stranger.host]
                if len(same) >= self._limits.per_host:
                    self._make_room(same)
            self._strangers[sock] = stranger
            self._selector.register(sock, selectors.EVENT_READ, stranger)

    def _name(self, sock: socket.socket, name: Any) -> Address:
        where = self._socket.getsockname() if sock.family == socket.AF_UNIX else name
        return Address(socket.AddressFamily(sock.family), where)

    def _make_room(self, among: Collection[_Stranger]) -> None:
        """Turn away the stranger that has sent the least; among equals, the oldest."""
        silent = next((s for s in among if not s.proved and not s.got), None)  # a flood has many: no search
        if silent or among:
            self._refuse(silent or min(among, key=lambda s: (s.proved, len(s.got))), "too many silent peers")

    def _dismiss_silent(self) -> None:
        now = self._clock()
        while self._strangers:
            first = next(iter(self._strangers.values()))  # they stand in the order in which they came
            if first.end > now:
                return
            self._refuse(first, "no greeting in time")

    def _read_greeting(self, stranger: _Stranger) -> Greeting | None:
        """Continue a stranger's greeting; returns it once it is complete."""
        if self._strangers.get(stranger.sock) is not stranger:
            return None  # it made room for another
        try:
            while stranger.read(self._limits.descriptors):
                if not stranger.proved:
                    self._prove(stranger)
                elif stranger.header:
                    self._measure(stranger)
                else:
                    content = parse_object(bytes(stranger.got), "greeting")
                    self._forget(stranger)
                    return Greeting(self, stranger.sock, stranger.peer, content, stranger.descriptors)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            self._refuse(stranger, "gone before its greeting")
        except OfframpError as error:
            self._refuse(stranger, str(error))
        return None

    def _prove(self, stranger: _Stranger) -> None:
        verdict = stranger.handshake.accept(bytes(stranger.got))
        _send_all(stranger.sock, verdict or REFUSAL)
        if verdict is None:
            raise OfframpError("greeting: does not prove the token")
        stranger.proved = True
        stranger.want, stranger.got = LENGTH.size, bytearray()

    def _measure(self, stranger: _Stranger) -> None:
        (length,) = LENGTH.unpack(stranger.got)
        if not 0 < length <= self._limits.greeting_bytes:
            raise OfframpError(f"greeting: expected 1 to {self._limits.greeting_bytes} bytes")
        stranger.header, stranger.want, stranger.got = False, length, bytearray()

    def _refuse(self, stranger: _Stranger, reason: str) -> None:
        self._forget(stranger)
        self.refused[reason] += 1
        if stranger.proved:
            with contextlib.suppress(OSError):
                _send_all(stranger.sock, frame({"error": reason}))
        stranger.close()

    def _turn_away(self, sock: socket.socket, reason: str) -> None:
        self.refused[reason] += 1
        sock.close()

    def _forget(self, stranger: _Stranger) -> None:
        del self._strangers[stranger.sock]
        self._selector.unregister(stranger.sock)


def _send_all(sock: socket.socket, data: bytes) -> None:
    """Send a few bytes, for which a new connection has room; if it has not, the connection is lost."""
    if sock.send(data) != len(data):
        raise ConnectionError("the peer does not read")


def _close_all(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())
