# SPDX-License-Identifier: Apache-2.0
"""A friend of the store while others attack it, by turns with the same store in peace.

Blind to: attackers with a network of their own, who take the machine's processors.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time

import pytest

import store_siege
from store_lab import Resp, a_store, dial

TURNS, TURN_S = 8, 0.5
MOST = 1.5
"""Factor by which a friend's 99th percentile may grow."""


def latencies(sock: socket.socket) -> list[float]:
    """Seconds that each GET of a turn took."""
    times, end = [], time.perf_counter() + TURN_S
    while (begin := time.perf_counter()) < end:
        sock.sendall(b"GET friend\r\n")
        assert sock.recv(64) == b"$1\r\n1\r\n"
        times.append(time.perf_counter() - begin)
    return times


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", store_siege.ATTACKS)
def test_a_friend_hardly_notices(kind: str) -> None:
    with a_store(memory=200 << 20) as store, Resp(store.addresses["resp"]) as client:
        client("SET", "friend", "1")
        client("SET", "big", b"x" * 1_000_000)
        words = [sys.executable, store_siege.__file__, kind, store.addresses["resp"], store.addresses["memcached"]]
        with subprocess.Popen(words) as attackers, dial(store.addresses["resp"]) as friend:
            try:
                time.sleep(2)
                percentiles: dict[bool, list[float]] = {True: [], False: []}
                for turn in range(2 * TURNS):
                    attacked = turn % 2 == 0
                    attackers.send_signal(signal.SIGCONT if attacked else signal.SIGSTOP)
                    times = sorted(latencies(friend))
                    percentiles[attacked].append(times[len(times) * 99 // 100])
                assert attackers.poll() is None
            finally:
                attackers.kill()
        # The best turns: others keep this machine's processors busy in some.
        assert min(percentiles[True]) < MOST * min(percentiles[False]) + 20e-6
        assert client("EXISTS", "k") == 0
