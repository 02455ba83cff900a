# SPDX-License-Identifier: Apache-2.0
"""Random transactions of many clients to the store and to redis, which is the oracle: every answer is the same.

``python tests/support/store_model.py TRANSACTIONS [--folder FOLDER] [--state FILE]`` prints what was
compared; with a state it continues where it was ended.

Groups of three clients have keys of their own, so one turn of every group is under way at once; FLUSHALL, which all
groups see, goes alone. The store is asked first: what it refuses for want of memory or disk is not told to redis, and a
transaction that it refuses so is discarded there. Every round ends with values and times to live of all keys, some with
a transaction in whose middle the store is killed: it has done all of it or nothing. Keys end while they are watched:
the clients wait until they certainly have, and a round in which they may have ended too early, because the machine was
busy, is given up and counted.

Blind to: transactions that are refused although there was room (``store_bank`` counts both).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from offramp.leo.store.peers import running_peer
from offramp.leo.store.process import StoreProcess
from store_lab import ErrorAnswer, a_store, dial, encoded

CLIENTS: Final = 3
NAMES: Final = tuple(f"k{i}" for i in range(5))
STEPS: Final = 40
FLUSHES: Final = 0.03
"""Share of FLUSHALL among one group's changes that any group sends."""
MOST_AT_ONCE: Final = 16
"""A client sends up to so many transactions at once, less one."""
SHORT_MS: Final = 60
LONGEST_MS: Final = 8000
"""Least and greatest time to live of a key that ends while it is watched; it grows while the machine is too slow."""
MARGIN_S: Final = 0.01
ROOM_BYTES: Final = 30_000
LARGE_DISK: Final = 64 << 20
"""A disk with more room than this is not filled."""
DIFFERENCE_MS: Final = 60_000
"""Servers hear of a time to live at different times."""
Words = tuple[str, ...]
Answer = Any

NOTHING, ABORTED = "(nil)", "(nil array)"
ENDS: Final = ("4000000000", "5000000000")
FOR_WANT_OF_ROOM: Final = ("OOM", "MISCONF")


class Early(Exception):
    """A key may have ended before the commands that were to see it."""


Maker = Callable[[random.Random, str, str, str], Words]
CHANGES: Final[tuple[Maker, ...]] = (
    lambda _, key, other, value: ("SET", key, value),
    lambda _, key, other, value: ("SET", key, value),
    lambda rng, key, other, value: ("SET", key, value, rng.choice(("NX", "XX", "GET", "KEEPTTL"))),
    lambda _, key, other, value: ("SET", key, value, "PXAT", "1"),
    lambda _, key, other, value: ("SETNX", key, value),
    lambda _, key, other, value: ("GETSET", key, value),
    lambda _, key, other, value: ("GETDEL", key),
    lambda _, key, other, value: ("GETEX", key, "PERSIST"),
    lambda _, key, other, value: ("MSET", key, value, other, value),
    lambda _, key, other, value: ("MSETNX", key, value, other, "2"),
    lambda _, key, other, value: ("APPEND", key, value),
    lambda rng, key, other, value: ("SETRANGE", key, rng.choice(("0", "3", "-1")), value),
    lambda _, key, other, value: ("INCR", key),
    lambda rng, key, other, value: ("DECRBY", key, rng.choice(("4", "x"))),
    lambda rng, key, other, value: ("INCRBYFLOAT", key, rng.choice(("0.5", "x"))),
    lambda _, key, other, value: ("DEL", key, other),
    lambda rng, key, other, value: ("EXPIRE", key, rng.choice(("1000", "-1")), *rng.choice(((), ("NX",), ("XX",)))),
    lambda rng, key, other, value: ("EXPIREAT", key, rng.choice(ENDS), *rng.choice(((), ("GT",), ("LT",)))),
    lambda rng, key, other, value: ("PEXPIREAT", key, rng.choice(("9223372036854775807", "4000000000000", "1"))),
    lambda _, key, other, value: ("PERSIST", key),
    lambda _, key, other, value: ("RENAME", key, other),
    lambda _, key, other, value: ("RENAMENX", key, other),
    lambda _, key, other, value: ("DEL", key),
)
READS: Final[tuple[Maker, ...]] = (
    lambda _, key, other, value: ("GET", key),
    lambda _, key, other, value: ("MGET", key, other),
    lambda _, key, other, value: ("EXISTS", key, other),
    lambda _, key, other, value: ("STRLEN", key),
    lambda _, key, other, value: ("GETRANGE", key, "1", "3"),
    lambda _, key, other, value: ("TYPE", key),
)
WRONG: Final[tuple[Maker, ...]] = (
    lambda _, key, other, value: ("NOSUCH", key),
    lambda _, key, other, value: ("GET",),
    lambda _, key, other, value: ("SET", key, "1", "XY"),
)


