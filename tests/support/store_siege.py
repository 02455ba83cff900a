# SPDX-License-Identifier: Apache-2.0
"""Hostile clients of a store, in a process of their own: ``python store_siege.py KIND RESP MEMCACHED``, until it ends.

They are slow: what they cost a friend is the store's time, not this machine's.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from store_lab import dial, encoded

CLIENTS: Final = 8
_PAUSE_S: Final = 0.02


def _drip(address: str, begin: bytes, rest: bytes) -> Iterator[None]:
    """Clients with a long unfinished command, each of which sends a byte at a time."""
    socks = [dial(address) for _ in range(CLIENTS)]
    for sock in socks:
        sock.sendall(begin)
    for byte in itertools.cycle(rest):
        for sock in socks:
            sock.sendall(bytes([byte]))
        yield


def _again(address: str, sent: bytes, held: int = 0) -> Iterator[None]:
    """Clients that send this and leave, or stay until so many have come."""
    socks: list[socket.socket] = []
    while True:
        sock = dial(address)
        with contextlib.suppress(OSError):  # the store closes the worst
            sock.sendall(sent)
        socks.append(sock)
        if len(socks) > held:
            socks.pop(0).close()
        yield


HALF: Final = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"y" * 200_000
ATTACKS: Final[dict[str, Callable[[str, str], Iterator[None]]]] = {
    "words": lambda resp, _: _drip(resp, b"*65001\r\n$6\r\nEXISTS\r\n" + b"$1\r\nk\r\n" * 60_000, b"$1\r\nk\r\n"),
    "a line": lambda resp, _: _drip(resp, b"SET " + b"x" * 60_000, b"x"),
    "keys": lambda _, memcached: _drip(memcached, b"get" + b" k" * 30_000, b" k"),
    "half values": lambda resp, _: _again(resp, HALF, 100),
    "long answers": lambda resp, _: _again(resp, encoded("MGET", *["big"] * 2), 100),
    "web pages": lambda resp, _: _again(resp, b"POST / HTTP/1.1\r\nHost: a\r\n\r\nFLUSHALL\r\n"),
    "no protocol": lambda _, memcached: _again(memcached, b"\x80" + b"\xff" * 2000),
}


def _main() -> None:
    kind, resp, memcached = sys.argv[1:4]
    attack = ATTACKS[kind](resp, memcached)
    while True:
        next(attack)
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    _main()
