# SPDX-License-Identifier: Apache-2.0
"""EXEC is all or nothing, and WATCH sees every change, whatever else happens.

Oracles: redis, command by command, and a dictionary where memory or disk are full (``store_model``, ``store_bank``).
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import store_bank
from offramp.leo.store.peers import running_peer
from store_lab import ErrorAnswer, Nothing, Resp, a_store, needs_compiler
from store_model import compare

Words = tuple[str, ...]


def needs_redis() -> None:
    """Skip where the oracle is missing."""
    needs_compiler()
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")


ROUNDS = {
    "as they come": (0, ("aborted", "refused", "ended")),
    "with little memory": (3, ("aborted", "full", "commands refused")),
    "and a kill": (9, ("kills",)),
}


@pytest.mark.parametrize("kind", ROUNDS)
def test_random_transactions_end_as_in_redis(kind: str) -> None:
    needs_redis()
    first, expected = ROUNDS[kind]
    counts = compare(300, 51, first=first)
    assert min(counts["carried out"], *(counts[each] for each in expected)) > 0, counts


def test_random_transactions_on_a_full_disk_end_as_in_redis(small_disk: Path) -> None:
    needs_redis()
    counts = compare(300, 51, first=7, folder=small_disk)
    assert min(counts["carried out"], counts["full"]) > 0, counts


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_million_random_transactions_end_as_in_redis(small_disk: Path) -> None:
    needs_redis()
    assert compare(1_000_000, 51, groups=128, folder=small_disk)["transactions"] >= 1_000_000


def test_a_bank_with_little_memory_and_kills_loses_nothing(tmp_path: Path) -> None:
    counts = store_bank.run(tmp_path / "data", 400, 1)
    assert counts["full memory"] > 0, counts


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory of 3 MB; needs root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_bank_on_a_full_disk_loses_nothing(small_disk: Path) -> None:
    counts = store_bank.run(small_disk / "data", 500, 3)
    assert counts["full disk"] > 0, counts


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_bank_loses_nothing_in_many_transactions(tmp_path: Path, small_disk: Path) -> None:
    store_bank.run(tmp_path / "data", 200_000, 4)
    store_bank.run(small_disk / "data", 100_000, 5)


REFUSED = {
    "a long value": [("DECR", "a"), ("SET", "note", "x" * 900_000), ("INCR", "b")],
    "bytes that nobody sends": [("DECR", "a"), ("SETRANGE", "note", "900000", "x"), ("INCR", "b")],
    "many keys": [("DECR", "a"), ("MSET", *[w for i in range(9000) for w in (f"key{i}", "1" * 60)]), ("INCR", "b")],
    "many short commands": [("DECR", "a"), *[("APPEND", f"note{i}", "x" * 99) for i in range(4000)], ("INCR", "b")],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_not_fit_is_refused_whole(kind: str) -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as client:
        client("MSET", "a", "100", "b", "0")
        used = int(client("INFO", "memory").decode().split("used_memory:")[1].split()[0])
        client("CONFIG", "SET", "maxmemory", used + 300_000)
        for words in (("MULTI",), *REFUSED[kind]):
            client(*words)
        answer = client("EXEC")
        assert isinstance(answer, ErrorAnswer)
        assert answer.startswith("EXECABORT Transaction discarded because of")
        assert client("MGET", "a", "b") == [b"100", b"0"]
        assert client("DBSIZE") == 2
        for words in (("MULTI",), ("DECRBY", "a", "50"), ("INCRBY", "b", "50")):
            client(*words)
        assert client("EXEC") == [50, 50]


def test_memory_that_others_take_before_exec_refuses_it() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as client, Resp(store.addresses["resp"]) as other:
        client("SET", "a", "1")
        for words in (("MULTI",), ("DECR", "a"), ("INCR", "b")):
            assert client(*words) in ("OK", "QUEUED")
        other("CONFIG", "SET", "maxmemory", "1000")
        assert client("EXEC").startswith("EXECABORT Transaction discarded because of: OOM")
        assert (other("GET", "a"), other("EXISTS", "b")) == (b"1", 0)
        client("MULTI")
        client("DEL", "a")  # needs no memory
        assert client("EXEC") == [1]


def test_a_write_behind_answers_that_are_too_long_is_done() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as client:
        client("SET", "big", b"x" * (1 << 20))
        client("MULTI")
        client("DECR", "a")
        for _ in range(70):
            client("GET", "big")
        client("INCR", "b")
        answers = client("EXEC")
        assert len(answers) == 72
        assert "longer than" in answers[-1]
        assert client("MGET", "a", "b") == [b"-1", b"1"]


WATCHED: dict[str, tuple[list[Words], list[Words], bool]] = {
    # what is there at WATCH, what others do before EXEC, whether EXEC is carried out
    "nothing happens": ([("SET", "k", "1")], [], True),
    "another key": ([("SET", "k", "1")], [("SET", "other", "1")], True),
    "the same value": ([("SET", "k", "1")], [("SET", "k", "1")], False),
    "deleted": ([("SET", "k", "1")], [("DEL", "k")], False),
    "deleted and set again": ([("SET", "k", "1")], [("DEL", "k"), ("SET", "k", "1")], False),
    "set and deleted again": ([], [("SET", "k", "1"), ("DEL", "k")], False),
    "what is not there is deleted": ([], [("DEL", "k")], True),
    "flushed": ([("SET", "k", "1")], [("FLUSHALL",)], False),
    "flushed where it was not": ([("SET", "other", "1")], [("FLUSHALL",)], True),
    "an empty store is flushed": ([], [("FLUSHDB",)], True),
    "renamed": ([("SET", "k", "1")], [("RENAME", "k", "other")], False),
    "renamed onto": ([("SET", "other", "1")], [("RENAME", "other", "k")], False),
    "it shall end": ([("SET", "k", "1")], [("EXPIRE", "k", "100")], False),
    "it shall not end": ([("SET", "k", "1", "EX", "100")], [("PERSIST", "k")], False),
    "it ends": ([("SET", "k", "1", "PX", "150")], [("WAIT",)], False),
    "it ends and is set again": ([("SET", "k", "1", "PX", "150")], [("WAIT",), ("SET", "k", "1")], False),
    "it ends and is looked at": ([("SET", "k", "1", "PX", "150")], [("WAIT",), ("GET", "k")], False),
    "it ended before": ([("SET", "k", "1", "PX", "1"), ("WAIT",)], [], True),
    "it ended before and is looked at": ([("SET", "k", "1", "PX", "1"), ("WAIT",)], [("GET", "k")], True),
    "it ended before and is set": ([("SET", "k", "1", "PX", "1"), ("WAIT",)], [("SET", "k", "1")], False),
    "it ended before and is flushed": ([("SET", "k", "1", "PX", "1"), ("WAIT",)], [("FLUSHALL",)], True),
    "a change that fails": ([("SET", "k", "x")], [("INCR", "k"), ("SETNX", "k", "1")], True),
}


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    """Addresses of a store and of redis."""
    needs_redis()
    with a_store() as store, running_peer("redis-server") as redis:
        yield [store.addresses["resp"], redis.address]


@pytest.mark.parametrize("name", WATCHED)
def test_watch_as_in_redis(addresses: list[str], name: str) -> None:
    before, meanwhile, carried_out = WATCHED[name]
    for address in addresses:
        with Resp(address) as client, Resp(address) as other:

            def do(commands: list[Words], other: Resp = other) -> None:
                for words in commands:
                    if words == ("WAIT",):
                        time.sleep(0.3)  # twice what any key here has to live
                    else:
                        other(*words)

            other("FLUSHALL")
            do(before)
            client("WATCH", "k")
            do(meanwhile)
            client("MULTI")
            client("SET", "done", "1")
            assert client("EXEC") == (["OK"] if carried_out else Nothing()), address
            assert other("EXISTS", "done") == carried_out, address


def test_snapshots_in_transactions_as_in_redis(tmp_path: Path) -> None:
    with a_store(folder=tmp_path / "data") as store:
        with Resp(store.addresses["resp"]) as client:
            client("MULTI")
            assert client("SAVE") == "ERR Command not allowed inside a transaction"
            assert client("EXEC").startswith("EXECABORT")
            for words in (("MULTI",), ("SET", "a", "1"), ("BGSAVE",), ("SET", "b", "1")):
                client(*words)
            assert client("EXEC") == ["OK", "Background saving scheduled", "OK"]
            end = time.monotonic() + 20
            while not list((tmp_path / "data").glob("snapshot-????????")):
                assert time.monotonic() < end
                time.sleep(0.05)
        store.kill()
        store.start()
        with Resp(store.addresses["resp"]) as client:
            assert client("MGET", "a", "b") == [b"1", b"1"]


def test_a_snapshot_that_fails_is_told(tmp_path: Path) -> None:
    with a_store(folder=tmp_path / "data") as store, Resp(store.addresses["resp"]) as client:
        client("SET", "a", "1")
        assert "rdb_last_bgsave_status:ok" in client("INFO", "persistence").decode()
        (tmp_path / "data" / "snapshot-00000002.part").mkdir()  # where the snapshot would be written
        client("BGSAVE")
        end = time.monotonic() + 20
        while "rdb_last_bgsave_status:err" not in client("INFO", "persistence").decode():
            assert time.monotonic() < end
            time.sleep(0.05)
        assert client("SAVE") == "OK"
        assert "rdb_last_bgsave_status:ok" in client("INFO", "persistence").decode()
