# SPDX-License-Identifier: Apache-2.0
"""Debuggers over a socket, or over the standard streams."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, parse_address
from offramp_base.listening.places import ClientPlaces
from offramp_base.listening.sockets import bind, remove, trusted_user
from offramp_base.transport.socket_owner import LocalSockets, connection_owner
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.session import DapSession, Starter

_LOG: Final = logging.getLogger(__name__)
MAX_CLIENTS: Final = 8
"""Most connections at once; one of them can have a debugger."""
_WAITING: Final = 1024
"""Connections that the kernel holds until they are accepted, so that a flood keeps no client out."""
GREETING_S: Final = 10.0
"""Seconds within which a client must launch or attach; after that it may be silent."""
_SEND_S: Final = 5
_MOST_EVENTS: Final = 64
"""Kinds of events that are counted apart."""
MakeStarter = Callable[[], Starter]
"""Makes the starter of a connection, a new one for each."""


class Attacher(Starter):
    """Joins the switch that ``debugger`` belongs to."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger

    def attach(self) -> None:
        """Attach to the switch, which exists already."""


def attaching(debugger: Debugger) -> MakeStarter:
    """Makes starters for connections to a running switch."""
    return lambda: Attacher(debugger)


class DebugServer:
    """Accepts clients until :meth:`close`.

    Attributes:
        address: the address at which it listens.

    Raises:
        OfframpError: other machines reach the address, or it cannot be had.
    """

    def __init__(self, address: str, make: MakeStarter) -> None:
        self._make = make
        where = parse_address(address)
        self._socket = bind(where, Access(), "debugger")
        self._socket.listen(_WAITING)
        name = self._socket.getsockname()
        self.address = where if where.family == socket.AF_UNIX else Address(where.family, name)
        self._sockets = LocalSockets("tcp")
        self._clients = ClientPlaces(MAX_CLIENTS, lambda: self._refuse(f"more than {MAX_CLIENTS} at once"))
        self._events: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name="debugger", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Serve until :meth:`close`, by a signal handler for instance."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def close(self) -> None:
        """Accept no more clients, and let those that there are go."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        remove(self._socket)
        self._clients.cut()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                if self._socket.fileno() < 0:
                    return
                continue
            if not self._trusted(sock):
                self._refuse("another user")
                sock.close()
            elif self._clients.take(sock) is sock:
                sock.close()
            else:
                threading.Thread(target=self._serve, args=(sock,), name="debugger client", daemon=True).start()

    def _refuse(self, reason: str) -> None:
        self._note(f"a connection refused: {reason}")

    def _note(self, event: str) -> None:
        """Log what a stranger did, a flood of it ever more seldom."""
        with self._lock:
            known = event in self._events or len(self._events) < _MOST_EVENTS
            event = event if known else "what other strangers did"
            self._events[event] += 1
            count = self._events[event]
        if count & (count - 1) == 0:
            more = f" ({count} so far)" if count > 1 else ""
            _LOG.warning("debugger: %s%s", event, more)

    def _trusted(self, sock: socket.socket) -> bool:
        """Whether a connection, which comes from this machine, is of this user or root."""
        if sock.family == socket.AF_UNIX:
            return trusted_user(sock)
        owner = connection_owner(sock)
        if owner is not None:
            return owner in (os.geteuid(), 0)
        host, port = sock.getpeername()[:2]
        packed = ipaddress.ip_address(host).packed
        flow = bytes(4) if sock.family == socket.AF_INET6 else b""
        return self._sockets.trusted(struct.pack("=HH", sock.family, socket.htons(port)) + flow + packed) is True

    def _serve(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_S, 0))
        sock.settimeout(GREETING_S)
        try:
            with sock, sock.makefile("rb") as reader, sock.makefile("wb") as writer:
                starter = self._make()
                session = DapSession(starter.debugger, starter, reader, writer, on_start=lambda: self._started(sock))
                converse(session, self._note)
        except OSError:
            pass  # what was left to send to somebody who has gone
        finally:
            self._clients.leave(sock)

    def _started(self, sock: socket.socket) -> None:
        self._clients.greeted(sock)
        sock.settimeout(None)


def serve_standard_streams(starter: Starter) -> None:
    """Talk to the client that started this process; everything else that is printed goes to standard error."""
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as reader, os.fdopen(os.dup(1), "wb") as writer:
        os.dup2(2, 1)
        converse(DapSession(starter.debugger, starter, reader, writer))


def converse(session: DapSession, note: Callable[[str], None] | None = None) -> None:
    """Run a session; malformed input ends it with one line, which goes to the log or to ``note``."""
    try:
        session.run()
    except OfframpError as error:
        (note or _warn)(f"a client sent {error}")


def _warn(event: str) -> None:
    _LOG.warning("debugger: %s", event)
