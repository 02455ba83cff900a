# SPDX-License-Identifier: Apache-2.0
"""A client of nanomsg's publishers, as its SUB socket speaks."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

from offramp_p4_tools.dropin.nanomsg import Publisher

GREETING = b"\0SP\0\x00\x21\0\0"


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def subscriber(publisher: Publisher) -> socket.socket:
    """A client as nanomsg's SUB."""
    where = publisher.address.partition("://")[2]
    if publisher.address.startswith("ipc"):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        client.connect(where)
    else:
        host, _, port = where.rpartition(":")
        client = socket.create_connection((host, int(port)), 20)
    before = publisher.subscribers
    client.sendall(GREETING)
    assert exactly(client, 8) == b"\0SP\0\x00\x20\0\0"
    wait_until(lambda: publisher.subscribers == before + 1)
    return client


def exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        assert part, "closed"
        data += part
    return data


def message(client: socket.socket) -> bytes:
    """The next message over ipc."""
    kind, size = struct.unpack(">BQ", exactly(client, 9))
    assert kind == 1
    return exactly(client, size)
