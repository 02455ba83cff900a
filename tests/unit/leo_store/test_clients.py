# SPDX-License-Identifier: Apache-2.0
"""CLIENT, CONFIG SET and COMMAND GETKEYS beside redis itself: the same questions, the same answers.

Blind to: numbers of what a server has beside its clients (buffers, memory), which are compared with nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from offramp.leo.store.peers import running_peer
from store_lab import Resp, a_store

ALIKE = (
    ("CLIENT", "KILL"),
    ("CLIENT", "KILL", "10.0.0.1:1"),
    ("CLIENT", "KILL", "ID", "99999"),
    ("CLIENT", "KILL", "ID", "x"),
    ("CLIENT", "KILL", "TYPE", "pubsub"),
    ("CLIENT", "KILL", "TYPE", "none"),
    ("CLIENT", "KILL", "ADDR", "10.0.0.1:1", "SKIPME", "no"),
    ("CLIENT", "KILL", "SKIPME", "maybe"),
    ("CLIENT", "KILL", "USER", "nobody"),
    ("CLIENT", "KILL", "ID", "1", "TYPE"),
    ("CLIENT", "GETREDIR"),
    ("CLIENT", "REPLY"),
    ("CLIENT", "REPLY", "maybe"),
    ("CLIENT", "SETNAME", "two words"),
    ("CLIENT", "LIST", "TYPE", "replica"),
    ("HELLO", "3", "SETNAME", "two words"),
    ("CONFIG", "SET", "maxmemory", "1", "maxmemory", "2"),
    ("CONFIG", "SET", "databases", "2"),
    ("CONFIG", "SET", "maxmemory-samples", "5", "nonsense", "1"),
    ("COMMAND", "GETKEYS", "GET", "a"),
    ("COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2"),
    ("COMMAND", "GETKEYS", "RENAME", "a", "b"),
    ("COMMAND", "GETKEYS", "PING"),
    ("COMMAND", "GETKEYS", "GET"),
    ("COMMAND", "GETKEYS", "nonsense", "a"),
)


@contextmanager
def store_and_redis() -> Iterator[dict[str, str]]:
    """Addresses of a store and of redis."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with ExitStack() as stack:
        store = stack.enter_context(a_store(memcached=""))
        yield {"store": store.addresses["resp"], "redis": stack.enter_context(running_peer("redis-server")).address}


def conversation(address: str) -> list[object]:
    """What is answered to commands whose answers are partly not wanted, and to a client that another one ends."""
    with Resp(address) as one, Resp(address) as two:
        said: list[object] = [one(*words) for words in ALIKE]
        one.send("CLIENT", "REPLY", "OFF")
        one.send("SET", "a", "1")
        one.send("WAIT", "0", "1")
        one.send("SUBSCRIBE", "c")  # its answer is a message
        said.append(one.answer())
        one.send("NONSENSE")
        two("PUBLISH", "c", "text")
        said.append(one.answer())
        one.send("UNSUBSCRIBE", "c")
        said.append(one.answer())
        one.send("CLIENT", "REPLY", "ON")
        said.append(one.answer())
        one.send("CLIENT", "REPLY", "SKIP")
        one.send("SET", "b", "2")
        one.send("GET", "b")
        said.append(one.answer())
        one.send("CLIENT", "REPLY", "SKIP")
        one.send("CLIENT", "REPLY", "ON")
        said += [one.answer(), one("GET", "a")]
        one("CLIENT", "SETNAME", "one")
        two("MULTI")
        two("PING")
        lines = one("CLIENT", "LIST").decode().splitlines()
        known = [dict(each.split("=", 1) for each in line.split(" ")) for line in lines]
        kept = ("name", "flags", "db", "sub", "psub", "multi", "cmd", "user", "redir")
        said += sorted(tuple(each[key] for key in kept) for each in known)
        assert {one.sock.getsockname()[1], two.sock.getsockname()[1]} <= {int(e["addr"].split(":")[1]) for e in known}
        assert {each["laddr"] for each in known} == {address}
        assert re.match(
            rf"id={one('CLIENT', 'ID')} addr=\S+ .*name=one .*cmd=client\|info", one("CLIENT", "INFO").decode()
        )
        # Who is killed is gone at once, for a command right behind too; and the one who asks spares itself.
        kills = "CLIENT KILL ADDR {}:{}\r\nCLIENT KILL TYPE normal\r\nPING\r\n".format(*two.sock.getsockname())
        one.sock.sendall(kills.encode())
        said += [one.answer() for _ in range(3)]
        with pytest.raises(ConnectionError):
            two("EXEC")
        said.append(one("CLIENT", "KILL", "{}:{}".format(*one.sock.getsockname())))
        with pytest.raises(ConnectionError):
            one("PING")
    return said


def test_clients_are_told_and_ended_as_by_redis() -> None:
    with store_and_redis() as addresses:
        answers = {name: conversation(address) for name, address in addresses.items()}
    for words, ours, theirs in zip([*ALIKE, *[()] * 100], answers["store"], answers["redis"], strict=False):
        # How many arguments a container's subcommand may have is told in the same words; hints differ.
        assert str(ours).split(" Try")[0] == str(theirs).split(" Try")[0], words
    assert len(answers["store"]) == len(answers["redis"])


def test_a_setting_that_cannot_change_takes_the_value_that_it_has() -> None:
    with a_store(memcached="") as store, Resp(store.addresses["resp"]) as client:
        assert client("CONFIG", "SET", "save", "", "appendonly", "no", "maxmemory", "1mb") == "OK"
        assert client("CONFIG", "SET", "maxmemory", "2mb", "appendonly", "yes").startswith("ERR CONFIG SET failed")
        assert client("CONFIG", "GET", "maxmemory") == [b"maxmemory", b"1048576"]
        assert b"used_cpu_user:" in client("INFO", "cpu")


def test_wrong_bytes_are_named() -> None:
    with a_store(memcached="") as store, Resp(store.addresses["resp"]) as client:
        client.sock.sendall(b"*2\r\n$3\r\nGET\r\nfoo\r\n")
        assert client.answer() == "ERR Protocol error: expected '$', got 'f'"
