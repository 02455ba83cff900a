# SPDX-License-Identifier: Apache-2.0
"""Random commands of memcached's binary protocol to the store and to memcached: each answer is the same.

Blind to: versions, statistics, times between now and an expiry, numbers that memcached pads with
spaces, and what memcached does with a body that a command has not (it closes the connection later; the store skips it).
"""

from __future__ import annotations

import random
import shutil
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from offramp.leo.store.peers import running_peer
from offramp.leo.store.server import StoreServer, password_of
from offramp.leo.store.settings import StoreSettings
from offramp_base.listening import Token
from store_lab import Resp, Text, a_store, dial, needs_compiler

HEADER = struct.Struct(">BBHBBHIIQ")
GET, SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT, QUIT, FLUSH, GET_QUIET, NOOP, VERSION = range(12)
GET_KEY, GET_KEY_QUIET, APPEND, PREPEND, STAT, SET_QUIET = range(12, 18)
APPEND_QUIET, TOUCH, GET_TOUCH, GET_TOUCH_QUIET, SASL_LIST, SASL_AUTH, GET_TOUCH_KEY = 25, 28, 29, 30, 32, 33, 35
QUIET = SET_QUIET - SET
OK, NOT_FOUND, EXISTS, TOO_LARGE, INVALID, NOT_STORED, NOT_A_NUMBER, NO_PROOF, UNKNOWN, NO_ROOM = (
    *range(7), 0x20, 0x81, 0x82,
)  # fmt: skip


class Response(NamedTuple):
    """A response without its version."""

    opcode: int
    status: int
    extras: bytes
    key: bytes
    value: bytes
    opaque: int
    versioned: bool


def request(
    opcode: int, key: bytes = b"", extras: bytes = b"", value: bytes = b"", version: int = 0, opaque: int = 7
) -> bytes:
    """A request."""
    body = len(extras) + len(key) + len(value)
    return HEADER.pack(0x80, opcode, len(key), len(extras), 0, 0, body, opaque, version) + extras + key + value


class Binary:
    """A client; ``version`` is the last that an answer had."""

    def __init__(self, address: str) -> None:
        self.sock = dial(address)
        self._file = self.sock.makefile("rb")
        self.version = 0

    def close(self) -> None:
        self._file.close()
        self.sock.close()

    def answer(self) -> Response:
        """The next response.

        Raises:
            ConnectionError: there is none any more.
        """
        head = self._file.read(HEADER.size)
        if len(head) < HEADER.size:
            raise ConnectionError("the connection is closed")
        magic, opcode, key, extras, _, status, length, opaque, version = HEADER.unpack(head)
        self.version = version or self.version
        assert magic == 0x81
        body = self._file.read(length)
        rest = body[extras + key :]
        return Response(opcode, status, body[:extras], body[extras : extras + key], rest, opaque, version != 0)

    def __call__(self, *requests: bytes) -> list[Response]:
        """All responses, up to that of a last NOOP."""
        self.sock.sendall(b"".join(requests) + request(NOOP, opaque=99))
        responses = []
        while (response := self.answer()).opaque != 99:
            responses.append(response)
        return responses


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Binary, Binary]]:
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed")
    with a_store() as store, running_peer("memcached") as memcached:
        clients = Binary(store.addresses["memcached"]), Binary(memcached.address)
        yield clients
        for client in clients:
            client.close()


def some_requests(rng: random.Random, versions: tuple[int, int]) -> tuple[bytes, bytes]:
    """The same request for each of two servers, which gave out these versions last."""
    key = b"key%d" % rng.randrange(5)
    value = rng.choice([b"0", b"5", b"x", b"", b"x" + rng.randbytes(50), b"x" + rng.randbytes(3000)])
    time = rng.choice([0, 1000, 2_000_000_000])
    opcode = rng.choice([GET, GET_KEY, GET_QUIET, GET_KEY_QUIET, SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT])
    opcode = rng.choice([opcode, opcode, APPEND, PREPEND, TOUCH, GET_TOUCH, GET_TOUCH_KEY, GET_TOUCH_QUIET, 0x55])
    extras = b""
    if opcode in (SET, ADD, REPLACE):
        extras = struct.pack(">II", rng.randrange(1 << 32), time)
    elif opcode in (INCREMENT, DECREMENT):
        extras = struct.pack(">QQI", rng.randrange(1 << 10), rng.choice([13, 1 << 40]), rng.choice([0, 0xFFFFFFFF]))
    elif opcode in (TOUCH, GET_TOUCH, GET_TOUCH_KEY, GET_TOUCH_QUIET):
        extras = struct.pack(">I", time)
    if opcode not in (SET, ADD, REPLACE, APPEND, PREPEND):
        value = b""
    if opcode == 0x55:
        key = b""
    compares = rng.random() < 0.25 and opcode in (SET, ADD, REPLACE, DELETE, APPEND, INCREMENT)
    quiet = QUIET if rng.random() < 0.2 and opcode in (SET, ADD, REPLACE, DELETE) else 0
    first, second = (request(opcode + quiet, key, extras, value, version if compares else 0) for version in versions)
    return first, second


