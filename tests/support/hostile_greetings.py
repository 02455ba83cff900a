# SPDX-License-Identifier: Apache-2.0
"""Greetings of strangers to a listener, in a process of their own: silence, noise, halves, other tokens, great lengths.

``python hostile_greetings.py ADDRESS COUNT SEED RATE`` greets ``HOST:PORT``, ``unix:PATH``, ``seqpacket:PATH`` or
``udp:HOST:PORT``, so many times a second. With ``--decoy`` the same greetings go to a listener of this process: the
same work for the machine, and nobody is disturbed.
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
HALF_GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-More: "
HALF_SUBSCRIBER = b"\0SP\0\x00"


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
    if kind != socket.SOCK_DGRAM:
        listening.listen(1024)
    hears = _hear if kind == socket.SOCK_DGRAM else _decoy
    threading.Thread(target=hears, args=(listening,), daemon=True).start()
    return listening.getsockname()


def _connection(family: int, kind: int, where: Any, rng: random.Random) -> socket.socket:
    sock = socket.socket(family, kind)
    # A port that has its host leaves strangers waiting; the next one does not wait for that.
    sock.settimeout(0 if kind == socket.SOCK_SEQPACKET else 10)
    sock.connect(where)
    match rng.randrange(10):
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
        case 8:  # a request of a browser that never ends
            sock.sendall(HALF_GET + b"x" * rng.randrange(4096))
        case 9:  # half of what a subscriber of nanomsg's says
            sock.sendall(HALF_SUBSCRIBER)
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
    scheme = chosen.address.partition(":")[0]
    family = socket.AF_UNIX if scheme in ("unix", "seqpacket") else socket.AF_INET
    kind = {"udp": socket.SOCK_DGRAM, "seqpacket": socket.SOCK_SEQPACKET}.get(scheme, socket.SOCK_STREAM)
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
                if kind != socket.SOCK_DGRAM:
                    kept.append(_connection(family, kind, where, rng))
                else:
                    with socket.socket(family, kind) as stranger:
                        stranger.sendto(_datagram(rng), where)
            while len(kept) > KEPT:
                kept.popleft().close()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
