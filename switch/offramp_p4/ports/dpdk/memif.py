# SPDX-License-Identifier: Apache-2.0
"""The listener of a memif port (version 2.0), which checks a client's messages before DPDK's driver reads them.

The driver ends the process when strangers come and go, and trusts the sizes that it receives. So it listens in a
folder of this process, and connections come by way of this guard: a client of this user that greets properly is
connected to the driver, and each message is checked, with the memory that it brings, before it is passed on. What lies
in shared memory later, the driver reads by itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from offramp_base.listening import Access, Address
from offramp_base.listening.sockets import bind, remove, trusted_user, user_of

SIZE: Final = 128
"""Bytes of every message."""
HELLO_S: Final = 5.0
"""Seconds after which a client that has not greeted makes room for the next."""
_PAUSE_S: Final = 0.1  # for the driver to forget the client before
_VERSION: Final = 0x0200
ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, _, DISCONNECT = range(1, 9)
_HELLO: Final = struct.Struct("<H32sHHHHHB")
_INIT: Final = struct.Struct("<HHIB24s")
_REGION: Final = struct.Struct("<HHQ")
_RING: Final = struct.Struct("<HHHHIBH")
_MOST_REGIONS, _MOST_RINGS, _MOST_LOG2 = 256, 256, 14
_RING_HEAD, _DESCRIPTOR = 192, 16
_LOG: Final = logging.getLogger(__name__)


class _Refused(Exception):
    """A client is refused; the text says what is wrong with its message."""


@dataclass(slots=True)
class _Client:
    """A connected client.

    Attributes:
        driver: the connection to the driver, once the client has greeted.
        greeted: whether the driver's own greeting has been taken away.
        regions: bytes of each region of memory.
    """

    link: socket.socket
    since: float
    driver: socket.socket | None = None
    greeted: bool = False
    regions: dict[int, int] = field(default_factory=dict)


class MemifGuard:
    """Listens at ``path`` with mode 0600 for one client at a time; others wait.

    Args:
        path: path of the socket to which clients connect.
        inner: path of the socket at which the driver listens.
        number, secret: number and secret of the interface, which a client must name.
        free: whether the driver has no client.

    Raises:
        OfframpError: the socket cannot be made at ``path``.
    """

    def __init__(self, path: str, inner: str, number: int, secret: str, free: Callable[[], bool]) -> None:
        self._path, self._inner, self._number, self._secret = path, inner, number, secret.encode()
        self._free, self._client, self._last = free, None, 0.0
        self.strangers = 0
        self._listener = bind(Address(socket.AF_UNIX, path), Access(), "memif port", socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        self._listener.listen(1)

    _client: _Client | None

    def interest(self) -> list[tuple[int, int]]:
        """Descriptors and events of the client and the driver; without a client, of the listener."""
        if self._client is None:
            return [(self._listener.fileno(), select.POLLIN)] if time.monotonic() - self._last > _PAUSE_S else []
        ends = self._client.link, self._client.driver
        return [(end.fileno(), select.POLLIN) for end in ends if end is not None]

    def turn(self) -> None:
        """Handle a new client and the messages that have arrived; never waits."""
        if self._client is None:
            self._accept()
        if self._client is None:
            return
        try:
            self._from_client(self._client)
            if self._client.driver is not None:
                self._from_driver(self._client, self._client.driver)
        except (_Refused, OSError) as error:
            if str(error):
                _LOG.warning("memif:%s: a client is cut off: %s", self._path, error)
                self.strangers += 1
            self.drop()

    def tick(self, now: float) -> None:
        """Cut off a client that does not greet."""
        if self._client is not None and self._client.driver is None and now - self._client.since > HELLO_S:
            self.strangers += 1
            self.drop()

    def drop(self) -> None:
        """End the connection."""
        if self._client is not None:
            self._client.link.close()
            if self._client.driver is not None:
                self._client.driver.close()
            self._client, self._last = None, time.monotonic()

    def close(self) -> None:
        """End everything, and remove the socket."""
        self.drop()
        remove(self._listener)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        if not trusted_user(client):
            _LOG.warning("memif:%s: a process of user %d is turned away", self._path, user_of(client))
            self.strangers += 1
            client.close()
            return
        client.setblocking(False)
        self._client = _Client(client, time.monotonic())
        most = _MOST_REGIONS - 1, _MOST_RINGS - 1, _MOST_RINGS - 1, _MOST_LOG2
        greeting = _HELLO.pack(HELLO, b"offramp", _VERSION, _VERSION, *most)
        with contextlib.suppress(OSError):
            client.send(greeting.ljust(SIZE, b"\0"))

    def _from_client(self, client: _Client) -> None:
        for message, descriptors in _messages(client.link):
            try:
                self._check(client, message, descriptors)
                assert client.driver is not None
                socket.send_fds(client.driver, [message], descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)

    def _from_driver(self, client: _Client, driver: socket.socket) -> None:
        for message, descriptors in _messages(driver):
            if client.greeted:
                socket.send_fds(client.link, [message], descriptors)
            client.greeted = True
            for descriptor in descriptors:
                os.close(descriptor)

    def _check(self, client: _Client, message: bytes, descriptors: list[int]) -> None:
        if len(message) != SIZE:
            raise _Refused(f"a message of {len(message)} bytes")
        kind = int.from_bytes(message[:2], "little")
        if (client.driver is None) != (kind == INIT):
            raise _Refused(f"message {kind} out of turn")
        if kind == INIT:
            self._greet(client, message)
        elif kind == ADD_REGION:
            _check_region(client, message, descriptors)
        elif kind == ADD_RING:
            _check_ring(client, message, descriptors)
        elif kind not in (ACK, CONNECT, DISCONNECT) or descriptors:
            raise _Refused(f"message {kind} with {len(descriptors)} descriptors")

    def _greet(self, client: _Client, message: bytes) -> None:
        _, version, number, mode, secret = _INIT.unpack_from(message)
        if (version, number, mode) != (_VERSION, self._number, 0):
            raise _Refused(f"version {version:#x}, interface {number}, mode {mode}")
        if self._secret and secret.rstrip(b"\0") != self._secret:
            raise _Refused("a wrong secret")
        if not self._free():
            raise _Refused("the driver still has the client before")
        client.driver = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.driver.connect(self._inner)
        client.driver.setblocking(False)


def _check_region(client: _Client, message: bytes, descriptors: list[int]) -> None:
    """Check that memory is as large as the client says, and cannot shrink."""
    _, index, size = _REGION.unpack_from(message)
    if len(descriptors) != 1 or index != len(client.regions) or index >= _MOST_REGIONS:
        raise _Refused(f"region {index} with {len(descriptors)} descriptors")
    if not fcntl.fcntl(descriptors[0], fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        raise _Refused(f"region {index} may shrink")
    if not 0 < size <= os.fstat(descriptors[0]).st_size:
        raise _Refused(f"region {index} is not of {size} bytes")
    client.regions[index] = size


def _check_ring(client: _Client, message: bytes, descriptors: list[int]) -> None:
    """Check that a ring lies within a region."""
    _, _, index, region, offset, log2, _ = _RING.unpack_from(message)
    if len(descriptors) != 1 or index >= _MOST_RINGS or log2 > _MOST_LOG2:
        raise _Refused(f"ring {index} of 2^{log2} with {len(descriptors)} descriptors")
    if offset % 64 or offset + _RING_HEAD + (_DESCRIPTOR << log2) > client.regions.get(region, 0):
        raise _Refused(f"ring {index} is not in region {region}")


def _messages(end: socket.socket) -> list[tuple[bytes, list[int]]]:
    """The next message with its descriptors, if there is one.

    Raises:
        _Refused: the other side has hung up.
    """
    try:
        message, descriptors, _, _ = socket.recv_fds(end, SIZE + 1, 4)
    except BlockingIOError:
        return []
    if not message:
        for descriptor in descriptors:
            os.close(descriptor)
        raise _Refused
    return [(message, descriptors)]
