# SPDX-License-Identifier: Apache-2.0
"""Places of a server that has a thread for each client."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class ClientPlaces:
    """A limited number of connections; when all places are taken, the oldest client yet to speak gives way.

    Args:
        most: number of places.
        on_refusal: called before a connection is cut for want of a place: its peer then finds the line in the log.
    """

    def __init__(self, most: int, on_refusal: Callable[[], None] = lambda: None) -> None:
        self.most = most
        self._on_refusal = on_refusal
        self._silent: dict[socket.socket, bool] = {}
        self._lock = threading.Lock()

    def take(self, client: socket.socket) -> socket.socket | None:
        """Give a client a place; the connection that is refused for it, which may be its own, or None."""
        with self._lock:
            refused = None
            if len(self._silent) >= self.most:
                refused = next((each for each, silent in self._silent.items() if silent), client)
                self._silent.pop(refused, None)
            if refused is not client:
                self._silent[client] = True
        if refused is not None:
            self._on_refusal()
            _cut(refused)
        return refused

    def greeted(self, client: socket.socket) -> None:
        """A client has spoken: its place is its own until it leaves."""
        with self._lock:
            if client in self._silent:
                self._silent[client] = False

    def leave(self, client: socket.socket) -> None:
        """A client's place is free again."""
        with self._lock:
            self._silent.pop(client, None)

    def cut(self) -> None:
        """Cut all connections; the threads that read them notice."""
        with self._lock:
            clients = list(self._silent)
        for client in clients:
            _cut(client)


def _cut(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)
