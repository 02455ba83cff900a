# SPDX-License-Identifier: Apache-2.0
"""The store's protocols: bytes that are nearly commands, cut anywhere, to a server in this process."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from typing import Any

from fuzzing import mutate
from offramp.leo.store.build import missing
from offramp.leo.store.server import StoreServer
from offramp.leo.store.settings import StoreSettings
from store_lab import encoded

NAME = "the store's protocols"
LIMIT_S = 20.0
MEMORY_MIB = 4096


def _binary(opcode: int, key: bytes = b"", extras: bytes = b"", value: bytes = b"") -> bytes:
    """A request of memcached's binary protocol."""
    body = extras + key + value
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(body), 7, 0) + body


EXAMPLES = (
    encoded("SET", "a", "1")
    + encoded("INCR", "a")
    + encoded("MGET", "a", "b")
    + encoded("SCAN", "0", "MATCH", "[a-c]*"),
    encoded("MULTI")
    + encoded("APPEND", "a", "xy")
    + encoded("SETRANGE", "a", "100", "z")
    + encoded("EXEC")
    + encoded("INFO"),
    encoded("HELLO", "3", "SETNAME", "n")
    + encoded("WATCH", "a")
    + encoded("EXPIRE", "a", "9")
    + encoded("GETEX", "a", "PX", "5"),
    encoded("SUBSCRIBE", "c", "d")
    + encoded("PSUBSCRIBE", "c*")
    + encoded("PUBLISH", "c", "text")
    + encoded("PUBSUB", "NUMSUB", "c")
    + encoded("UNSUBSCRIBE")
    + encoded("HELLO", "3")
    + encoded("PUBLISH", "d", "text"),
    encoded("REPLCONF", "run-id", "0" * 40, "listening-port", "1")
    + encoded("FOLLOW", "?", "0")
    + encoded("REPLCONF", "ACK", "7"),
    encoded("CLUSTER", "KEYSLOT", "{a}b")
    + encoded("CLUSTER", "COUNTKEYSINSLOT", "7")
    + encoded("CLUSTER", "SHARDS")
    + encoded("CLUSTER", "NODES")
    + encoded("READONLY")
    + encoded("ROLE")
    + encoded("WAIT", "0", "1"),
    b'set a "b\\x41 c"\r\nget a\r\nPING\r\n',
    b"set a 1 0 3\r\nabc\r\nget a b\r\ncas a 0 0 1 5\r\nx\r\nincr a 5\r\ntouch a 9\r\ngat 5 a\r\nstats\r\nquit\r\n",
    b"ms a 2 F1 T0 MA N5\r\nhi\r\nmg a v f s t c k Oab\r\nma a N0 J5 D2 v\r\nmd a q C5\r\nmg YQ== b\r\nme a\r\nmn\r\n",
    _binary(1, b"a", bytes(8), b"5")
    + _binary(5, b"a", bytes(7) + b"\1" + bytes(12))
    + _binary(0x0D, b"a")
    + _binary(0x19, b"a", b"", b"x")
    + _binary(0x1D, b"a", bytes(4))
    + _binary(0x10)
    + _binary(0x0A),
)
_MEMCACHED = (b"set a 1 0 3", b"ms ", b"\x80")
_state: dict[str, Any] = {}


def prepare() -> None:
    """A server that nobody but this process reaches."""
    if not missing():
        _state["server"] = StoreServer(
            StoreSettings(listen="", resp="127.0.0.1:0", value_bytes=4096, memory=1 << 20)
        ).__enter__()


def run(rng: random.Random) -> None:
    """Mutated commands in a few pieces; the server answers others as before."""
    if not _state:
        return
    server, example = _state["server"], rng.randrange(len(EXAMPLES))
    content = mutate.raw(rng, EXAMPLES[example]) if rng.random() < 0.8 else rng.randbytes(rng.randrange(200))
    memcached = EXAMPLES[example].startswith(_MEMCACHED)
    ours, theirs = socket.socketpair()
    ours.settimeout(5.0)
    server._lib.offramp_server_adopt(server._servers[0], theirs.detach(), 1 if memcached else 0)
    # The server hangs up on what is not a command.
    with ours, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        at = rng.randrange(len(content) + 1)
        for piece in (content[:at], content[at:]):
            ours.sendall(piece)
        ours.shutdown(socket.SHUT_WR)
        while ours.recv(1 << 16):
            pass
    check, theirs = socket.socketpair()
    check.settimeout(5.0)
    server._lib.offramp_server_adopt(server._servers[0], theirs.detach(), 0)
    with check:
        check.sendall(encoded("PING"))
        assert check.recv(100) == b"+PONG\r\n"
