# SPDX-License-Identifier: Apache-2.0
"""Several shards that clients of redis' clusters use unchanged. Oracle: redis in its cluster mode.

Blind to: moving slots between shards, of which there is none.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp.leo.store.process import StoreProcess
from offramp.leo.store.settings import StoreSettings
from offramp_base.settings.error import SettingsError
from store_lab import ErrorAnswer, Resp, a_store

SHARDS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[StoreProcess]:
    with a_store(memcached="", shards=SHARDS) as store:
        yield store


def slot_of(key: bytes) -> int:
    """CRC-16/XMODEM bit by bit, of the key or of what its first braces hold."""
    start = key.find(b"{")
    end = key.find(b"}", start + 1)
    if start >= 0 and end > start + 1:
        key = key[start + 1 : end]
    remainder = 0
    for byte in key:
        remainder ^= byte << 8
        for _ in range(8):
            remainder = (remainder << 1) ^ (0x1021 if remainder & 0x8000 else 0)
            remainder &= 0xFFFF
    return remainder % 16384


def test_slots_of_keys(cluster: StoreProcess) -> None:
    rng = random.Random(3)
    keys = [
        b"",
        b"{}",
        b"{a}b",
        b"a{a}b",
        b"{a}{b}",
        b"a{b",
        b"}a{b}",
        *(rng.randbytes(9) for _ in range(50)),
        *(b"{%d}x" % i for i in range(9)),
    ]
    with Resp(cluster.addresses["resp"]) as client:
        assert [client("CLUSTER", "KEYSLOT", key) for key in keys] == [slot_of(key) for key in keys]


def test_every_slot_has_one_shard_and_others_send_clients_there(cluster: StoreProcess) -> None:
    clients = [Resp(address) for address in cluster.addresses.values()]
    ranges = clients[0]("CLUSTER", "SLOTS")
    assert all(client("CLUSTER", "SLOTS") == ranges for client in clients)
    assert [first for first, _, _ in ranges] == [0] + [last + 1 for _, last, _ in ranges[:-1]]
    assert ranges[-1][1] == 16383
    assert [f"127.0.0.1:{node[1]}" for _, _, node in ranges] == list(cluster.addresses.values())
    assert [client("CLUSTER", "MYID") for client in clients] == [node[2] for _, _, node in ranges]
    for i in range(60):
        slot = slot_of(b"k%d" % i)
        owner = next(n for n, (first, last, _) in enumerate(ranges) if first <= slot <= last)
        for number, client in enumerate(clients):
            answer = client("SET", f"k{i}", i)
            assert answer == ("OK" if number == owner else f"MOVED {slot} {list(cluster.addresses.values())[owner]}")
        assert clients[owner]("CLUSTER", "COUNTKEYSINSLOT", slot) >= 1
        assert b"k%d" % i in clients[owner]("CLUSTER", "GETKEYSINSLOT", slot, 10)
    assert sum(client("DBSIZE") for client in clients) == 60
    for client in clients:
        client.close()


def refusals(client: Resp) -> list[str]:
    """What a shard says of commands and transactions with keys of several slots."""
    tags = [tag for tag in (f"{{{i}}}" for i in range(200)) if not isinstance(client("GET", tag + "a"), ErrorAnswer)]
    one, two = tags[:2]
    said = [client("MSET", f"{one}a", "1", f"{one}b", "2"), client("MSET", f"{one}a", "1", f"{two}a", "1")]
    said += [
        client("DEL", f"{one}a", f"{two}a"),
        client("RENAME", f"{one}a", f"{two}a"),
        client("WATCH", f"{one}a", f"{two}b"),
    ]
    for keys in ((f"{one}a", f"{one}b"), (f"{one}a", f"{two}a")):
        said += [client("MULTI"), *[client("SET", key, "1") for key in keys], client("EXEC")]
    said += [client("MULTI"), client("MGET", f"{one}a", f"{two}a"), client("EXEC"), client("GET", f"{two}a")]
    return [str(each)[:60] for each in said]


def test_keys_of_several_slots_are_refused_as_by_redis(cluster: StoreProcess, tmp_path: Path) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    from offramp.leo.store.peers import free_port

    with Resp(cluster.addresses["resp"]) as client:
        ours = refusals(client)
    port = free_port()
    words = [
        "redis-server",
        "--port",
        str(port),
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        str(free_port()),
        "--save",
        "",
    ]
    with subprocess.Popen([*words, "--dir", str(tmp_path)], stdout=subprocess.PIPE, text=True) as redis:
        try:
            assert redis.stdout is not None
            while "Ready to accept connections" not in redis.stdout.readline():
                assert redis.poll() is None
            with Resp(f"127.0.0.1:{port}") as client:
                assert client("CLUSTER", "ADDSLOTSRANGE", "0", "16383") == "OK"
                while "cluster_state:ok" not in client("CLUSTER", "INFO").decode():
                    pass
                theirs = refusals(client)
        finally:
            redis.terminate()
    assert ours == theirs


def test_other_programs_find_all_keys(cluster: StoreProcess) -> None:
    if shutil.which("redis-cli") is None:
        pytest.skip("redis-cli is not installed")
    port = cluster.addresses["resp"].rpartition(":")[2]
    lines = [f"set word{i} {i}" for i in range(20)] + [f"get word{i}" for i in range(20)]
    words = ["redis-cli", "-c", "-p", port]
    out = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    assert [line for line in out.splitlines() if line.isdecimal()] == [str(i) for i in range(20)]
    check = subprocess.run(
        ["redis-cli", "--cluster", "check", f"127.0.0.1:{port}"], capture_output=True, text=True, check=True
    )
    assert "All 16384 slots covered" in check.stdout


def test_shards_keep_their_keys_over_a_restart(tmp_path: Path) -> None:
    with a_store(memcached="", shards=2, folder=tmp_path / "data", memory=64 << 20) as store:
        for restart in range(2):
            for i in range(40):
                for address in store.addresses.values():
                    with Resp(address) as client:
                        if not isinstance(answer := client("GET", f"k{i}"), ErrorAnswer):
                            assert not restart or answer == b"x"
                            client("SET", f"k{i}", "x")
            if not restart:
                store.kill()
                store.start()
        assert store.recovered[0] == 40
    assert len(list((tmp_path / "data").iterdir())) == 2


def test_what_shards_cannot_do_is_said() -> None:
    for name in ("listen", "memcached", "follow"):
        with pytest.raises(SettingsError, match="expected none with"):
            StoreSettings(**{"listen": "", "resp": "127.0.0.1:1", "shards": 2, name: "127.0.0.1:7"})
    with a_store(memcached="") as store, Resp(store.addresses["resp"]) as client:
        assert client("CLUSTER", "SLOTS") == "ERR This instance has cluster support disabled"
        assert client("MSET", "a", "1", "b", "2") == "OK"