class Group:
    """Clients with keys of their own, and what they send next.

    Args:
        number: part of its keys' names.
        flushes: how many of its changes are FLUSHALL or FLUSHDB.

    Attributes:
        keys: names of its keys.
        queueing: whether each client is within MULTI.
        history: clients, commands and the store's answers in this round.
    """

    def __init__(self, number: int, flushes: float) -> None:
        self.keys = tuple(f"{number}:{name}" for name in NAMES)
        self.queueing = [False] * CLIENTS
        self._rng = random.Random()
        self._large, self._flushes = 0, flushes
        self.history: list[tuple[int, Words, Answer]] = []

    def begin(self, seed: str, large: int) -> None:
        """Begin a round; some values have up to ``large`` bytes."""
        self._rng.seed(seed)
        self._large = large
        self.queueing = [False] * CLIENTS
        self.history.clear()

    def change(self) -> Words:
        """A command that changes something, or tries to."""
        rng = self._rng
        if rng.random() < self._flushes:
            return (rng.choice(("FLUSHALL", "FLUSHDB")),)
        value = rng.choice(("", "1", "-7", "x", "yz" * 40))
        if self._large and value == "x":
            value *= rng.randrange(self._large)
        return rng.choice(CHANGES)(rng, rng.choice(self.keys), rng.choice(self.keys), value)

    def command(self) -> Words:
        """A change, a read, or what is no command."""
        rng = self._rng
        if rng.random() < 0.65:
            return self.change()
        kind = WRONG if rng.random() < 0.08 else READS
        return rng.choice(kind)(rng, rng.choice(self.keys), rng.choice(self.keys), "")

    def turn(self) -> tuple[int, list[Words]]:
        """A client, and what it sends at once."""
        rng = self._rng
        client = rng.randrange(CLIENTS)
        commands = self._commands(self.queueing[client])
        self.queueing[client] = commands[0] == ("MULTI",) and commands[-1] not in (("EXEC",), ("DISCARD",))
        return client, commands

    def short(self, short_ms: int) -> tuple[int, list[Words]] | None:
        """A client that is not within MULTI gives a key a short time to live."""
        free = [each for each in range(CLIENTS) if not self.queueing[each]]
        if not free:
            return None
        return self._rng.choice(free), [("SET", self._rng.choice(self.keys), "1", "PX", str(short_ms))]

    def transaction(self) -> list[Words]:
        """A transaction without what is no command."""
        return [("MULTI",), *[self.change() for _ in range(self._rng.randrange(2, 8))], ("EXEC",)]

    def _commands(self, queueing: bool) -> list[Words]:
        rng = self._rng
        if queueing:
            last = rng.choice(("EXEC", "EXEC", "EXEC", "DISCARD"))
            return [*[self.command() for _ in range(rng.randrange(3))], (last,)]
        chance = rng.random()
        if chance < 0.25:
            return [("WATCH", *rng.sample(self.keys, rng.randrange(1, 3))), self.command()][: rng.randrange(1, 3)]
        if chance < 0.3:
            return [("UNWATCH",)]
        if chance < 0.45:
            return [("MULTI",), *[self.command() for _ in range(rng.randrange(3))]]
        if chance < 0.8:
            commands: list[Words] = []
            for _ in range(rng.randrange(1, MOST_AT_ONCE)):
                commands += [("MULTI",), *[self.command() for _ in range(rng.randrange(1, 6))], ("EXEC",)]
            return commands
        return [self.change() for _ in range(rng.randrange(1, 4))]


