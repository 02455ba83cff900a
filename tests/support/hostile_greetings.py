"""Greetings of strangers to a listener, in a process of their own: silent ones, noise, halves, other tokens.

python hostile_greetings.py HOST PORT COUNT SEED [RATE]
"""

from __future__ import annotations

import contextlib
import random
import socket
import sys
import time
from collections import deque

KEPT = 300
"""Connections that stay open at a time."""


def main(host: str, port: str, count: str, seed: str, rate: str = "0") -> None:
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
