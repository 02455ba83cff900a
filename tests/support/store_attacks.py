# SPDX-License-Identifier: Apache-2.0
"""Hostile clients of a store, in a process of their own, until it ends.

``python store_attacks.py KINDS RESP MEMCACHED LISTEN``, kinds separated by commas. They are slow: what they cost a
friend is the store's time, not this machine's. Guards prove the token of ``OFFRAMP_TOKEN_FILE``.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from offramp.leo.store.guard import KeyGuard
from offramp_base.listening import Token
from store_lab import Resp, dial, encoded

CLIENTS: Final = 8
DEAF: Final = 40
BIG: Final = "big"
"""A key of the store's that long answers consist of."""
_PAUSE_S: Final = 0.02
_SELDOM: Final = 50
"""Steps between two long answers: each costs any store the time to write it."""
_PER_GUARD: Final = 5
"""Steps between two guards."""


def _sent(sock: socket.socket, text: bytes) -> bool:
    """Send by a socket that does not wait; false where the store has closed the connection."""
    try:
        sock.sendall(text)
    except BlockingIOError:
        return True
    except OSError:
        sock.close()
        return False
    return True


def _drip(address: str, begin: bytes, rest: bytes) -> Iterator[None]:
    """Clients with a long unfinished command, each of which sends a byte at a time, and which come again."""

    def beginning() -> socket.socket:
        sock = dial(address)
        sock.sendall(begin)
        sock.setblocking(False)
        return sock

    socks = [beginning() for _ in range(CLIENTS)]
    for byte in itertools.cycle(rest):
        for place, sock in enumerate(socks):
            if not _sent(sock, bytes([byte])):
                socks[place] = beginning()
        yield


def _again(address: str, sent: bytes, held: int = 0) -> Iterator[None]:
    """Clients that send this and leave, or stay until so many have come."""
    socks: list[socket.socket] = []
    while True:
        with contextlib.suppress(OSError):  # the store closes the worst
            sock = dial(address)
            socks.append(sock)
            sock.sendall(sent)
        if len(socks) > held:
            socks.pop(0).close()
        yield


def _split(address: str) -> Iterator[None]:
    """Whole commands, a byte at a time, whose answers are read."""
    text = encoded("SET", "split", "x" * 20) + encoded("GET", "split") + b"GET split\r\n"
    socks = [dial(address) for _ in range(CLIENTS)]
    for sock in socks:
        sock.setblocking(False)
    for byte in itertools.cycle(text):
        for sock in socks:
            sock.sendall(bytes([byte]))
            with contextlib.suppress(BlockingIOError):
                sock.recv(1 << 16)
        yield


def _deaf(address: str) -> Iterator[None]:
    """Clients that ask for 60 MB each and never read; whoever is closed comes again."""
    socks: list[socket.socket] = []
    ask = encoded("MGET", *[BIG] * 60)
    for step in itertools.count():
        if step % _SELDOM == 0:
            if len(socks) >= DEAF:
                socks.pop(0).close()
            with contextlib.suppress(OSError):
                socks.append(dial(address))
                socks[-1].sendall(ask)
        yield


def _noise(addresses: tuple[str, ...]) -> Iterator[None]:
    """Random bytes to both protocols, and the beginnings of others (TLS, SSH, gRPC)."""
    rng = random.Random(1)
    greetings = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
    streams = [_again(address, b"", 20) for address in addresses]
    while True:
        for address in addresses:
            with contextlib.suppress(OSError), dial(address) as sock:
                sock.sendall(rng.choice([*greetings, rng.randbytes(rng.randrange(1, 3000))]))
        for each in streams:
            next(each)
        yield


def _guards(listen: str, resp: str) -> Iterator[None]:
    """Guards that acknowledge nothing, and writers of their keys, whose answers wait for them."""
    guards: deque[KeyGuard] = deque()
    writers = [Resp(resp) for _ in range(CLIENTS)]
    for step in itertools.count():
        if step % _PER_GUARD == 0:
            with contextlib.suppress(OSError):
                guards.append(KeyGuard(listen, Token.from_environment()))
                guards[-1].add([b"guarded:%d" % (step // _PER_GUARD % DEAF)])
        if len(guards) > DEAF:
            guards.popleft().close()
        writers[step % CLIENTS].send("SET", f"guarded:{step % DEAF}", step)
        yield


HALF: Final = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"y" * 200_000
_BINARY: Final = b"\x80\x01\x00\x02\x08\x00\x00\x00\x00\x0f\x42\x40" + bytes(12) + b"y" * 100_000
"""Half of a SET of a megabyte, by memcached's binary protocol."""
Attack = Callable[[str, str, str], Iterator[None]]
GUARDS: Final = "silent guards"
"""The one kind that proves a token, for which the store must have one."""
ATTACKS: Final[dict[str, Attack]] = {
    "silence": lambda resp, memcached, _: _each(_again(resp, b"", 100), _again(memcached, b"", 100)),
    "words": lambda resp, *_: _drip(resp, b"*65001\r\n$6\r\nEXISTS\r\n" + b"$1\r\nk\r\n" * 60_000, b"$1\r\nk\r\n"),
    "a line": lambda resp, *_: _drip(resp, b"SET " + b"x" * 60_000, b"x"),
    "keys": lambda _, memcached, __: _drip(memcached, b"get" + b" k" * 30_000, b" k"),
    "split": lambda resp, *_: _split(resp),
    "half values": lambda resp, *_: _again(resp, HALF, 100),
    "long answers": lambda resp, *_: _again(resp, encoded("MGET", *[BIG] * 2), 100),
    "deaf": lambda resp, *_: _deaf(resp),
    "web pages": lambda resp, memcached, _: _each(
        *[_again(each, b"POST / HTTP/1.1\r\nHost: a\r\n\r\nFLUSHALL\r\nflush_all\r\n") for each in (resp, memcached)]
    ),
    "cross protocol": lambda resp, memcached, _: _each(
        _again(resp, b"set k 0 0 1\r\n1\r\n\x80\x00" + bytes(22)), _again(memcached, encoded("SET", "k", "1"))
    ),
    "binary memcached": lambda _, memcached, __: _again(memcached, _BINARY, 100),
    "no protocol": lambda resp, memcached, _: _noise((resp, memcached)),
    GUARDS: lambda resp, _, listen: _guards(listen, resp),
}


def _each(*attacks: Iterator[None]) -> Iterator[None]:
    while True:
        for attack in attacks:
            next(attack)
        yield


def _main() -> None:
    given, kinds = sys.argv[1:], sys.argv[1:2] and sys.argv[1].split(",")
    if len(given) != 4 or not set(kinds) <= ATTACKS.keys():
        sys.exit(f"python store_attacks.py KINDS RESP MEMCACHED LISTEN, KINDS some of: {', '.join(ATTACKS)}")
    attacks = [ATTACKS[kind](*given[1:]) for kind in kinds]
    while True:
        for attack in attacks:
            next(attack)
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    _main()
