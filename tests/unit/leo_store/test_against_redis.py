# SPDX-License-Identifier: Apache-2.0
"""Random commands to the store and to redis: each answer is the same, to the byte of its meaning.

Blind to: commands that redis lacks (CAS), the order of KEYS and SCAN, and what redis itself gets wrong.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator

import pytest

from offramp.leo.store.peers import running_peer
from store_lab import Resp, a_store

KEYS = [f"key{i}" for i in range(8)]
NUMBERS = [
    "-0",
    "01",
    "+1",
    "0",
    "1",
    "-1",
    "5",
    "100",
    "9223372036854775807",
    "-9223372036854775808",
    "3.25",
    "1e3",
    "07",
    " 1",
    "",
    "x",
]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Resp, Resp]]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with (
        a_store() as store,
        running_peer("redis-server") as redis,
        Resp(store.addresses["resp"]) as ours,
        Resp(redis.address) as theirs,
    ):
        yield ours, theirs


def a_value(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return rng.choice(NUMBERS).encode()
    return rng.randbytes(rng.choice([0, 1, 3, 63, 64, 65, 1000, 5000]))


def an_expiry(rng: random.Random) -> list[str]:
    # Far away or long ago: both sides look at their clocks a little apart.
    return rng.choice(
        [
            ["EX", "1000"],
            ["PX", "1000000"],
            ["EXAT", "4000000000"],
            ["PXAT", "4000000000000"],
            ["EX", "0"],
            ["EX", "x"],
            ["EX"],
        ]
    )


def a_command(rng: random.Random) -> list[str | bytes]:
    key, other, value, number = rng.choice(KEYS), rng.choice(KEYS), a_value(rng), rng.choice(NUMBERS)
    options = rng.sample(["NX", "XX", "GET", "KEEPTTL"], rng.randrange(3)) + (
        an_expiry(rng) if rng.random() < 0.3 else []
    )
    small = str(rng.randrange(-20, 20))
    return rng.choice(
        [
            ["GET", key],
            ["SET", key, value],
            ["set", key, value, *options],
            ["SETNX", key, value],
            ["SETEX", key, rng.choice(["1000", "0", "-1", "x"]), value],
            ["GETSET", key, value],
            ["GETDEL", key],
            ["GETEX", key, *rng.choice([[], ["PERSIST"], an_expiry(rng)])],
            ["MGET", key, other, "none"],
            ["MSET", key, value, other, value],
            ["MSET", key, value, other],
            ["MSETNX", key, value, other, b"2"],
            ["APPEND", key, value],
            ["STRLEN", key],
            ["GETRANGE", key, small, str(rng.randrange(-20, 20))],
            ["SUBSTR", key, "0", number],
            ["SETRANGE", key, rng.choice(["0", "3", "70", "-1", "x"]), value],
            ["INCR", key],
            ["DECR", key],
            ["INCRBY", key, number],
            ["DECRBY", key, number],
            ["INCRBYFLOAT", key, rng.choice(["0.5", "-2", "1e2", "x", "", "3.0"])],
            ["DEL", key, other, key],
            ["UNLINK", key],
            ["EXISTS", key, other, key],
            ["TOUCH", key],
            [
                "EXPIRE",
                key,
                rng.choice(["1000", "-1", "0", "x", "9223372036854775807"]),
                *rng.choice([[], ["NX"], ["XX"], ["GT"], ["LT"], ["NX", "XX"]]),
            ],
            ["PEXPIREAT", key, "4000000000000"],
            ["EXPIREAT", key, "4000000000"],
            ["TTL", "none"],
            ["EXPIRETIME", key],
            ["PERSIST", key],
            ["TYPE", key],
            ["RENAME", key, other],
            ["RENAMENX", key, other],
            ["DBSIZE"],
            ["ECHO", value],
            ["PING"],
            ["MULTI"],
            ["EXEC"],
            ["DISCARD"],
            ["WATCH", key],
            ["UNWATCH"],
            ["SELECT", rng.choice(["0", "x"])],
            ["NOSUCH", key],
            ["GET"],
            ["SCAN", "x"],
        ]
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_commands_are_answered_as_redis_answers_them(pair: tuple[Resp, Resp], seed: int) -> None:
    ours, theirs = pair
    rng = random.Random(seed)
    for each in pair:
        each("RESET")
        each("FLUSHALL")
    for step in range(1500):
        command = a_command(rng)
        answered, right = (each(*command) for each in pair)
        assert answered == right, f"step {step}: {command}"
    for each in pair:
        each("RESET")
    assert sorted(ours("KEYS", "*")) == sorted(theirs("KEYS", "*"))
    for key in ours("KEYS", "*"):
        assert ours("GET", key) == theirs("GET", key), key
        assert ours("PEXPIRETIME", key) // 60_000 == theirs("PEXPIRETIME", key) // 60_000, key


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "a*",
        "*b",
        "a?c",
        "[abc]*",
        "[^a]*",
        "a[b-d]c",
        "a\\*",
        "**a**",
        "[a",
        "a*b*c*d",
        "",
        "\\",
        "[]x",
        "a[c-b]c",
    ],
)
def test_patterns_match_as_in_redis(pair: tuple[Resp, Resp], pattern: str) -> None:
    names = ["a", "abc", "abd", "b", "ab", "a*", "acc", "adc", "aXbYcZd", "xax", "]x", "\\", "[a", "aaaaaaaaab"]
    for each in pair:
        each("FLUSHALL")
        for name in names:
            each("SET", name, "1")
    ours, theirs = (sorted(each("KEYS", pattern)) for each in pair)
    assert ours == theirs


def test_protocol_3_is_answered_as_by_redis(pair: tuple[Resp, Resp]) -> None:
    for each in pair:
        assert each("HELLO", "3")[b"proto"] == 3
        each("SET", "there", "1")
    for command in (
        ["GET", "none"],
        ["MGET", "there", "none"],
        ["CONFIG", "GET", "maxmemory"],
        ["HELLO", "4"],
        ["SET", "a", "b", "XX", "GET"],
    ):
        ours, theirs = (each(*command) for each in pair)
        assert ours == theirs, command
    for each in pair:
        each("HELLO", "2")