class Connection:
    """A connection of redis' protocol on which several commands are under way at once."""

    def __init__(self, address: str) -> None:
        self.socket = dial(address)

    def send(self, commands: Sequence[Words]) -> None:
        """Send commands."""
        self.socket.sendall(b"".join([_encoded(words) for words in commands]))

    def answers(self, count: int) -> list[Answer]:
        """So many answers, and nothing behind them."""
        text = self.socket.recv(1 << 20)
        while True:
            with suppress(ValueError, IndexError):
                answers, at = [], 0
                for _ in range(count):
                    answer, at = parsed(text, at)
                    answers.append(answer)
                break
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the connection is closed")
            text += more
        assert at == len(text), text[at:]
        return answers

    def __call__(self, *commands: Words) -> list[Answer]:
        """Answers to these commands."""
        self.send(commands)
        return self.answers(len(commands))


@lru_cache(1 << 13)
def _encoded(words: Words) -> bytes:
    return encoded(*words)


def parsed(text: bytes, at: int) -> tuple[Answer, int]:
    """The answer that begins at this byte, and where it ends; errors are their first word and what they are about.

    Raises:
        ValueError, IndexError: the answer is incomplete.
    """
    end = text.index(b"\r\n", at)
    kind, rest, at = text[at], text[at + 1 : end], end + 2
    if kind == 36:  # $
        size = int(rest)
        if size < 0:
            return NOTHING, at
        end = at + size + 2
        if end > len(text):
            raise ValueError
        return text[at : end - 2], end
    if kind == 42:  # *
        if rest[:1] == b"-":
            return ABORTED, at
        answers = []
        for _ in range(int(rest)):
            answer, at = parsed(text, at)
            answers.append(answer)
        return answers, at
    if kind == 45:  # -
        return ErrorAnswer(rest.decode()), at
    return int(rest) if kind == 58 else rest.decode(), at


def comparable(answer: Answer) -> Answer:
    """Errors by their first word: people read the rest."""
    if isinstance(answer, ErrorAnswer):
        return answer.split(" ")[0]
    return [comparable(each) for each in answer] if isinstance(answer, list) else answer


def wants_room(answer: Answer) -> bool:
    """Whether a command was refused because memory or disk are full."""
    if not isinstance(answer, ErrorAnswer):
        return False
    return answer.startswith(FOR_WANT_OF_ROOM) or (
        answer.startswith("EXECABORT") and any(w in answer for w in FOR_WANT_OF_ROOM)
    )


def used_memory(control: Connection) -> int:
    """Bytes of memory that a server says it uses."""
    return int(control(("INFO", "memory"))[0].decode().split("used_memory:")[1].split()[0])


