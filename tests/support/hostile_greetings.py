# SPDX-License-Identifier: Apache-2.0
"""Greetings of strangers to a listener, in a process of their own: silent ones, noise, halves, other tokens.

python hostile_greetings.py HOST PORT COUNT SEED RATE

With port 0 they go to a listener of this process: the same work, and nobody is disturbed.
"""

from __future__ import annotations

import contextlib
import random
import socket
import sys
import threading
import time
from collections import deque

KEPT = 300
"""Connections that stay open at a time."""


def decoy(listening: socket.socket) -> None:
    """Accept, challenge, hear a little, and hang up, as the real one does."""
    heard: deque[socket.socket] = deque()
    while True:
        sock, _ = listening.accept()
        with contextlib.suppress(OSError):
            sock.sendall(bytes(37))
        heard.append(sock)
        while len(heard) > KEPT:
            heard.popleft().close()


def main(host: str, port: str, count: str, seed: str, rate: str) -> None:
    """Greet."""
    if port == "0":
        listening = socket.create_server((host, 0), backlog=1024)
        port = str(listening.getsockname()[1])
        threading.Thread(target=decoy, args=(listening,), daemon=True).start()
    rng = random.Random(int(seed))
    kept: deque[socket.socket] = deque()
    begun = time.monotonic()
    for number in range(int(count)):
        if float(rate):
            time.sleep(max(0.0, begun + number / float(rate) - time.monotonic()))
        with contextlib.suppress(OSError):
            sock = socket.create_connection((host, int(port)), 10)
            kept.append(sock)
            sock.settimeout(10)
            match rng.randrange(5):
                case 0:  # silent
                    pass
                case 1:
                    sock.sendall(rng.randbytes(rng.randrange(1, 4096)))
                case 2:  # half of an answer to the challenge
                    sock.recv(37)
                    sock.sendall(rng.randbytes(rng.randrange(1, 64)))
                case 3:  # of another token
                    sock.recv(37)
                    sock.sendall(rng.randbytes(64))
                case 4:
                    sock.close()
        while len(kept) > KEPT:
            kept.popleft().close()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
