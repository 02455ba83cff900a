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
from collections.abc import Callable
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, parse_address
from offramp_base.listening.sockets import bind, remove, trusted_user
from offramp_base.transport.socket_owner import LocalSockets
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.session import DapSession, Starter

_LOG: Final = logging.getLogger(__name__)
MAX_CLIENTS: Final = 8
"""Most connections at once; one of them can have a debugger."""
GREETING_S: Final = 10.0
"""Seconds within which a client must launch or attach; after that it may be silent."""
_SEND_S: Final = 5
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
        self._socket.listen(MAX_CLIENTS)
        name = self._socket.getsockname()
        self.address = where if where.family == socket.AF_UNIX else Address(where.family, name)
        self._sockets = LocalSockets("tcp")
        self._clients: set[socket.socket] = set()
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
        for client in tuple(self._clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                if self._socket.fileno() < 0:
                    return
                continue
            refusal = self._refusal(sock)
            if refusal:
                _LOG.warning("debugger: a connection refused: %s", refusal)
                sock.close()
            else:
                threading.Thread(target=self._serve, args=(sock,), name="debugger client", daemon=True).start()

    def _refusal(self, sock: socket.socket) -> str:
        if not self._trusted(sock):
            return "another user"
        with self._lock:
            if len(self._clients) >= MAX_CLIENTS:
                return f"more than {MAX_CLIENTS} at once"
            self._clients.add(sock)
        return ""

    def _trusted(self, sock: socket.socket) -> bool:
        """Whether a connection, which comes from this machine, is of this user or root."""
        if sock.family == socket.AF_UNIX:
            return trusted_user(sock)
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
                session = DapSession(starter.debugger, starter, reader, writer, on_start=lambda: sock.settimeout(None))
                converse(session)
        except OSError:
            pass  # what was left to send to somebody who has gone
        finally:
            with self._lock:
                self._clients.discard(sock)


def serve_standard_streams(starter: Starter) -> None:
    """Talk to the client that started this process; everything else that is printed goes to standard error."""
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as reader, os.fdopen(os.dup(1), "wb") as writer:
        os.dup2(2, 1)
        converse(DapSession(starter.debugger, starter, reader, writer))


def converse(session: DapSession) -> None:
    """Run a session; malformed input ends it with one line."""
    try:
        session.run()
    except OfframpError as error:
        _LOG.warning("debugger: a client sent %s", error)
