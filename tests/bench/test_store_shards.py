# SPDX-License-Identifier: Apache-2.0
"""Look-ups per second of two shards against one store, by turns, with the same two clients.

Commands are long and answers short, so that the clients leave the processors to the store.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from multiprocessing.synchronize import Barrier

import pytest

from store_lab import ErrorAnswer, Resp, a_store, encoded

pytestmark = pytest.mark.bench
KEYS, BATCH, ROUNDS, SECONDS = 1000, 8, 5, 1.0


def tag_of(address: str) -> str:
    """A word in braces whose slot the shard at an address has."""
    with Resp(address) as client:
        return next(tag for i in range(100) if not isinstance(client("EXISTS", tag := f"{{{i}}}"), ErrorAnswer))


def ask(address: str, barrier: Barrier, counts: multiprocessing.Queue[int]) -> None:
    """Look up keys for a while; put how many."""
    tag = tag_of(address)
    with Resp(address) as client:
        for i in range(KEYS):
            client("SET", f"{tag}{i}", "x")
        command = encoded("EXISTS", *[f"{tag}{i}" for i in range(KEYS)]) * BATCH
        barrier.wait()
        done, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            client.sock.sendall(command)
            done += sum(client.answer() for _ in range(BATCH))
    counts.put(done)


def rate(addresses: list[str]) -> float:
    """Look-ups per second of two clients at these addresses."""
    context = multiprocessing.get_context("fork")
    barrier, counts = context.Barrier(2), context.Queue()
    clients = [context.Process(target=ask, args=(address, barrier, counts)) for address in addresses]
    for client in clients:
        client.start()
    done = sum(counts.get(timeout=60) for _ in clients)
    for client in clients:
        client.join()
    return done / SECONDS


def test_two_shards_look_up_more_than_one_store() -> None:
    with a_store(memcached="") as one, a_store(memcached="", shards=2) as two:
        rates: dict[str, list[float]] = {"one": [], "two": []}
        for _ in range(ROUNDS):
            rates["one"].append(rate([one.addresses["resp"]] * 2))
            rates["two"].append(rate(list(two.addresses.values())))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    print(f"look-ups per second: one store {medians['one']:,.0f}, two shards {medians['two']:,.0f}")  # noqa: T201
    assert medians["two"] > 1.3 * medians["one"]
