# SPDX-License-Identifier: Apache-2.0
"""Durability of a store: kill -9 under load, torn and damaged logs, snapshots, full disks.

Blind to: power cuts and disks that lie about syncs; a killed process leaves the kernel's cache whole.
"""

from __future__ import annotations

import contextlib
import random
import resource
import subprocess
import time
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from store_kills import campaign
from store_lab import ErrorAnswer, Nothing, Resp, Text, a_store, needs_compiler


@pytest.mark.full
@pytest.mark.parametrize("sync", ["always", "everysec"])
def test_what_was_acknowledged_survives_kills(tmp_path: Path, sync: str) -> None:
    needs_compiler()
    assert campaign(tmp_path / "data", 5, seed=1, sync=sync) > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_was_acknowledged_survives_500_kills(tmp_path: Path) -> None:
    needs_compiler()
    assert campaign(tmp_path / "data", 500, seed=2) > 0


def test_everything_comes_back(tmp_path: Path) -> None:
    """Keys of both protocols, times, versions, large values; from the log, from a snapshot, from both."""
    rng = random.Random(1)
    expected = {f"k{i}": rng.randbytes(rng.choice([0, 1, 100, 10_000])) for i in range(300)}
    with a_store(folder=tmp_path / "data") as store:
        with Resp(store.addresses["resp"]) as client, Text(store.addresses["memcached"]) as text:
            for key, value in expected.items():
                assert client("SET", key, value) == "OK"
            assert client("SAVE") == "OK"
            for key in list(expected)[::3]:
                client("DEL", key)
                del expected[key]
            expected["big"] = rng.randbytes(1 << 20)
            client("SET", "big", expected["big"])
            client("SET", "ends", "1", "PXAT", "4000000000000")
            client("SET", "gone", "1", "PX", "1")
            client("SETRANGE", "holes", "5", "x")
            assert text(b"set flagged 77 0 2\r\nhi\r\n") == b"STORED\r\n"
        store.kill()
        store.start()
        with Resp(store.addresses["resp"]) as client, Text(store.addresses["memcached"]) as text:
            for key, value in expected.items():
                assert client("GET", key) == value, key
            assert client("PEXPIRETIME", "ends") == 4000000000000
            assert client("GET", "gone") == Nothing()
            assert client("GET", "holes") == b"\0\0\0\0\0x"
            assert text(b"get flagged\r\n") == b"VALUE flagged 77 2\r\nhi\r\nEND\r\n"
            assert client("DBSIZE") == len(expected) + 3
            client("FLUSHALL")
        store.kill()
        store.start()
        assert store.recovered[0] == 0


def log_of(folder: Path) -> Path:
    (log,) = folder.glob("log-*")
    return log


@pytest.mark.full
def test_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    with a_store(folder=tmp_path, sync="always") as store, Resp(store.addresses["resp"]) as client:
        sizes = []
        for i in range(5):
            client("SET", f"k{i}", "x" * 100)
            sizes.append(log_of(tmp_path).stat().st_size)
    whole = log_of(tmp_path).read_bytes()[: sizes[-1]]
    for cut in (sizes[-1] - 1, sizes[3] + 1, sizes[3] + 30, sizes[2] + 24):
        log_of(tmp_path).write_bytes(whole[:cut])
        with a_store(folder=tmp_path) as store:
            kept = sum(size <= cut for size in sizes)
            assert store.recovered == (kept, kept, cut - sizes[kept - 1])
            with Resp(store.addresses["resp"]) as client:
                assert client("SET", "after", "1") == "OK"
            store.kill()
            store.start()
            assert store.recovered[0] == kept + 1
            with Resp(store.addresses["resp"]) as client:
                client("DEL", "after")


def test_damage_to_what_was_on_disk_is_no_torn_tail(tmp_path: Path) -> None:
    with a_store(folder=tmp_path, sync="always") as store, Resp(store.addresses["resp"]) as client:
        for i in range(20):
            client("SET", f"k{i}", "x" * 100)
    content = bytearray(log_of(tmp_path).read_bytes())
    content[300] ^= 1
    log_of(tmp_path).write_bytes(content)
    with (
        pytest.raises(OfframpError, match=r"log-00000001: damaged at byte \d+: a whole record follows"),
        a_store(folder=tmp_path),
    ):
        pass
    assert log_of(tmp_path).read_bytes() == content
    with a_store(folder=tmp_path, cut=True) as store:
        assert 0 < store.recovered[0] < 20


def test_two_servers_do_not_share_a_folder(tmp_path: Path) -> None:
    with a_store(folder=tmp_path), pytest.raises(OfframpError, match="another server has it"), a_store(folder=tmp_path):
        pass


def test_a_write_that_fails_is_not_acknowledged(tmp_path: Path) -> None:
    """A limit on the size of files lets room be taken and fails the write itself, as a disk that breaks does."""
    with a_store(folder=tmp_path, sync="always") as store:
        resource.prlimit(store.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        accepted = 0
        with Resp(store.addresses["resp"]) as client, contextlib.suppress(ConnectionError):
            while client("SET", f"k{accepted}", "x" * 50_000) == "OK":
                accepted += 1
        assert 5 < accepted < 21
        with Resp(store.addresses["resp"]) as client, Text(store.addresses["memcached"]) as text:
            answer = client("SET", "more", "1")
            assert isinstance(answer, ErrorAnswer)
            assert answer.startswith("MISCONF writes are refused: the log cannot be written: File too large")
            assert text(b"set t 0 0 1\r\nx\r\n").startswith(b"SERVER_ERROR the log cannot be written")
            assert client("GET", "k0") == b"x" * 50_000
        store.kill()
        store.start()
        assert store.recovered[0] == accepted


def test_answers_wait_for_the_sync(tmp_path: Path) -> None:
    """Syncs are counted: one connection needs one for each write, many share them."""
    with a_store(folder=tmp_path, sync="always") as store, Resp(store.addresses["resp"]) as client:

        def syncs() -> int:
            text = client("INFO").decode()
            return int(text.split("log_syncs:")[1].split()[0])

        before = syncs()
        for i in range(20):
            client("SET", "k", i)
        assert syncs() - before >= 20
        before = syncs()
        client.sock.sendall(b"".join(b"SET k %d\r\n" % i for i in range(2000)))
        for _ in range(2000):
            assert client.answer() == "OK"
        assert syncs() - before < 1000


@pytest.mark.full
def test_a_long_log_becomes_a_snapshot(tmp_path: Path) -> None:
    with a_store(folder=tmp_path, sync="no") as store:
        with Resp(store.addresses["resp"]) as client:
            value = "x" * (1 << 20)
            for _ in range(70):
                assert client("SET", "k", value) == "OK"
            end = time.monotonic() + 20
            while not list(tmp_path.glob("snapshot-????????")) and time.monotonic() < end:
                time.sleep(0.05)
                client("PING")
        assert list(tmp_path.glob("snapshot-????????"))
        store.kill()
        store.start()
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 10 << 20
        with Resp(store.addresses["resp"]) as client:
            assert client("GET", "k") == value.encode()


def test_a_real_full_disk(tmp_path: Path) -> None:
    """A file system in memory of 1 MB; needs root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting needs root")
    try:
        with a_store(folder=disk / "data", sync="everysec") as store:
            with Resp(store.addresses["resp"]) as client:
                accepted = 0
                while (answer := client("SET", f"k{accepted}", "x" * 20_000)) == "OK":
                    accepted += 1
                assert "No space left on device" in answer
                assert client("GET", f"k{accepted - 1}") == b"x" * 20_000
            store.kill()
            store.start()
            assert store.recovered[0] == accepted
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
