# SPDX-License-Identifier: Apache-2.0
"""Keys that are served elsewhere as well: guards hear of each change before anybody else does.

Blind to: what a guard does with what it hears; ``test_store_paths.py`` and ``tests/p4/kvcache`` look at that.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest

from offramp.leo.store.guard import Changed, Guarded, KeyGuard, _parse
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from store_lab import ErrorAnswer, Nothing, Resp, Text, a_store, a_token


@pytest.fixture(scope="module", autouse=True)
def token() -> Iterator[Token]:
    """Token that every store and client here has."""
    with a_token() as shared:
        yield shared


@pytest.fixture
def store() -> Iterator:
    with a_store(listen="127.0.0.1:0") as opened:
        yield opened


def events(guard: KeyGuard, count: int, timeout_s: float = 10.0) -> list[Guarded | Changed]:
    """So many, once they have come."""
    received, until = [], time.monotonic() + timeout_s
    while len(received) < count:
        received += guard.poll()
        assert time.monotonic() < until, received
        time.sleep(1e-4)
    assert len(received) == count, received
    return received


class Waiting:
    """A command whose answer is waited for in a thread."""

    def __init__(self, client: Resp, *words: object) -> None:
        self.answer: object = None
        self._thread = threading.Thread(target=self._run, args=(client, words))
        self._thread.start()

    def _run(self, client: Resp, words: tuple[object, ...]) -> None:
        self.answer = client(*words)

    def waits(self) -> bool:
        """Whether it has no answer for a tenth of a second."""
        self._thread.join(0.1)
        return self._thread.is_alive()

    def ends(self) -> object:
        self._thread.join(10)
        assert not self._thread.is_alive()
        return self.answer


@pytest.mark.parametrize("sync", ["", "always", "everysec"])
def test_nobody_hears_of_a_change_before_it_is_released(tmp_path, sync) -> None:
    more = {"folder": tmp_path / "data", "sync": sync} if sync else {}
    with (
        a_store(listen="127.0.0.1:0", **more) as store,
        KeyGuard(store.addresses["listen"], Token.from_environment()) as guard,
        Resp(store.addresses["resp"]) as writer,
        Resp(store.addresses["resp"]) as reader,
        Text(store.addresses["memcached"]) as text,
    ):
        assert writer("SET", "k", "1") == "OK"
        guard.add([b"k", b"none"])
        first, none = events(guard, 2)
        assert (first.key, first.value, none) == (b"k", b"1", Guarded(b"none", 0, None))
        assert reader("GET", "k") == b"1"
        write = Waiting(writer, "SET", "k", "2")
        [change] = events(guard, 1)
        assert (change.key, change.value) == (b"k", b"2")
        assert change.version > first.version
        read = Waiting(reader, "GET", "k")
        assert write.waits()
        assert read.waits()
        guard.release(change.number)
        assert write.ends() == "OK"
        assert read.ends() == b"2"
        assert text(b"get k\r\n") == b"VALUE k 0 1\r\n2\r\nEND\r\n"
        guard.remove([b"k"])
        assert writer("SET", "k", "3") == "OK"  # which is nobody's any more
        assert not guard.poll()


CHANGES = {
    "SET": ("SET", "k", "2"),
    "APPEND": ("APPEND", "k", "2"),
    "INCR": ("INCR", "k"),
    "GETSET": ("GETSET", "k", "2"),
    "CAS": ("CAS", "k", "1", "2"),
    "SETVER": ("SETVER", "k", "2"),
    "MSET": ("MSET", "a", "1", "k", "2"),
    "SETRANGE": ("SETRANGE", "k", "1", "x"),
    "RENAME onto": ("RENAME", "other", "k"),
}
ENDS = {
    "DEL": ("DEL", "k"),
    "GETDEL": ("GETDEL", "k"),
    "RENAME": ("RENAME", "k", "z"),
    "EXPIRE": ("EXPIRE", "k", "100"),
    "FLUSHALL": ("FLUSHALL",),
    "long": ("SET", "k", "x" * 5000),
}


@pytest.mark.parametrize("name", [*CHANGES, *ENDS])
def test_every_kind_of_change_is_told(store, name) -> None:
    with (
        KeyGuard(store.addresses["listen"], Token.from_environment()) as guard,
        Resp(store.addresses["resp"]) as client,
    ):
        client("MSET", "k", "1", "other", "7")
        guard.add([b"k"])
        events(guard, 1)
        write = Waiting(client, *(CHANGES | ENDS)[name])
        change = events(guard, 1)[0]
        assert change.key == (None if name == "FLUSHALL" else b"k")
        assert write.waits()
        guard.release(change.number)
        write.ends()
        assert change.value == (client("GET", "k") if name in CHANGES else None)


def test_a_transaction_is_told_key_by_key_and_seen_whole(store) -> None:
    with (
        KeyGuard(store.addresses["listen"], Token.from_environment()) as guard,
        Resp(store.addresses["resp"]) as client,
        Resp(store.addresses["resp"]) as other,
    ):
        client("MSET", "a", "1", "b", "1")
        guard.add([b"a", b"b"])
        events(guard, 2)
        for words in (("MULTI",), ("SET", "a", "2"), ("SET", "b", "2")):
            client(*words)
        write = Waiting(client, "EXEC")
        first, second = events(guard, 2)
        assert {(first.key, first.value), (second.key, second.value)} == {(b"a", b"2"), (b"b", b"2")}
        read = Waiting(other, "MGET", "a", "b")
        guard.release(first.number)
        assert write.waits()
        guard.release(second.number)
        write.ends()
        assert read.ends() == [b"2", b"2"]


def test_a_guard_that_dies_is_waited_for_no_longer_and_others_are(store) -> None:
    address = store.addresses["listen"]
    with KeyGuard(address, Token.from_environment()) as stays, Resp(store.addresses["resp"]) as client:
        client("SET", "k", "1")
        goes = KeyGuard(address, Token.from_environment())
        for guard in (stays, goes):
            guard.add([b"k"])
            events(guard, 1)
        write = Waiting(client, "SET", "k", "2")
        [change] = events(stays, 1)
        goes.close()
        assert write.waits()
        stays.release(change.number)
        assert write.ends() == "OK"
    with Resp(store.addresses["resp"]) as client:  # the last guard is gone as well
        assert client("SET", "k", "3") == "OK"
        assert "guarded_keys:0" in client("INFO").decode()


def test_who_guards_proves_the_token_and_what_is_no_request(store) -> None:
    with Resp(store.addresses["resp"]) as client:
        for words in (("GUARD", "k"), ("UNGUARD", "k"), ("RELEASE", "1")):
            assert isinstance(client(*words), ErrorAnswer)
            assert "prove the token" in str(client(*words))
        client("SET", "e", "1", "EX", "100")
        client("SET", "long", "x" * 5000)
    with KeyGuard(store.addresses["listen"], Token.from_environment()) as guard:
        guard.add([b"e", b"long"])
        assert [each.value for each in events(guard, 2)] == [None, None]
        guard.release(99)  # more than there were changes
        guard.add([b"e"])
        events(guard, 1)
        guard.release(-1)
        with pytest.raises(OfframpError, match="not an integer"):
            events(guard, 1)


def test_a_store_without_a_token_has_no_guards(monkeypatch) -> None:
    monkeypatch.delenv("OFFRAMP_TOKEN_FILE")
    with a_store(listen="127.0.0.1:0") as open_store, Resp(open_store.addresses["resp"]) as client:
        client("SET", "k", "1")
        with KeyGuard(open_store.addresses["listen"]) as guard:
            guard.add([b"k"])
            with pytest.raises(OfframpError, match="guards prove the token"):
                events(guard, 1)
        assert client("SET", "k", "2") == "OK"


@pytest.mark.parametrize("name", ["SET", "FLUSHALL", "EXEC"])
def test_a_silent_guard_holds_up_its_own_keys_alone_and_those_not_for_long(store, name) -> None:
    with (
        KeyGuard(store.addresses["listen"], Token.from_environment()) as silent,
        KeyGuard(store.addresses["listen"], Token.from_environment()) as awake,
        Resp(store.addresses["resp"]) as writer,
        Resp(store.addresses["resp"]) as other,
        Resp(store.addresses["resp"]) as reader,
    ):
        writer("MSET", "k", "1", "awake", "1", "free", "1")
        for guard, key in ((silent, b"k"), (awake, b"awake")):
            guard.add([key])
            events(guard, 1)
        if name == "EXEC":
            writer("MULTI"), writer("SET", "free", "1"), writer("SET", "k", "2")
        write = Waiting(writer, *{"SET": ("SET", "k", "2"), "FLUSHALL": ("FLUSHALL",), "EXEC": ("EXEC",)}[name])
        events(silent, 1)  # which it never releases
        if name == "FLUSHALL":
            awake.release(events(awake, 1)[0].number)
        read = Waiting(reader, "GET", "k")
        for number in range(100):
            assert other("SET", "free", number) == "OK"
            assert other("GET", "free") == b"%d" % number
        second = Waiting(other, "SET", "awake", "2")
        awake.release(events(awake, 1)[0].number)
        assert second.ends() == "OK"
        assert write.waits()
        assert read.waits()
        assert write.ends() in ("OK", ["OK", "OK"])
        assert read.ends() == (Nothing() if name == "FLUSHALL" else b"2")
        with pytest.raises(OfframpError, match=r"gone|reset"):
            events(silent, 1 << 20)


def test_commands_that_look_at_every_key_wait_for_its_guards(store) -> None:
    with (
        KeyGuard(store.addresses["listen"], Token.from_environment()) as guard,
        Resp(store.addresses["resp"]) as writer,
        Resp(store.addresses["resp"]) as reader,
    ):
        writer("SET", "k", "1")
        for words in (("KEYS", "*"), ("SCAN", "0"), ("DBSIZE",), ("RANDOMKEY",)):
            guard.add([b"k"])
            events(guard, 1)
            write = Waiting(writer, "SET", "k", "2")
            change = events(guard, 1)[0]
            look = Waiting(reader, *words)
            assert look.waits(), words
            guard.release(change.number)
            look.ends()
            write.ends()


@pytest.mark.parametrize(
    ("text", "item"),
    [
        (b"$3\r\nabc\r\n", b"abc"),
        (b"$0\r\n\r\n", b""),
        (b"$-1\r\n", None),
        (b":-12\r\n", -12),
        (b"+OK\r\n", b"OK"),
        (b"*2\r\n$1\r\na\r\n:7\r\n", [b"a", 7]),
    ],
)
def test_what_a_store_says_is_read_when_it_is_whole(text, item) -> None:
    for end in range(len(text)):
        assert _parse(text[:end], 0) is None
    for rest in (b"", b"\r", b"$1\r\nx\r\n"):
        assert _parse(text + rest, 0) == (item, len(text), False)
        assert _parse(b"xy" + text + rest, 2) == (item, len(text) + 2, False)


def test_versions_only_grow(store) -> None:
    with Resp(store.addresses["resp"]) as client:
        last = 0
        for _ in range(3):
            version = client("SETVER", "k", "1")
            assert version > last
            assert client("GETVER", "k") == [version, b"1"]
            client("DEL", "k")
            last = version
        assert client("GETVER", "k") == Nothing()


@pytest.mark.full
def test_random_changes_reach_a_guard_before_anybody(store) -> None:
    """A copy that hears changes late, and a reader by redis' protocol: no reader is ever ahead of the copy."""
    rng, keys = random.Random(5), [f"k{n}" for n in range(4)]
    stop, wrong = threading.Event(), []
    copy: dict[bytes, int] = {}
    with (
        KeyGuard(store.addresses["listen"], Token.from_environment()) as guard,
        Resp(store.addresses["resp"]) as client,
    ):
        client("MSET", *[word for key in keys for word in (key, "0")])
        guard.add([key.encode() for key in keys])
        for each in events(guard, len(keys)):
            copy[each.key] = int(each.value)

        def use(seed: int) -> None:
            mine = random.Random(seed)
            with Resp(store.addresses["resp"]) as other:
                while not stop.is_set():
                    key = mine.choice(keys)
                    value = int(other("INCR", key) if mine.random() < 0.5 else other("GET", key))
                    if copy[key.encode()] < value:
                        wrong.append((key, value, copy[key.encode()]))

        users = [threading.Thread(target=use, args=(seed,)) for seed in range(3)]
        for user in users:
            user.start()
        until, changes = time.monotonic() + 2.0, 0
        while time.monotonic() < until:
            for change in guard.poll():
                time.sleep(rng.choice([0, 1e-4, 1e-3]))
                copy[change.key] = int(change.value)
                guard.release(change.number)
                changes += 1
        stop.set()
        while any(user.is_alive() for user in users):
            for change in guard.poll():
                copy[change.key] = int(change.value)
                guard.release(change.number)
    assert not wrong
    assert changes > 100


def test_a_guard_that_does_not_listen_costs_a_bounded_memory(store) -> None:
    with (
        KeyGuard(store.addresses["listen"], Token.from_environment()) as guard,
        Resp(store.addresses["resp"]) as client,
    ):
        client("SET", "k", "1")
        guard.add([b"k"])
        events(guard, 1)
        pipe = b"".join(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3900\r\n%b\r\n" % (b"x" * 3900) for _ in range(200))
        for _ in range(150):  # 117 MB of values to be told of
            client.sock.sendall(pipe)
        for _ in range(200 * 150):
            assert client.answer() == "OK"
        with pytest.raises(OfframpError, match=r"gone|reset"):  # the guard was given up
            events(guard, 1 << 20)
