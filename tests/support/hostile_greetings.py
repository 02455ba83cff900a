# SPDX-License-Identifier: Apache-2.0
"""Greetings of strangers to a listener, in a process of their own: silence, noise, halves, other tokens, great lengths.

``python hostile_greetings.py ADDRESS COUNT SEED RATE`` greets ``HOST:PORT``, ``unix:PATH`` or ``udp:HOST:PORT``, so
many times a second. With ``--decoy`` the same greetings go to a listener of this process: the same work for the
machine, and nobody is disturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from offramp.nic import wire
from offramp_base.transport import udp_join

KEPT = 300
"""Connections that stay open at a time."""
CHALLENGE_BYTES = 37
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def _decoy(listening: socket.socket) -> None:
    """Accept, challenge, hear a little, and hang up, as the real one does."""
    heard: deque[socket.socket] = deque()
    while True:
        sock, _ = listening.accept()
        with contextlib.suppress(OSError):
            sock.sendall(bytes(CHALLENGE_BYTES))
        heard.append(sock)
        while len(heard) > KEPT:
            heard.popleft().close()


def _hear(listening: socket.socket) -> None:
    while True:
        listening.recv(65535)


def _stand_in(family: int, kind: int, folder: str) -> Any:
    """The address of a listener of this process."""
    listening = socket.socket(family, kind)
    listening.bind(str(Path(folder) / "decoy") if family == socket.AF_UNIX else ("127.0.0.1", 0))
    if kind == socket.SOCK_STREAM:
        listening.listen(1024)
    hears = _decoy if kind == socket.SOCK_STREAM else _hear
    threading.Thread(target=hears, args=(listening,), daemon=True).start()
    return listening.getsockname()


def _connection(family: int, where: Any, rng: random.Random) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(10)
    sock.connect(where)
    match rng.randrange(8):
        case 0:  # silent
            pass
        case 1:
            sock.sendall(rng.randbytes(rng.randrange(1, 4096)))
        case 2:  # half of an answer to a challenge
            sock.sendall(rng.randbytes(rng.randrange(1, 64)))
        case 3:  # of another token
            sock.sendall(rng.randbytes(64))
        case 4:  # gRPC's transport, then noise in its frames
            sock.sendall(HTTP2 + rng.randbytes(rng.randrange(1, 512)))
        case 5:  # a length that nobody will send
            sock.sendall(rng.choice((b"\xff" * 4, b"\x7f\xff\xff\xff")) + rng.randbytes(16))
        case 6:  # the smartNIC's header, its rest as it comes
            length = rng.choice((0, 8, 1 << 20, (1 << 32) - 1))
            sock.sendall(wire.HEADER.pack(wire.MAGIC, rng.randrange(256), length) + rng.randbytes(24))
        case 7:
            sock.close()
    return sock


def _datagram(rng: random.Random) -> bytes:
    kinds = (udp_join.JOIN, udp_join.ASK, udp_join.COOKIE, udp_join.PROOF, udp_join.WELCOME, udp_join.REFUSED, b"")
    sizes = (0, 1, udp_join.JOIN_BYTES - udp_join.KIND_BYTES, 32, 96, rng.randrange(1400))
    return rng.choice(kinds) + rng.randbytes(rng.choice(sizes))


def main() -> None:
    """Greet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("--decoy", action="store_true")
    chosen = parser.parse_args()
    family = socket.AF_UNIX if chosen.address.startswith("unix:") else socket.AF_INET
    kind = socket.SOCK_DGRAM if chosen.address.startswith("udp:") else socket.SOCK_STREAM
    host, _, port = chosen.address.removeprefix("udp:").rpartition(":")
    rng = random.Random(chosen.seed)
    kept: deque[socket.socket] = deque()
    with tempfile.TemporaryDirectory() as folder:
        where: Any = port if family == socket.AF_UNIX else (host, int(port))
        if chosen.decoy:
            where = _stand_in(family, kind, folder)
        begun = time.monotonic()
        for number in range(chosen.count):
            if chosen.rate:
                time.sleep(max(0.0, begun + number / chosen.rate - time.monotonic()))
            with contextlib.suppress(OSError):
                if kind == socket.SOCK_STREAM:
                    kept.append(_connection(family, where, rng))
                else:
                    with socket.socket(family, kind) as stranger:
                        stranger.sendto(_datagram(rng), where)
            while len(kept) > KEPT:
                kept.popleft().close()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
