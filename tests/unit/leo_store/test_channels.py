# SPDX-License-Identifier: Apache-2.0
"""Channels, patterns and keyspace events; the oracle is redis, which is sent the same."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator

import pytest

from offramp.leo.store.peers import running_peer
from store_lab import ErrorAnswer, Resp, Text, a_store

Words = tuple[str, ...]

CHANGES: list[Words] = [
    ("SET", "a", "1", "EX", "100"),
    ("SETEX", "b", "10", "x"),
    ("SET", "a", "2", "KEEPTTL"),
    ("APPEND", "a", "x"),
    ("APPEND", "new", "y"),
    ("SETRANGE", "a", "1", "z"),
    ("SETRANGE", "fresh", "3", "z"),
    ("INCR", "n"),
    ("DECRBY", "n", "2"),
    ("INCRBYFLOAT", "n", "1.5"),
    ("RENAME", "a", "d"),
    ("RENAMENX", "d", "n"),
    ("GETEX", "d", "PERSIST"),
    ("GETEX", "d", "EX", "100"),
    ("PERSIST", "d"),
    ("EXPIRE", "d", "-1"),
    ("SETNX", "n", "1"),
    ("GETDEL", "n"),
    ("MSET", "a", "1", "b", "2"),
    ("MSETNX", "a", "1", "c", "2"),
    ("GETSET", "a", "2"),
    ("DEL", "a", "none", "b"),
    ("MULTI",),
    ("SET", "a", "1"),
    ("INCR", "a"),
    ("EXEC",),
    ("SET", "soon", "1", "PX", "1"),
    ("PAUSE",),
    ("GET", "soon"),
    ("FLUSHALL",),
]


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with a_store() as store, running_peer("redis-server") as redis:
        yield [store.addresses["resp"], redis.address]


def pushed(client: Resp, until: bytes) -> list[list[object]]:
    """Messages up to one with this text."""
    messages = [client.answer()]
    while messages[-1][-1] != until:
        messages.append(client.answer())
    return messages


@pytest.mark.parametrize("letters", ["KEA", "Ex", "K$g", "Eg$x"])
def test_events_of_keys_are_those_of_redis(addresses: list[str], letters: str) -> None:
    events = []
    for address in addresses:
        with Resp(address) as client, Resp(address) as listener:
            assert client("CONFIG", "SET", "notify-keyspace-events", letters) == "OK"
            assert sorted(client("CONFIG", "GET", "notify-keyspace-events")[1]) == sorted(letters.encode())
            assert listener("PSUBSCRIBE", "__key*__:*", "end") == [b"psubscribe", b"__key*__:*", 1]
            assert listener.answer()[2] == 2
            for words in CHANGES:
                time.sleep(0.01) if words == ("PAUSE",) else client(*words)
            client("PUBLISH", "end", "end")
            events.append(pushed(listener, b"end"))
            client("CONFIG", "SET", "notify-keyspace-events", "")
    assert events[0] == events[1]
    assert len(events[0]) > 1 + (letters != "Ex")


def test_channels_as_in_redis(addresses: list[str]) -> None:
    transcripts = []
    for address in addresses:
        with Resp(address) as one, Resp(address) as two:
            said = [one("SUBSCRIBE", "a", "b"), one.answer(), one("PSUBSCRIBE", "a*", "[x"), one.answer()]
            said += [two("PUBLISH", "a", "1"), one.answer(), one.answer(), two("PUBLISH", "none", "1")]
            said += [one("PING"), one("PING", "x"), str(one("GET", "k"))[:40]]
            said += [sorted(two("PUBSUB", "CHANNELS")), two("PUBSUB", "NUMSUB", "a", "z"), two("PUBSUB", "NUMPAT")]
            said += [one("UNSUBSCRIBE", "a"), one("UNSUBSCRIBE"), one("PUNSUBSCRIBE", "none"), one("UNSUBSCRIBE")]
            said += [one("RESET"), str(one("GET", "k")), two("PUBLISH", "a", "1"), two("PUBSUB", "CHANNELS", "*")]
            transcripts.append(repr(said))
    assert transcripts[0] == transcripts[1]


def test_a_listener_of_version_3_may_do_all_else() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as client, Text(store.addresses["memcached"]) as text:
        client("CONFIG", "SET", "notify-keyspace-events", "KEA")
        client("HELLO", "3")
        client.sock.sendall(b"SUBSCRIBE __keyevent@0__:set __keyevent@0__:append\r\n")
        for _ in range(2):
            assert read_push(client)[0] == b"subscribe"
        assert text(b"set k 0 0 1\r\nx\r\n") == b"STORED\r\n"
        assert read_push(client) == [b"message", b"__keyevent@0__:set", b"k"]
        assert text(b"append k 0 0 1\r\ny\r\n") == b"STORED\r\n"
        assert read_push(client) == [b"message", b"__keyevent@0__:append", b"k"]
        assert client("GET", "k") == b"xy"


def read_push(client: Resp) -> list[object]:
    line = client._file.readline()
    assert line[:1] == b">"
    return [client.answer() for _ in range(int(line[1:]))]


def test_events_of_eviction_and_what_is_not_known() -> None:
    with (
        a_store(memcached="") as store,
        Resp(store.addresses["resp"]) as client,
        Resp(store.addresses["resp"]) as listener,
    ):
        assert isinstance(client("CONFIG", "SET", "notify-keyspace-events", "Em"), ErrorAnswer)
        client("CONFIG", "SET", "notify-keyspace-events", "Ee")
        listener("PSUBSCRIBE", "*:evicted")
        client("SET", "a", "1")
        client("CONFIG", "SET", "maxmemory", "1", "maxmemory-policy", "allkeys-lru")
        assert client("SET", "b", "1").startswith("OOM")
        assert listener.answer() == [b"pmessage", b"*:evicted", b"__keyevent@0__:evicted", b"a"]


def test_a_listener_that_does_not_read_is_closed() -> None:
    with (
        a_store(memcached="", memory=64 << 20) as store,
        Resp(store.addresses["resp"]) as client,
        Resp(store.addresses["resp"]) as deaf,
    ):
        deaf("SUBSCRIBE", "c")
        while client("PUBLISH", "c", "x" * 500_000) == 1:
            pass
        assert "evicted_clients:1" in client("INFO", "stats").decode()
