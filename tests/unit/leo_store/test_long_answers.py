# SPDX-License-Identifier: Apache-2.0
"""What one client may ask for in a round of the server, and what long answers show and hold.

A store that is stopped while clients send sees all of it in one round. Work is counted, not timed. Blind to: the time
that a slice takes, one command that does much (KEYS, EXEC of a long transaction), which is atomic.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from offramp.leo.store.process import StoreProcess
from store_lab import Resp, Text, a_store, dial, encoded

SLICE = 128 << 10
"""Bytes of a turn."""
TURN_COMMANDS = 512
LONG = 1_000_000


def counted(client: Resp, *names: str) -> list[int]:
    """Numbers of INFO."""
    lines = dict(line.split(":", 1) for line in client("INFO").decode().splitlines() if ":" in line)
    return [int(lines[name]) for name in names]


def state(task: Path) -> str:
    """State of a thread (proc(5), field 3)."""
    return (task / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]


@contextmanager
def stopped(store: StoreProcess) -> Iterator[None]:
    """The store executes nothing in this block."""
    store.send_signal(signal.SIGSTOP)
    while any(state(task) != "T" for task in Path(f"/proc/{store.pid}/task").iterdir()):  # one thread after the other
        time.sleep(0.001)
    try:
        yield
    finally:
        store.send_signal(signal.SIGCONT)


def test_a_round_sends_a_slice_of_long_answers() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as friend, contextlib.ExitStack() as stack:
        friend("SET", "big", b"x" * LONG)
        readers = [stack.enter_context(Resp(store.addresses["resp"])) for _ in range(3)]
        for reader in readers:
            reader.send("MGET", *["big"] * 20)
        whole: list[list[bytes]] = []
        threads = [threading.Thread(target=lambda each=reader: whole.append(each.answer())) for reader in readers]
        names = "eventloop_cycles", "total_net_output_bytes"
        rounds, sent = counted(friend, *names)
        for thread in threads:
            thread.start()
        asked = 1
        while any(thread.is_alive() for thread in threads):
            now, bytes_now = counted(friend, *names)
            # The turns of a round end with the one that makes a slice of bytes whole.
            assert bytes_now - sent <= 2 * (now - rounds + 1) * SLICE + asked * 8000
            asked += 1
        assert now - rounds > 3 * 20 * LONG // SLICE // 4
        assert all(values == [b"x" * LONG] * 20 for values in whole)
        assert len(whole) == 3


@pytest.mark.parametrize("command", [b"PING\r\n", encoded("EXISTS", *"k" * 8)])
def test_a_round_executes_some_of_many_commands(command: bytes) -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as friend, Resp(store.addresses["resp"]) as other:
        (before,) = counted(friend, "total_commands_processed")
        count = 60_000 // len(command)
        with stopped(store):
            other.sock.sendall(command * count)
            friend.send("INFO")
        lines = friend.answer().decode().splitlines()
        (after,) = (int(line.partition(":")[2]) for line in lines if line.startswith("total_commands_processed"))
        assert after - before <= 2 * TURN_COMMANDS + 2  # one may begin before the store stops
        for _ in range(count):
            assert other.answer() in ("PONG", 0)


def test_requests_of_new_clients_are_executed_in_the_order_of_their_coming() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as friend, Resp(store.addresses["resp"]) as other:
        for _ in range(10):
            assert friend("PUBLISH", "news", "x") == 0
        assert other("SUBSCRIBE", "news") == [b"subscribe", b"news", 1]
        with stopped(store):
            other.send("UNSUBSCRIBE")
            friend.send("PUBLISH", "news", "x")
        assert friend.answer() == 0


def test_few_new_clients_are_served_before_others_in_a_round() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as friend, contextlib.ExitStack() as stack:
        for _ in range(10):
            assert friend("SET", "count", "0") == "OK"
        others = [stack.enter_context(dial(store.addresses["resp"])) for _ in range(50)]
        for other in others:  # each of them is accepted in a turn
            other.sendall(b"PING\r\n")
            assert other.recv(7) == b"+PONG\r\n"
        with stopped(store):
            for other in others:
                other.sendall(b"INCR count\r\n" * 10)
            friend.send("GET", "count")
        assert int(friend.answer()) <= 4 * 10


def test_an_unfinished_command_of_many_words_is_parsed_in_rounds() -> None:
    words = encoded("EXISTS", *["k"] * 20_000)
    with a_store() as store, Resp(store.addresses["resp"]) as friend, Resp(store.addresses["resp"]) as other:
        (before,) = counted(friend, "eventloop_cycles")
        with stopped(store):
            other.sock.sendall(words)
        assert other.answer() == 0
        (after,) = counted(friend, "eventloop_cycles")
        assert after - before >= 20_000 // 2048


CHANGES: dict[str, Callable[[Resp, str], object]] = {
    "SET": lambda client, key: client("SET", key, b"n" * LONG),
    "shorter": lambda client, key: client("SET", key, "short"),
    "APPEND": lambda client, key: client("APPEND", key, b"n"),
    "SETRANGE": lambda client, key: client("SETRANGE", key, 0, b"n" * 1000),
    "DEL": lambda client, key: client("DEL", key),
    "GETDEL": lambda client, key: client("GETDEL", key),
    "RENAME": lambda client, key: client("RENAME", key, key + "2"),
    "PEXPIRE": lambda client, key: (client("PEXPIREAT", key, 1), client("GET", key)),
}


@pytest.mark.parametrize("clear", [False, True])
def test_an_answer_shows_the_values_of_its_time(clear: bool) -> None:
    with (
        a_store() as store, Resp(store.addresses["resp"]) as friend, Resp(store.addresses["resp"]) as slow,
        Text(store.addresses["memcached"]) as text, Resp(store.addresses["resp"]) as third,
    ):  # fmt: skip
        old = {change: bytes([65 + place]) * LONG for place, change in enumerate(CHANGES)}
        for key, value in old.items():
            friend("SET", key, value)
        slow.send("MGET", *list(CHANGES) * 2)
        third.send("GETRANGE", "SET", 10, 900_000)
        text.sock.sendall(b"get " + " ".join(CHANGES).encode() + b"\r\n")
        # Once these have waited for a round, the others' commands are executed; no kernel takes so long answers.
        for sock in (slow.sock, third.sock, text.sock):
            assert sock.recv(1, 2)  # MSG_PEEK
        for key, change in CHANGES.items():
            change(friend, key)
        if clear:
            friend("FLUSHALL")
        assert friend("EXISTS", "DEL", "GETDEL") == 0
        assert slow.answer() == list(old.values()) * 2
        assert third.answer() == old["SET"][10:900_001]
        assert text._file.read(9) == b"VALUE SET"
        text._file.readline()
        assert text._file.read(LONG) == old["SET"]
        for client in (slow, third):
            client.close()


def test_values_that_only_answers_hold_are_bounded() -> None:
    with a_store(memory=400 << 20) as store, Resp(store.addresses["resp"]) as friend, contextlib.ExitStack() as stack:
        keys = [f"k{place}" for place in range(60)]
        for key in keys:
            friend("SET", key, b"x" * LONG)
        for _ in range(40):  # 2.4 GB of answers, which take no memory as long as the values stay
            deaf = stack.enter_context(dial(store.addresses["resp"]))
            deaf.sendall(encoded("MGET", *keys))
            assert deaf.recv(1, 2)
        names = "evicted_clients", "mem_clients_normal", "used_memory"
        evicted, held, used = counted(friend, *names)
        assert (evicted, held < 4 << 20, used < 70 << 20) == (0, True, True)
        for key in keys:
            friend("SET", key, b"y" * LONG)
            assert counted(friend, "mem_clients_normal")[0] <= 51 << 20
        assert counted(friend, "evicted_clients") == [40]
        assert counted(friend, "used_memory")[0] < 70 << 20


def test_what_was_flushed_is_freed_in_rounds_and_makes_room() -> None:
    with a_store(memory=16 << 20) as store, Resp(store.addresses["resp"]) as friend:
        for place in range(0, 60_000, 500):
            words = [word for key in range(place, place + 500) for word in (f"k{key}", "x" * 100)]
            assert friend("MSET", *words) == "OK"
        (before,) = counted(friend, "used_memory")
        friend.sock.sendall(encoded("FLUSHALL") + encoded("SET", "k", b"x" * LONG) + encoded("DBSIZE"))
        assert [friend.answer() for _ in range(3)] == ["OK", "OK", 1]
        while counted(friend, "used_memory")[0] > before // 4:  # ends by the time limit where it is never freed
            pass
        assert friend("GET", "k") == b"x" * LONG
