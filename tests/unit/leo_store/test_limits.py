# SPDX-License-Identifier: Apache-2.0
"""Limits of strangers and hostile peers, and answers to requests that are too large, too many or unknown."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp.leo.store.process import StoreProcess
from offramp.leo.store.server import PROTOCOL, StoreServer, password_of
from offramp.leo.store.settings import StoreSettings
from offramp_base.errors import OfframpError
from offramp_base.listening import Token, connect
from store_lab import ErrorAnswer, Nothing, Resp, Text, a_store, dial, encoded, needs_compiler


def test_full_memory_refuses_what_grows_and_nothing_else() -> None:
    with (
        a_store(memory=4 << 20) as store,
        Resp(store.addresses["resp"]) as client,
        Text(store.addresses["memcached"]) as text,
    ):
        stored = 0
        while (answer := client("SET", f"k{stored}", "x" * 10_000)) == "OK":
            stored += 1
        assert answer.startswith("OOM command not allowed")
        assert 300 < stored < 420
        assert text(b"set t 0 0 1\r\nx\r\n") == b"SERVER_ERROR out of memory storing object\r\n"
        assert client("GET", "k0") == b"x" * 10_000
        assert client("DEL", *[f"k{i}" for i in range(100)]) == 100
        assert client("SET", "again", "1") == "OK"
        assert client("CONFIG", "SET", "maxmemory", "0") == "OK"


def test_values_and_keys_that_are_too_long() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as client, Text(store.addresses["memcached"]) as text:
        most = 1 << 20
        assert client("SET", "k", b"x" * most) == "OK"
        for command in (
            ["SET", "k", b"x" * (most + 1)],
            ["APPEND", "k", "x"],
            ["SETRANGE", "k", str(most), "x"],
            ["SETRANGE", "k", "4611686018427387904", "x"],
        ):
            assert "exceeds maximum allowed size" in client(*command), command[0]
        assert client("STRLEN", "k") == most
        assert "key is longer" in client("SET", b"k" * 65_537, "1")
        assert (
            text(b"set t 0 0 %d\r\n%b\r\n" % (most + 1, b"x" * (most + 1)))
            == b"SERVER_ERROR object too large for cache\r\n"
        )
        assert text(b"append k 0 0 1\r\nx\r\n") == b"SERVER_ERROR object too large for cache\r\n"
        assert text(b"get %b\r\n" % (b"k" * 251)) == b"CLIENT_ERROR bad command line format\r\n"
        client("MSET", *[word for i in range(70) for word in (f"b{i}", b"x" * 200_000)])
        assert len(client("MGET", *[f"b{i}" for i in range(70)])) == 70
        assert "longer than" in client("MGET", *["k"] * 65)
        assert text(b"get" + b" k" * 65 + b"\r\n").startswith(b"SERVER_ERROR the answer is longer")


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length"),
        (b"*99999999\r\n", b"-ERR Protocol error: invalid multibulk length"),
        (b"*01\r\n$4\r\nPING\r\n", b"-ERR Protocol error: invalid multibulk length"),
        (b"*-0\r\n", b"-ERR Protocol error: invalid multibulk length"),
        (b"*1\r\n$04\r\nPING\r\n", b"-ERR Protocol error: invalid bulk length"),
        (b"*1\r\n$99999999999\r\n", b"-ERR Protocol error: invalid bulk length"),
        (b"*1\r\n$9999999999999999999\r\n", b"-ERR Protocol error: invalid bulk length"),
        (b"*1\r\nGET\r\n", b"-ERR Protocol error: expected '$', got 'G'"),
        (b"*1\r\n$4\r\nPINGxx", b"-ERR Protocol error: expected a line end"),
        (b'"unbalanced\r\n', b"-ERR Protocol error: unbalanced quotes"),
        (b"x" * 70_000, b"-ERR Protocol error: too big inline request"),
        (b"*2\r\n$4\r\nECHO\r\n$16777217\r\n", b"-ERR Protocol error: invalid bulk length"),
    ],
)
def test_what_is_no_command_ends_the_connection(sent: bytes, answer: bytes) -> None:
    with a_store() as store:
        assert until_closed(store.addresses["resp"], sent).startswith(answer)


def until_closed(address: str, sent: bytes) -> bytes:
    """What a server says to these bytes before it closes the connection."""
    with dial(address) as sock:
        sock.sendall(sent)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := sock.recv(4096):
                received += part
        return received


@pytest.fixture(scope="module")
def shared() -> Iterator[StoreProcess]:
    """A store that no test here fills."""
    with a_store() as store:
        yield store


BODY = b"SET page 1\r\nset page 0 0 1\r\n1\r\nms page 1\r\n1\r\n"
FOREIGN = {
    "POST": b"POST / HTTP/1.1\r\nHost: a\r\n\r\n" + BODY,
    "post": b"post / http/1.1\r\n" + BODY,
    "PUT": b"PUT /x HTTP/1.1\r\n" + BODY,
    "OPTIONS": b"OPTIONS * HTTP/1.1\r\n" + BODY,
    "GET": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + BODY,
    "a header": b"Host: a\r\n" + BODY,
    "another": b"Content-Type: text/plain\r\n" + BODY,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + BODY,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n" + BODY,
}


@pytest.mark.parametrize("protocol", ["resp", "memcached"])
@pytest.mark.parametrize("name", FOREIGN)
def test_another_protocols_request_is_not_executed(shared: StoreProcess, protocol: str, name: str) -> None:
    until_closed(shared.addresses[protocol], FOREIGN[name])
    with Resp(shared.addresses["resp"]) as client:
        assert client("EXISTS", "page") == 0


def test_the_protocols_at_each_others_address(shared: StoreProcess) -> None:
    assert until_closed(shared.addresses["memcached"], encoded("PING") + BODY) == b"ERROR\r\n"
    noop = b"\x80\x0a" + bytes(22)
    assert until_closed(shared.addresses["resp"], noop).startswith(b"-ERR Protocol error: expected a command")
    with Resp(shared.addresses["resp"]) as client:
        assert client("EXISTS", "page") == 0


@pytest.mark.parametrize("protocol", ["resp", "memcached"])
def test_a_command_in_pieces_is_parsed_once(shared: StoreProcess, protocol: str) -> None:
    """Processor time for the last bytes of a long command, one by one, beside the same number of short commands."""
    pieces = 3000
    if protocol == "resp":
        begin, ping, pong = b"*65001\r\n$6\r\nEXISTS\r\n" + b"$1\r\nk\r\n" * 60_000, b"PING\r\n", b"+PONG\r\n"
        rest = (b"$1\r\nk\r\n" * 5000)[:pieces]
    else:
        begin, ping, pong, rest = b"get" + b" k" * 30_000, b"mn\r\n", b"MN\r\n", b" k" * (pieces // 2)
    with dial(shared.addresses[protocol]) as slow, dial(shared.addresses[protocol]) as friend:

        def turn(sock: socket.socket, text: bytes) -> float:
            """Processor time of the store while these bytes come one by one, and a friend asks between them."""
            before = shared.processor_s()
            for byte in text:
                if sock is slow:
                    sock.sendall(bytes([byte]))
                friend.sendall(ping)
                assert friend.recv(64) == pong
            return shared.processor_s() - before

        slow.sendall(begin)
        friend.sendall(ping)
        assert friend.recv(64) == pong
        quiet = turn(friend, rest)
        assert turn(slow, rest) < 6 * quiet


def memory_of(store: StoreProcess) -> int:
    """Bytes of memory that the process has."""
    return int(Path(f"/proc/{store.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


HALF = {
    "SET": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"y" * 900_000,
    "MSET": b"*33\r\n$4\r\nMSET\r\n" + b"$1\r\nk\r\n$1000000\r\n%b\r\n" % (b"y" * 1_000_000) * 14,
    "MULTI": encoded("MULTI") + encoded("SET", "k", b"y" * 1_000_000) * 14,
    "WATCH": encoded("WATCH", *[b"%060000d" % i for i in range(200)]) * 4,
    "words": b"*65000\r\n$4\r\nMSET\r\n" + b"$1\r\nk\r\n" * 64_000,
    "memcached": b"set k 0 0 1000000\r\n" + b"y" * 900_000,
}


@pytest.mark.parametrize("kind", HALF)
def test_what_clients_leave_half_is_part_of_the_memory(kind: str) -> None:
    memory, clients = 100 << 20, 200 if len(HALF[kind]) < 2_000_000 else 30
    protocol = "memcached" if kind == "memcached" else "resp"
    with a_store(memory=memory) as store, Resp(store.addresses["resp"]) as friend, contextlib.ExitStack() as stack:
        before = memory_of(store)
        for _ in range(clients):
            sock = stack.enter_context(dial(store.addresses[protocol]))
            with contextlib.suppress(OSError):  # the store closes the worst
                sock.sendall(HALF[kind])
            assert friend("SET", "friend", "1") == "OK"
        assert memory_of(store) - before < 60 << 20
        assert "evicted_clients:0" not in friend("INFO", "stats").decode()
        stack.close()
        end = time.monotonic() + 20
        while memory_of(store) - before > 40 << 20:  # the allocator keeps some
            assert time.monotonic() < end
            friend("PING")
            time.sleep(0.1)


def test_clients_that_do_not_read_long_answers_are_bounded_in_sum() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as friend, contextlib.ExitStack() as stack:
        keys = [f"k{i}" for i in range(60)]
        for key in keys:
            friend("SET", key, b"x" * 1_000_000)
        for _ in range(40):  # 2.4 GB of answers
            stack.enter_context(dial(store.addresses["resp"])).sendall(encoded("MGET", *keys))
            assert friend("PING") == "PONG"
        assert memory_of(store) < 900 << 20


def test_a_client_that_does_not_read_holds_up_nobody() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as other:
        other("SET", "big", "x" * 100_000)
        with dial(store.addresses["resp"]) as deaf:
            deaf.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                while True:
                    deaf.sendall(encoded("GET", "big") * 100)
            assert other("PING") == "PONG"
            memory = int(Path(f"/proc/{store.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            assert memory < 200 << 20


def test_answers_that_the_socket_does_not_take_come_in_order() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as client:
        client("SET", "big", "x" * 1_000_000)
        count = 60
        sender = threading.Thread(
            target=lambda: [client.send("APPEND", "n", "x") or client.send("GET", "big") for _ in range(count)]
        )
        sender.start()
        time.sleep(0.3)
        for i in range(count):
            assert client.answer() == i + 1
            assert len(client.answer()) == 1_000_000
        sender.join()


def test_a_password_is_asked_for(tmp_path: Path) -> None:
    needs_compiler()
    token = Token.random()
    settings = StoreSettings(listen="127.0.0.1:0", resp="127.0.0.1:0", memcached="127.0.0.1:0")
    with StoreServer(settings, token) as server:
        threading.Thread(target=server.welcome, daemon=True).start()
        with Resp(server.addresses["resp"]) as client:
            assert client("GET", "k").startswith("NOAUTH")
            assert client("AUTH", "wrong").startswith("WRONGPASS")
            assert client("HELLO", "3").startswith("NOAUTH")
            assert client("AUTH", "default", password_of(token)) == "OK"
            assert client("GET", "k") == Nothing()
        with dial(server.addresses["resp"]) as sock:
            sock.sendall(b"*2\r\n$3\r\nGET\r\n$100000\r\n")
            assert b"invalid bulk length" in sock.recv(100)
        with Text(server.addresses["memcached"]) as text:
            shown = b"user " + password_of(token).encode()
            assert text(b"set auth 0 0 %d\r\n%b\r\n" % (len(shown), shown)) == b"STORED\r\n"
            assert text(b"get k\r\n") == b"END\r\n"
        with Text(server.addresses["memcached"]) as text:
            assert text(b"get k\r\n") == b"CLIENT_ERROR unauthenticated\r\n"
        sock, _ = connect(server.addresses["listen"], token, PROTOCOL, {"store": 1})
        with sock:
            sock.sendall(encoded("PING"))
            assert sock.recv(100) == b"+PONG\r\n"
        with pytest.raises(OfframpError, match="does not accept the token"):
            connect(server.addresses["listen"], Token.random(), PROTOCOL, {"store": 1})


def test_other_machines_need_a_token() -> None:
    needs_compiler()
    for name in ("resp", "memcached", "listen"):
        with pytest.raises(OfframpError, match="needs a token"):
            StoreServer(StoreSettings(**{"listen": "", name: "0.0.0.0:0"}))


def test_strangers_are_turned_out(tmp_path: Path) -> None:
    needs_compiler()
    with StoreServer(StoreSettings(listen="", resp="127.0.0.1:0"), Token.random()) as server:
        silent = [dial(server.addresses["resp"]) for _ in range(300)]
        began = time.monotonic()
        silent[0].settimeout(10)
        assert silent[0].recv(1) == b""  # the oldest makes room
        assert time.monotonic() - began < 4
        silent[-1].settimeout(10)
        assert silent[-1].recv(1) == b""  # five seconds are over
        for sock in silent:
            sock.close()


def test_a_unix_socket_is_for_this_user(tmp_path: Path) -> None:
    with a_store(resp=f"unix:{tmp_path}/resp", memcached="") as store, Resp(store.addresses["resp"]) as client:
        assert (tmp_path / "resp").stat().st_mode & 0o777 == 0o600
        assert client("PING") == "PONG"


def test_expiry_and_growth() -> None:
    """Thousands of keys, of which every other ends soon; SCAN sees each that stays while the table grows."""
    with a_store() as store, Resp(store.addresses["resp"]) as client:
        stay = {b"stay%d" % i for i in range(2000)}
        client.sock.sendall(b"".join(encoded("SET", key, "1") for key in stay))
        for _ in stay:
            assert client.answer() == "OK"
        seen: set[bytes] = set()
        cursor, added = b"0", 0
        while True:
            cursor, keys = client("SCAN", cursor, "MATCH", "stay*", "COUNT", "1000")
            seen.update(keys)
            batch = b"".join(
                encoded("SET", f"more{added + i}", "1", *(["PX", "300"] if i % 2 else [])) for i in range(500)
            )
            client.sock.sendall(batch)
            for _ in range(500):
                client.answer()
            added += 500
            if cursor == b"0":
                break
        assert seen == stay
        end = time.monotonic() + 20
        while client("DBSIZE") != len(stay) + added // 2 and time.monotonic() < end:
            time.sleep(0.1)
        assert client("DBSIZE") == len(stay) + added // 2  # nobody has asked for those that have ended


def test_hostile_bytes(tmp_path: Path) -> None:
    """Random pieces of commands on many connections: the server answers an honest one all the time."""
    rng = random.Random(3)
    with a_store(folder=tmp_path, value_bytes=4096) as store, Resp(store.addresses["resp"]) as honest:
        for i in range(150):
            with socket.create_connection(store.addresses[rng.choice(["resp", "memcached"])].split(":"), 5) as sock:
                good = encoded("SET", "k", "v") + rng.choice(
                    [b"set a 0 0 1\r\nx\r\nmg a v\r\n", b"\x80\x01\0\1\x08\0\0\0\0\0\0\x0a" + bytes(20) + b"kv"]
                )
                good = good if rng.random() < 0.5 else good[-34:]
                content = bytearray(good * rng.randrange(1, 20))
                for _ in range(rng.randrange(10)):
                    content[rng.randrange(len(content))] = rng.randrange(256)
                sock.sendall(content[: rng.randrange(len(content))])
            assert honest("INCR", "count") == i + 1
        assert isinstance(honest("CLIENT", "LIST"), bytes)
        assert isinstance(honest("NO", "SUCH"), ErrorAnswer)


ANSWERS: dict[tuple[str, ...], object] = {
    ("CLIENT", "LIST", "ID", "x"): "ERR Invalid client ID",
    ("CLIENT", "LIST", "ID"): "ERR syntax error",
    ("CLIENT", "LIST", "ID", "999999"): b"",
    ("CLIENT", "LIST", "TYPE", "pubsub"): b"",
    ("CLIENT", "LIST", "TYPE", "x"): "ERR Unknown client type 'x'",
    ("CLIENT", "LIST", "x"): "ERR syntax error",
    ("COMMAND", "LIST", "FILTERBY", "PATTERN", "mset*"): [b"mset", b"msetnx"],
    ("COMMAND", "LIST", "FILTERBY", "MODULE", "x"): [],
    ("COMMAND", "LIST", "FILTERBY", "ACLCAT", "x"): "ERR syntax error",
    ("COMMAND", "LIST", "FILTERBY", "PATTERN"): "ERR syntax error",
    ("COMMAND", "LIST", "x"): "ERR syntax error",
    ("INFO", "nosuch"): b"",
    ("INFO", "cluster"): b"# Cluster\r\ncluster_enabled:0\r\n",
    ("BGSAVE", "x"): "ERR syntax error",
}


@pytest.mark.parametrize("words", ANSWERS)
def test_options_act_or_are_refused(shared: StoreProcess, words: tuple[str, ...]) -> None:
    with Resp(shared.addresses["resp"]) as client:
        assert client(*words) == ANSWERS[words]


def test_clients_by_their_ids(shared: StoreProcess) -> None:
    with Resp(shared.addresses["resp"]) as one, Resp(shared.addresses["resp"]) as two:
        ids = [one("CLIENT", "ID"), two("CLIENT", "ID")]
        assert one("CLIENT", "LIST", "ID", ids[1]).startswith(b"id=%d " % ids[1])
        assert one("CLIENT", "LIST", "ID", *ids).count(b"id=") == 2


def test_times_at_the_end_of_time(shared: StoreProcess) -> None:
    last = (1 << 63) - 1
    with Resp(shared.addresses["resp"]) as client:
        for words in (("PEXPIRE", last), ("EXPIRE", last // 1000), ("EXPIREAT", last), ("PEXPIRE", 1 - last)):
            client("SET", "k", "1")
            answer = client(words[0], "k", words[1])
            assert answer == 1 if words[1] < 0 else "invalid expire time" in answer, words
        client("SET", "k", "1")
        assert client("PEXPIREAT", "k", last) == 1
        assert client("PEXPIRETIME", "k") == last
        assert client("EXPIRETIME", "k") == last // 1000 + 1  # 807 ms are nearer to the next second
        assert client("TTL", "k") > 0
        assert client("PEXPIREAT", "k", last, "GT") == 0
