# SPDX-License-Identifier: Apache-2.0
"""Connections of a web server: as many as it can bear, none of which stays silent for long."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

SILENT_S: Final = 10.0
"""Longest time without a request, or with an answer that nobody reads."""
MOST: Final = 128
"""Most connections at a time; the most silent one goes when another comes."""
_LOOK_S: Final = 0.5
_NO_DESCRIPTOR_S: Final = 0.1


@dataclass(slots=True)
class _Silence:
    """Requests of a connection that are being answered, and the time since when there are none."""

    since_s: float
    requests: int = 0


class WebConnections:
    """Accepts a server's connections, and closes those that are silent.

    Attributes:
        refused: number of connections that came while all others were being answered.
        dropped: number of connections closed for their silence.
    """

    def __init__(self, silent_s: float = SILENT_S) -> None:
        self.refused = self.dropped = 0
        self._silent_s = silent_s
        self._open: dict[asyncio.BaseTransport, _Silence] = {}

    async def accept(self, sock: socket.socket, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Accept connections until the task is cancelled; without a free descriptor the most silent one goes."""
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        watch = loop.create_task(self._watch())
        try:
            while True:
                try:
                    connection, _ = await loop.sock_accept(sock)
                except ConnectionError:  # it has gone already
                    continue
                except OSError:  # no descriptor or no memory
                    self._drop_most_silent()
                    await asyncio.sleep(_NO_DESCRIPTOR_S)
                    continue
                await self._take(connection, protocol)
        finally:
            watch.cancel()
            for transport in list(self._open):
                _abort(transport)

    @contextmanager
    def answering(self, transport: asyncio.BaseTransport | None) -> Iterator[None]:
        """While a request is answered, its connection is not silent."""
        silence = self._open.get(transport) if transport is not None else None
        if silence is None:
            yield
            return
        silence.requests += 1
        try:
            yield
        finally:
            silence.requests -= 1
            silence.since_s = time.monotonic()

    async def _take(self, connection: socket.socket, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        self._forget()
        if len(self._open) >= MOST and not self._drop_most_silent():
            self.refused += 1
            connection.close()
            return
        try:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
        except OSError:
            connection.close()
            return
        self._open[transport] = _Silence(time.monotonic())

    def _drop_most_silent(self) -> bool:
        silent = [transport for transport, silence in self._open.items() if not silence.requests]
        if not silent:
            return False
        self._drop(min(silent, key=lambda transport: self._open[transport].since_s))
        return True

    def _drop(self, transport: asyncio.BaseTransport) -> None:
        del self._open[transport]
        self.dropped += 1
        _abort(transport)

    def _forget(self) -> None:
        for transport in [each for each in self._open if each.is_closing()]:
            del self._open[transport]

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(min(_LOOK_S, self._silent_s / 2))
            self._forget()
            now = time.monotonic()
            for transport, silence in list(self._open.items()):
                if not silence.requests and now - silence.since_s > self._silent_s:
                    self._drop(transport)


def _abort(transport: asyncio.BaseTransport) -> None:
    """Close without waiting until the peer has read what is left."""
    transport.abort() if isinstance(transport, asyncio.WriteTransport) else transport.close()