class Comparison:
    """The same clients at the store and at redis.

    Args:
        store: a store whose folder is ``folder``.
        redis: address of redis.
        seed: seed of all rounds.
        folder: folder of the store.
        groups: number of groups.

    Attributes:
        counts: transactions carried out, aborted and refused, and by what; commands; keys that ended; kills; rounds.
    """

    def __init__(self, store: StoreProcess, redis: str, seed: int, folder: Path, groups: int) -> None:
        self._store, self._seed, self._folder = store, seed, folder
        self._groups = [Group(number, FLUSHES / groups) for number in range(groups)]
        self._redis = [[Connection(redis) for _ in range(CLIENTS)] for _ in self._groups]
        self._stores: list[list[Connection]] = []
        self._short_ms = float(SHORT_MS)
        self._ends = 0.0  # when a key may end; 0: none is about to
        self._within: set[tuple[int, int]] = set()  # clients within MULTI, by group and number
        self._starved: set[tuple[int, int]] = set()  # those of them with a command that was refused
        self._flushes: set[tuple[int, int]] = set()  # those of them that have queued FLUSHALL
        self.counts: Counter[str] = Counter()
        self._connect()

    def close(self) -> None:
        """Close all connections."""
        for each in [*self._stores, *self._redis]:
            for connection in each:
                connection.socket.close()

    def round(self) -> None:
        """Random turns from an empty store; a round's seed is this one's and its number."""
        number = self.counts["rounds"]
        self.counts["rounds"] += 1
        rng = random.Random(f"{self._seed} {number}")
        little = ("", "", "", "memory", "", "", "", "disk")[number % 8]
        self._begin(f"{self._seed} {number}", ROOM_BYTES // 4 if little else 0)
        short = {rng.randrange(2, STEPS // 2 - 4), rng.randrange(STEPS // 2, STEPS - 4)}
        try:
            with self._little(little):
                for step in range(STEPS):
                    self._exchange([group.turn() for group in self._groups])
                    if step in short and not little:
                        self._give_short_lives()
                    elif self._ends and rng.random() < 0.4:
                        self._await_end()
                if self._ends:
                    self._await_end()
        except Early:
            self.counts["given up"] += 1
            self._short_ms = min(3 * self._short_ms, LONGEST_MS)
            return
        self._short_ms = max(0.95 * self._short_ms, SHORT_MS)
        self._check()
        if number % 10 == 9:
            self._kill(rng)

    def _connect(self) -> None:
        address = self._store.addresses["resp"]
        self._stores = [[Connection(address) for _ in range(CLIENTS)] for _ in self._groups]

    def _begin(self, seed: str, large: int) -> None:
        self._ends = 0.0
        for clients in (self._within, self._starved, self._flushes):
            clients.clear()
        for number, group in enumerate(self._groups):
            group.begin(f"{seed} {number}", large)
        for server in (self._stores, self._redis):
            connections = [each for clients in server for each in clients]
            for each in connections:
                each.send([("RESET",)])
            assert all(each.answers(1) == ["RESET"] for each in connections)
            answers = server[0][0](("FLUSHALL",))
            assert answers == ["OK"], f"{'store' if server is self._stores else 'redis'}: {answers}"

    @contextmanager
    def _little(self, kind: str) -> Iterator[None]:
        """Little memory or disk for the store."""
        if not kind:
            yield
            return
        control = self._stores[0][0]
        ballast = self._folder.parent / "ballast"
        if kind == "memory":
            before, used = -1, used_memory(control)
            while used != before:  # what FLUSHALL removed is freed bit by bit
                time.sleep(0.002)
                before, used = used, used_memory(control)
            control(("CONFIG", "SET", "maxmemory", str(used + ROOM_BYTES // 2)))  # with all, all fits at times
        elif kind == "disk":
            control(("SAVE",))  # makes the log short
            room = os.statvfs(self._folder)
            free = room.f_bavail * room.f_frsize
            if free < LARGE_DISK:
                ballast.write_bytes(bytes(max(0, free - ROOM_BYTES)))
        try:
            yield
        finally:
            ballast.unlink(missing_ok=True)
            control = Connection(self._store.addresses["resp"])  # this client may be within MULTI
            control(("CONFIG", "SET", "maxmemory", "0"), ("SAVE",))
            control.socket.close()

    def _give_short_lives(self) -> None:
        if self._ends:
            self._await_end()
        short_ms = round(self._short_ms)
        began = time.monotonic()
        self._exchange([None if number % 2 else group.short(short_ms) for number, group in enumerate(self._groups)])
        self._ends = began + short_ms / 1000
        self._gone = time.monotonic() + short_ms / 1000 + MARGIN_S
        self.counts["ended"] += 1

    def _await_end(self) -> None:
        time.sleep(max(0.0, self._gone - time.monotonic()))
        self._ends = 0.0

    def _exchange(self, turns: Sequence[tuple[int, list[Words]] | None]) -> None:
        """A turn of each group; those that others may notice have a time of their own."""
        together: list[tuple[int, int, list[Words]]] = []
        alone: list[tuple[int, int, list[Words]]] = []
        for number, each in enumerate(turns):
            if each is not None:
                client, commands = each
                (alone if self._flushing(number, client, commands) else together).append((number, client, commands))
        for batch in [together, *([each] for each in alone)]:
            self._send(batch)

    def _flushing(self, number: int, client: int, commands: list[Words]) -> bool:
        at = number, client
        flushes = any(words[0].startswith("FLUSH") for words in commands) or at in self._flushes
        (self._flushes.add if flushes and self._groups[number].queueing[client] else self._flushes.discard)(at)
        return flushes

    def _send(self, batch: list[tuple[int, int, list[Words]]]) -> None:
        for number, client, commands in batch:
            self._stores[number][client].send(commands)
        forwarded = []
        for number, client, commands in batch:
            answers = self._stores[number][client].answers(len(commands))
            forwarded.append(self._forwarded((number, client), commands, answers))
        for (number, client, _), (kept, _) in zip(batch, forwarded, strict=True):
            self._redis[number][client].send(kept)
        oracle = []
        for (number, client, _), (kept, _) in zip(batch, forwarded, strict=True):
            oracle.append(self._redis[number][client].answers(len(kept)) if kept else [])
        if self._ends and time.monotonic() > self._ends - MARGIN_S:
            raise Early
        for (number, client, commands), (kept, expected), answers in zip(batch, forwarded, oracle, strict=True):
            self._compare(number, client, kept, expected, answers)
            self.counts["commands"] += len(commands)

    def _compare(
        self, number: int, client: int, kept: list[Words], expected: list[Answer], oracle: list[Answer]
    ) -> None:
        history = self._groups[number].history
        for words, store, redis in zip(kept, expected, oracle, strict=True):
            history.append((client, words, store))
            if words != ("DISCARD",) or store != "full":
                same_answer = store == redis or comparable(store) == comparable(redis)
                assert same_answer, (
                    f"{self._where()}: group {number}: {words}: {store}, redis {redis}, behind {history}"
                )

    def _where(self) -> str:
        return f"seed {self._seed}, round {self.counts['rounds'] - 1}"

    def _forwarded(
        self, at: tuple[int, int], commands: list[Words], answers: list[Answer]
    ) -> tuple[list[Words], list[Answer]]:
        """What redis is told, and what it shall answer: without what the store refuses for want of room."""
        kept, expected = [], []
        for words, answer in zip(commands, answers, strict=True):
            full = wants_room(answer)
            if words == ("EXEC",):
                starved = at in self._starved
                assert isinstance(answer, ErrorAnswer) or not starved, f"{commands}: {answers}: EXEC after a refusal"
                full = full or starved
                self._count(answer, full)
            if words == ("MULTI",):
                self._within.add(at)
            elif words in (("EXEC",), ("DISCARD",)):
                self._within.discard(at)
                self._starved.discard(at)
            elif full:
                if at in self._within:
                    self._starved.add(at)
                self.counts["commands refused"] += 1
                continue
            kept.append(("DISCARD",) if full else words)
            expected.append("full" if full else answer)
        return kept, expected

    def _count(self, outcome: Answer, full: bool) -> None:
        if full:
            self.counts["full"] += 1
        elif outcome == ABORTED:
            self.counts["aborted"] += 1
        else:
            self.counts["carried out" if isinstance(outcome, list) else "refused"] += 1
        self.counts["transactions"] += 1

    def _check(self) -> None:
        """Values and times to live of all keys are the same."""
        store, redis = self._contents(self._stores), self._contents(self._redis)
        for key in store:
            assert same(store[key], redis[key]), f"{self._where()}: {key}: {store[key]}, redis {redis[key]}"

    def _contents(self, server: list[list[Connection]]) -> dict[str, tuple[Answer, int]]:
        client = server[0][0]
        client(("RESET",))
        names = [key for group in self._groups for key in group.keys]
        values = client(("MGET", *names))[0]
        ends = client(*[("PEXPIRETIME", key) for key in names])
        return dict(zip(names, zip(values, ends, strict=True), strict=True))

    def _kill(self, rng: random.Random) -> None:
        """Kill the store in the middle of a transaction: it has done all of it or nothing."""
        transaction = self._groups[0].transaction()
        client = self._stores[0][0]
        before = self._contents(self._redis)
        client.send(transaction)
        time.sleep(rng.choice((0, 0, 1e-4, 3e-4, 1e-3)))
        self._store.kill()
        for each in self._stores:
            for connection in each:
                connection.socket.close()
        self._store.start()
        self._connect()
        held = self._contents(self._stores)
        self._redis[0][0](*transaction)
        after = self._contents(self._redis)
        outcomes = [all(same(held[key], each[key]) for key in held) for each in (before, after)]
        assert any(outcomes), f"{self._where()}: killed: {transaction}: {held}, before {before}, behind {after}"
        self.counts["kills"] += 1
        self.counts["kills before EXEC"] += outcomes[0] and not outcomes[1]
        self.counts["kills behind EXEC"] += outcomes[1] and not outcomes[0]


def same(one: tuple[Answer, int], other: tuple[Answer, int]) -> bool:
    """Whether value and time to live are the same."""
    return one[0] == other[0] and min(one[1], 0) == min(other[1], 0) and abs(one[1] - other[1]) < DIFFERENCE_MS


def compare(
    transactions: int,
    seed: int,
    *,
    groups: int = 8,
    first: int = 0,
    folder: Path | None = None,
    state: Path | None = None,
) -> Counter[str]:
    """Compare so many transactions, in a store and a redis of their own.

    Args:
        transactions: number of transactions.
        seed: seed of all rounds.
        groups: groups of clients whose turns are under way at once.
        first: number of the first round, where none is continued.
        folder: folder of the store, on a small disk perhaps.
        state: file from which an earlier comparison of this seed is continued.
    """
    with ExitStack() as stack:
        data = (folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))) / "data"
        store = stack.enter_context(a_store(memcached="", folder=data, sync="no"))
        redis = stack.enter_context(running_peer("redis-server"))
        comparison = Comparison(store, redis.address, seed, data, groups)
        stack.callback(comparison.close)
        comparison.counts["rounds"] = first
        if state is not None and state.exists():
            comparison.counts = Counter(json.loads(state.read_text("utf-8"))[str(seed)])
        shown = began = time.monotonic()
        while (now := comparison.counts["transactions"]) < transactions:
            comparison.round()
            if time.monotonic() > shown + 10:
                shown = time.monotonic()
                sys.stderr.write(f"{now:,} transactions, {shown - began:.0f} s\n")
                if state is not None:
                    _write(state, seed, comparison.counts)
        if state is not None:
            _write(state, seed, comparison.counts)
    return comparison.counts


def _write(state: Path, seed: int, counts: Counter[str]) -> None:
    part = state.with_suffix(".part")
    part.write_text(json.dumps({str(seed): counts}), "utf-8")
    part.replace(state)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Random transactions to the store and to redis.")
    parser.add_argument("transactions", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", type=int, default=128, help="groups of clients whose turns are under way at once")
    parser.add_argument("--folder", type=Path, help="folder of the store; a disk below 64 MiB is filled now and then")
    parser.add_argument("--state", type=Path, help="file with the counts, from which it continues")
    given = parser.parse_args()
    began = time.monotonic()
    counts = compare(given.transactions, given.seed, groups=given.groups, folder=given.folder, state=given.state)
    sys.stdout.write(f"seed {given.seed}: {dict(counts)} in {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    _main()