@pytest.mark.parametrize("seed", range(3))
def test_random_commands_are_answered_as_memcached_answers_them(pair: tuple[Binary, Binary], seed: int) -> None:
    rng = random.Random(seed)
    for each in pair:
        assert [answer.status for answer in each(request(FLUSH))] == [OK]
    for step in range(1500):
        sent = some_requests(rng, (pair[0].version or 1, pair[1].version or 1))
        ours, right = (
            [each._replace(value=each.value.rstrip(b" ")) for each in c(s)] for c, s in zip(pair, sent, strict=True)
        )
        assert ours == right, f"step {step}: {sent[0]!r}"
        if sent[0][1] == DECREMENT:  # memcached pads what has become shorter
            for each in pair:
                each(request(DELETE, sent[0][HEADER.size + 20 :]))
        versions = [client(request(GET, b"key0")) for client in pair]
        assert versions[0][0].status == versions[1][0].status


def test_versions_quiet_forms_and_both_protocols() -> None:
    with a_store() as store, Text(store.addresses["memcached"]) as text:
        client = Binary(store.addresses["memcached"])
        store_extras = struct.pack(">II", 5, 0)
        assert client(request(SET, b"k", store_extras, b"1"))[0].status == OK
        (fetched,) = client(request(GET_KEY, b"k"))
        assert (fetched.extras, fetched.key, fetched.value) == (struct.pack(">I", 5), b"k", b"1")
        client.sock.sendall(request(SET, b"k", store_extras, b"2"))
        client.answer()
        version = client.version
        assert client(request(SET, b"k", store_extras, b"3", version=version - 1))[0].status == EXISTS
        assert client(request(SET, b"k", store_extras, b"3", version=version))[0].status == OK
        assert client(request(SET + QUIET, b"k", store_extras, b"4"), request(GET_QUIET, b"none")) == []
        assert [each.status for each in client(request(DELETE + QUIET, b"none"))] == [NOT_FOUND]
        assert text(b"get k\r\n") == b"VALUE k 5 1\r\n4\r\nEND\r\n"
        assert text(b"set t 9 0 2\r\nhi\r\n") == b"STORED\r\n"
        assert client(request(GET, b"t"))[0].value == b"hi"
        statistics = client(request(STAT))
        assert statistics[-1].key == b""
        assert {each.key: each.value for each in statistics}[b"curr_items"] == b"2"
        assert client(request(VERSION))[0].value
        assert client(request(FLUSH + 0x10)) == []
        assert client(request(GET, b"k"))[0].status == NOT_FOUND
        client.sock.sendall(request(QUIT))
        assert client.answer().opcode == QUIT
        with pytest.raises(ConnectionError):
            client.answer()
        client.close()


def test_what_is_too_long_is_refused_and_the_old_value_goes() -> None:
    long = b"x" * ((1 << 20) + 1)
    with a_store() as store:
        client = Binary(store.addresses["memcached"])
        for opcode in (SET, SET + QUIET):
            client(request(SET, b"k", bytes(8), b"old"))
            assert [each.status for each in client(request(opcode, b"k", bytes(8), long))] == [TOO_LARGE]
            assert client(request(GET, b"k"))[0].status == NOT_FOUND
        client(request(SET, b"k", bytes(8), b"old"))
        assert client(request(ADD, b"k", bytes(8), long))[0].status == TOO_LARGE
        assert client(request(GET, b"k"))[0].value == b"old"
        client(request(SET, b"k", bytes(8), long[:-1]))
        assert client(request(APPEND, b"k", b"", b"x"))[0].status == NOT_STORED
        client.close()


@pytest.mark.parametrize(
    "sent",
    [
        request(GET),
        request(GET, b"k" * 251),
        request(GET, b"k", b"1234"),
        request(SET, b"k", b"", b"1"),
        request(NOOP, b"k"),
        HEADER.pack(0x80, SET, 5, 8, 0, 0, 3, 7, 0) + b"abc",
    ],
)
def test_what_is_no_request_is_answered_and_ends_the_connection(sent: bytes) -> None:
    with a_store() as store:
        client = Binary(store.addresses["memcached"])
        client.sock.sendall(sent)
        assert client.answer().status == INVALID
        with pytest.raises((ConnectionError, socket.error)):
            client.answer()
        client.close()


def test_full_memory_refuses_what_grows() -> None:
    with a_store() as store, Resp(store.addresses["resp"]) as other:
        client = Binary(store.addresses["memcached"])
        client(request(SET, b"k", bytes(8), b"1"))
        other("CONFIG", "SET", "maxmemory", "1000")
        assert client(request(ADD, b"new", bytes(8), b"1"))[0].status == NO_ROOM
        assert client(request(INCREMENT, b"k", struct.pack(">QQI", 1, 1, 0)))[0].status == NO_ROOM
        assert client(request(DELETE, b"k"))[0].status == OK
        client.close()


def test_sasl_is_refused_and_a_password_is_shown_in_text() -> None:
    needs_compiler()
    with a_store() as store:
        client = Binary(store.addresses["memcached"])
        assert client(request(SASL_LIST))[0].status == UNKNOWN
        assert client(request(SASL_AUTH, b"PLAIN", b"", b"\0user\0password"))[0].status == UNKNOWN
        client.close()
    token = Token.random()
    with StoreServer(StoreSettings(listen="", memcached="127.0.0.1:0"), token) as server:
        for sent in (request(GET, b"k"), request(SASL_AUTH, b"PLAIN", b"", b"\0user\0" + password_of(token).encode())):
            client = Binary(server.addresses["memcached"])
            client.sock.sendall(sent)
            assert client.answer().status == NO_PROOF
            with pytest.raises(ConnectionError):
                client.answer()
            client.close()
