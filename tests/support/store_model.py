# SPDX-License-Identifier: Apache-2.0
"""Random transactions of several clients to the store and to redis, which is the oracle: every answer is the same.

``python tests/support/store_model.py TRANSACTIONS [SEED]`` prints what was compared. Keys end while they are watched:
a client waits until they certainly have, and a round in which they may have ended too early, because the machine was
busy, is given up and counted.

Blind to: full memory and full disks (:mod:`store_bank`), times to live (both servers have clocks of their own).
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from typing import Any, Final

from offramp.leo.store.peers import running_peer
from store_lab import ErrorAnswer, Resp, a_store, encoded

CLIENTS: Final = 3
KEYS: Final = tuple(f"k{i}" for i in range(5))
SHORT_MS: Final = 60
EARLY_S: Final = 0.04
"""Answers that took longer since a key began to live for ``SHORT_MS`` may have come before or after its end."""
Words = list[str]


class Early(Exception):
    """A key may have ended before the commands that were to see it."""


def change(rng: random.Random) -> Words:
    """A command that changes something, or tries to."""
    key, other, value = rng.choice(KEYS), rng.choice(KEYS), rng.choice(["", "1", "-7", "x", "yz" * 40])
    return rng.choice(
        [
            ["SET", key, value],
            ["SET", key, value],
            ["SET", key, value, rng.choice(["NX", "XX", "GET", "KEEPTTL"])],
            ["SET", key, value, "PXAT", "1"],
            ["SETNX", key, value],
            ["GETSET", key, value],
            ["GETDEL", key],
            ["GETEX", key, "PERSIST"],
            ["MSET", key, value, other, value],
            ["MSETNX", key, value, other, "2"],
            ["APPEND", key, value],
            ["SETRANGE", key, rng.choice(["0", "3", "-1"]), value],
            ["INCR", key],
            ["DECRBY", key, rng.choice(["4", "x"])],
            ["INCRBYFLOAT", key, rng.choice(["0.5", "x"])],
            ["DEL", key, other],
            ["EXPIRE", key, rng.choice(["1000", "-1"]), *rng.choice([[], ["NX"], ["XX"]])],
            ["EXPIREAT", key, rng.choice(["4000000000", "5000000000"]), *rng.choice([[], ["GT"], ["LT"]])],
            ["PEXPIREAT", key, rng.choice(["9223372036854775807", "4000000000000", "1"])],
            ["PERSIST", key],
            ["RENAME", key, other],
            ["RENAMENX", key, other],
            rng.choice([["FLUSHALL"], ["FLUSHDB"], ["DEL", key]]),
        ]
    )


def command(rng: random.Random) -> Words:
    """A change, a read, or what is no command."""
    key, other = rng.choice(KEYS), rng.choice(KEYS)
    if rng.random() < 0.65:
        return change(rng)
    return rng.choice(
        [["GET", key], ["MGET", key, other], ["EXISTS", key, other], ["STRLEN", key], ["GETRANGE", key, "1", "3"]]
        + ([["NOSUCH", key], ["GET"], ["SET", key, "1", "XY"]] if rng.random() < 0.15 else [["TYPE", key]])
    )


def turn(rng: random.Random, queueing: bool) -> list[Words]:
    """What one client sends at once."""
    if queueing:
        return [command(rng) for _ in range(rng.randrange(3))] + [[rng.choice(["EXEC", "EXEC", "EXEC", "DISCARD"])]]
    chance = rng.random()
    if chance < 0.25:
        return [["WATCH", *rng.sample(KEYS, rng.randrange(1, 3))], command(rng)][: rng.randrange(1, 3)]
    if chance < 0.3:
        return [["UNWATCH"]]
    if chance < 0.45:
        return [["MULTI"], *[command(rng) for _ in range(rng.randrange(3))]]
    if chance < 0.8:
        return [["MULTI"], *[command(rng) for _ in range(rng.randrange(1, 6))], ["EXEC"]]
    return [change(rng) for _ in range(rng.randrange(1, 4))]


def comparable(answer: Any) -> Any:
    """Errors by their first word: people read the rest."""
    if isinstance(answer, ErrorAnswer):
        return answer.split(" ")[0]
    return [comparable(each) for each in answer] if isinstance(answer, list) else answer


class Comparison:
    """The same clients at the store and at redis.

    Attributes:
        counts: transactions carried out, aborted and refused, commands, keys that ended, rounds that were given up.
    """

    def __init__(self, store: str, redis: str, seed: int) -> None:
        self._pairs = [(Resp(store), Resp(redis)) for _ in range(CLIENTS)]
        self._seed, self._round = seed, 0
        self.counts: Counter[str] = Counter()

    def close(self) -> None:
        """Close all connections."""
        for pair in self._pairs:
            for each in pair:
                each.close()

    def round(self) -> None:
        """Random turns from an empty store; a round's seed is this one's and its number."""
        self._round += 1
        rng = random.Random(f"{self._seed} {self._round}")
        for client in range(CLIENTS):
            self._send(client, [["RESET"]], None)
        self._send(0, [["FLUSHALL"]], None)
        queueing = [False] * CLIENTS
        began = None
        try:
            for step in range(40):
                client = rng.randrange(CLIENTS)
                words = turn(rng, queueing[client])
                queueing[client] = words[0] == ["MULTI"] and words[-1] not in (["EXEC"], ["DISCARD"])
                self._send(client, words, began)
                if began is not None and step % 4 == 0:
                    time.sleep(max(0.0, began + 1.5 * SHORT_MS / 1000 - time.monotonic()))
                    began = None
                    self.counts["ended"] += 1
                elif began is None and rng.random() < 0.012:
                    began = time.monotonic()
                    free = [each for each in range(CLIENTS) if not queueing[each]]
                    key = rng.choice(KEYS)
                    if free:
                        self._send(rng.choice(free), [["SET", key, "1", "PX", str(SHORT_MS)]], began)
        except Early:
            self.counts["given up"] += 1

    def _send(self, client: int, commands: list[Words], began: float | None) -> None:
        text = b"".join(encoded(*words) for words in commands)
        pair = self._pairs[client]
        for each in pair:
            each.sock.sendall(text)
        answers = [[comparable(each.answer()) for _ in commands] for each in pair]
        if began is not None and time.monotonic() > began + EARLY_S:
            raise Early
        assert answers[0] == answers[1], (
            f"seed {self._seed}, round {self._round}, client {client}: {commands}: {answers}"
        )
        self.counts["commands"] += len(commands)
        if commands[-1] == ["EXEC"]:
            outcome = answers[0][-1]
            name = "carried out" if isinstance(outcome, list) else "refused" if isinstance(outcome, str) else "aborted"
            self.counts["transactions"] += 1
            self.counts[name] += 1


def compare(transactions: int, seed: int) -> Counter[str]:
    """Compare so many transactions, in a store and a redis of their own."""
    with a_store(memcached="") as store, running_peer("redis-server") as redis:
        comparison = Comparison(store.addresses["resp"], redis.address, seed)
        try:
            while comparison.counts["transactions"] < transactions:
                comparison.round()
        finally:
            comparison.close()
    return comparison.counts


def _main() -> None:
    transactions, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    began = time.monotonic()
    counts = compare(transactions, seed)
    sys.stdout.write(f"seed {seed}: {dict(counts)} in {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    _main()
