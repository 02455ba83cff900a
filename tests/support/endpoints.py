# SPDX-License-Identifier: Apache-2.0
"""Endpoints of several ranks in one process, on the loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from offramp.hermod.endhost import Endpoint, Priorities, Tuning
from offramp_base.listening import Token

SECONDS = 60.0
"""No test comes near it."""


@contextmanager
def endpoints(
    size: int,
    priorities: Priorities | None = None,
    tuning: Tuning | None = None,
    where: str | Sequence[str] = "127.0.0.1",
    token: Token | None = None,
    ports: Sequence[Callable[[str], Any] | None] = (),
) -> Iterator[list[Endpoint]]:
    """One endpoint a rank, at one address or at an address each; ``ports`` open the RDMA of those that have one."""
    rows: list[bytes] = [b""] * size
    together = threading.Barrier(size, timeout=SECONDS)

    def make(rank: int) -> Endpoint:
        def introduce(row: bytes) -> list[bytes]:
            rows[rank] = row
            together.wait()
            return rows

        return Endpoint(
            rank,
            size,
            introduce,
            priorities,
            where=where if isinstance(where, str) else where[rank],
            tuning=tuning,
            token=token,
            rdma=ports[rank] if ports else None,
        )

    with ThreadPoolExecutor(size) as pool:
        opened = list(pool.map(make, range(size)))
    try:
        yield opened
    finally:
        for endpoint in opened:
            endpoint.close()


def view(size: int, seed: int | None = None) -> memoryview:
    """Bytes to send, or (without a seed) to receive into."""
    if seed is None:
        return memoryview(bytearray(size))
    return memoryview(np.random.default_rng(seed).bytes(size))


def until(condition: Callable[[], bool]) -> None:
    """Wait for what follows soon, such as callbacks: a future wakes who waits for it before it calls back."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
