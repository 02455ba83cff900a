# SPDX-License-Identifier: Apache-2.0
"""A store that follows another: it is at all times what the other once was, whatever is killed or cut.

Each transaction of the writer adds 1 to a counter and a letter to a second key; a follower in which they differ, or
whose counter falls, is no prefix of its leader. Blind to: power cuts, clocks that differ between machines.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from offramp.leo.store.process import StoreProcess
from store_lab import TIMEOUT_S, ErrorAnswer, Resp, Text, a_store, a_token, dial, needs_compiler


class Cable:
    """Carries connections to an address, until they are cut; a context manager."""

    def __init__(self, to: str) -> None:
        self.to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._run, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End all connections."""
        ends, self._ends = self._ends, []
        for end in ends:
            with contextlib.suppress(OSError):  # the other end was sooner
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _run(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = dial(self.to)
            except OSError:
                if self._listener.fileno() < 0:
                    return
                near.close()
                continue
            self._ends += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        try:
            one.settimeout(None)
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def field(client: Resp, name: str, section: str = "replication") -> str:
    """A field of INFO; empty if there is none."""
    for line in client("INFO", section).decode().splitlines():
        if line.startswith(f"{name}:"):
            return line.removeprefix(f"{name}:")
    return ""


def await_that(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def await_same(leader: Resp, follower: Resp) -> None:
    """Wait until the follower has all that the leader has."""
    place = int(field(leader, "master_repl_offset"))
    await_that(lambda: int(field(follower, "slave_repl_offset") or -1) >= place and not loading(follower))


def loading(client: Resp) -> bool:
    return field(client, "master_sync_in_progress") == "1" or field(client, "master_link_status") == "down"


def contents(client: Resp) -> dict[bytes, Any]:
    return {key: (client("GET", key), client("PEXPIRETIME", key)) for key in client("KEYS", "*")}


@contextmanager
def a_pair(**settings: Any) -> Iterator[tuple[StoreProcess, StoreProcess, Cable]]:
    """A leader, a follower, and the cable between them."""
    with (
        a_store() as leader,
        Cable(leader.addresses["resp"]) as cable,
        a_store(follow=cable.address, **settings) as follower,
    ):
        yield leader, follower, cable


def test_a_follower_has_what_its_leader_has_and_takes_no_writes() -> None:
    with a_pair() as (one, two, _), Resp(one.addresses["resp"]) as leader, Resp(two.addresses["resp"]) as follower:
        for i in range(500):
            leader("SET", f"k{i}", "x" * i)
        await_that(lambda: field(follower, "master_link_status") == "up")
        for words in (
            ("SET", "a", "1", "EX", "1000"),
            ("APPEND", "a", "2"),
            ("SETRANGE", "b", "5", "x"),
            ("INCR", "n"),
            ("PERSIST", "a"),
            ("DEL", "k1", "k2"),
            ("RENAME", "k3", "c"),
            ("MSET", "d", "1", "e", "2"),
            ("SET", "soon", "1", "PX", "30"),
        ):
            leader(*words)
        with Text(one.addresses["memcached"]) as text:
            text(b"set m 7 0 1\r\nx\r\n")
        time.sleep(0.1)
        assert leader("EXISTS", "soon") == 0
        assert leader("WAIT", "1", "10000") == 1
        await_same(leader, follower)
        assert contents(follower) == contents(leader)
        assert follower("DBSIZE") == leader("DBSIZE")
        assert follower("SET", "a", "1").startswith("READONLY")
        follower("MULTI")
        assert follower("DEL", "a").startswith("READONLY")
        assert follower("EXEC").startswith("EXECABORT")
        with Text(two.addresses["memcached"]) as text:
            assert text(b"set m 0 0 1\r\ny\r\n") == b"SERVER_ERROR this store follows another one\r\n"
            assert text(b"get m\r\n", 1).startswith(b"VALUE m 7 1")
        assert [each if isinstance(each, int) else each.decode() for each in follower("ROLE")[:1]] == ["slave"]
        assert field(leader, "connected_slaves") == "1"
        # One that leads from now on has all, and goes its own way.
        assert follower("REPLICAOF", "NO", "ONE") == "OK"
        assert follower("SET", "a", "mine") == "OK"
        assert leader("GET", "a") == b"12"
        leader("FLUSHALL")
        assert follower("DBSIZE") > 400


def test_a_short_cut_is_made_up_for_and_a_long_one_begins_anew() -> None:
    with a_pair() as (one, two, cable), Resp(one.addresses["resp"]) as leader, Resp(two.addresses["resp"]) as follower:
        await_that(lambda: field(follower, "master_link_status") == "up")
        cable.cut()
        leader("SET", "a", "1")
        await_same(leader, follower)
        assert follower("GET", "a") == b"1"
        assert (field(leader, "sync_full", "stats"), field(leader, "sync_partial_ok", "stats")) == ("1", "1")
        # Longer than the leader keeps: everything is sent again. WATCH sees that keys change by it.
        follower("WATCH", "a")
        cable.to = "127.0.0.1:1"
        cable.cut()
        for i in range(20):
            leader("SET", f"long{i}", "x" * 1_000_000)
        leader("SET", "a", "2")
        cable.to = one.addresses["resp"]
        await_same(leader, follower)
        assert field(leader, "sync_full", "stats") == "2"
        follower("MULTI")
        follower("GET", "a")
        assert not isinstance(follower("EXEC"), list)
        assert contents(follower) == contents(leader)


def test_a_follower_tells_nothing_while_it_loads(tmp_path: Path) -> None:
    needs_compiler()
    with a_store() as one, Resp(one.addresses["resp"]) as leader:
        for i in range(60):
            leader("SET", f"k{i}", "x" * 500_000)
        with a_store(folder=tmp_path / "data") as two, Resp(two.addresses["resp"]) as follower:
            follower("SET", "old", "1")
            host, port = one.addresses["resp"].split(":")
            assert follower("REPLICAOF", "no such host", port).startswith("ERR")
            assert follower("REPLICAOF", *two.addresses["resp"].split(":")) == "OK"
            time.sleep(0.3)
            assert follower("GET", "old") == b"1"  # a store does not follow itself
            assert follower("REPLICAOF", host, port) == "OK"
            answers = set()
            while field(follower, "master_link_status") != "up":
                answers.add(str(follower("DBSIZE"))[:7])
            assert answers <= {"1", "LOADING", "60"}, answers
            assert follower("DBSIZE") == 60
            two.kill()
            two.start()
            # After a kill its folder has what it had.
            with Resp(two.addresses["resp"]) as again:
                assert again("DBSIZE") == 60
                assert again("SET", "old", "1") == "OK"  # no setting says that it follows


@contextmanager
def a_leader_that_stops(ends: list[socket.socket] | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
    """A leader that begins a snapshot and sends no more of it; its address, and what ends its connections, ``ends``."""
    ends = [] if ends is None else ends

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                end, _ = listener.accept()
                ends.append(end)
                with contextlib.suppress(OSError):
                    while data := end.recv(4096):
                        begins = b"FOLLOW" in data
                        end.sendall(b"+FULLRESYNC " + b"a" * 40 + b" 0 0\r\n" if begins else b"+OK\r\n")

    def cut() -> None:
        while ends:
            ends.pop().shutdown(socket.SHUT_RDWR)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}", cut
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):  # its other end was sooner
                cut()


@pytest.mark.parametrize("ended", [False, True])
def test_a_snapshot_that_never_ends_holds_nobody(tmp_path: Path, ended: bool) -> None:
    """A follower whose leader is gone amid a snapshot can lead or follow another, and has what its folder has."""
    with (
        a_leader_that_stops() as (silent, cut),
        a_store() as one,
        Resp(one.addresses["resp"]) as leader,
        a_store(folder=tmp_path / "data") as two,
        Resp(two.addresses["resp"]) as follower,
    ):
        follower("SET", "old", "1", "EX", "1000")
        follower("INCR", "n")
        before = contents(follower)
        for again in range(2):
            assert follower("REPLICAOF", *silent.split(":")) == "OK"
            await_that(lambda: str(follower("DBSIZE")).startswith("LOADING"))
            if ended:
                cut()
            assert field(follower, "loading", "persistence") == "1"
            # What is here is nothing to keep.
            assert follower("SAVE").startswith("ERR")
            assert follower("BGSAVE").startswith("ERR")
            if again:
                two.kill()
                two.start()
                with Resp(two.addresses["resp"]) as restarted:
                    assert contents(restarted) == {**before, b"more": (b"x", -1)}
                    assert restarted("REPLICAOF", *silent.split(":")) == "OK"
                    await_that(lambda: str(restarted("DBSIZE")).startswith("LOADING"))
                    leader("SET", "new", "2")
                    assert restarted("REPLICAOF", *one.addresses["resp"].split(":")) == "OK"
                    await_same(leader, restarted)
                    assert contents(restarted) == contents(leader)
            else:
                assert follower("REPLICAOF", "NO", "ONE") == "OK"
                assert contents(follower) == before
                assert follower("SET", "more", "x") == "OK"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_leader_that_falls_silent_amid_a_snapshot_is_asked_anew() -> None:
    ends: list[socket.socket] = []
    with a_leader_that_stops(ends) as (silent, _), a_store(follow=silent):
        end = time.monotonic() + 90  # after sixty seconds
        while len(ends) < 2:
            assert time.monotonic() < end
            time.sleep(0.2)


def test_without_a_folder_a_part_of_a_snapshot_becomes_nothing() -> None:
    with a_leader_that_stops() as (silent, _), a_store() as two, Resp(two.addresses["resp"]) as follower:
        follower("SET", "old", "1")
        follower("REPLICAOF", *silent.split(":"))
        await_that(lambda: str(follower("DBSIZE")).startswith("LOADING"))
        assert follower("REPLICAOF", "NO", "ONE") == "OK"
        assert follower("DBSIZE") == 0
        assert follower("SET", "a", "1") == "OK"


def test_wait_counts_followers_or_its_time_ends() -> None:
    with a_pair() as (one, *_), Resp(one.addresses["resp"]) as leader:
        await_that(lambda: field(leader, "connected_slaves") == "1")
        leader("SET", "a", "1")
        assert leader("WAIT", "1", "0") == 1
        began = time.monotonic()
        assert leader("WAIT", "2", "300") == 1
        assert 0.25 < time.monotonic() - began < 5
        # Commands behind it wait with it, in order.
        for words in (("WAIT", "2", "200"), ("SET", "a", "2"), ("GET", "a")):
            leader.send(*words)
        assert [leader.answer() for _ in range(3)] == [1, "OK", b"2"]
        leader("MULTI")
        leader("WAIT", "5", "0")
        assert isinstance(leader("EXEC")[0], int)


def test_a_follower_proves_the_token() -> None:
    with (
        a_token(),
        a_pair() as (one, two, _),
        Resp(one.addresses["resp"]) as leader,
        Resp(two.addresses["resp"]) as follower,
    ):
        leader("SET", "a", "1")
        await_that(lambda: follower("GET", "a") == b"1")


def test_what_is_evicted_goes_from_the_follower_too() -> None:
    with a_pair() as (one, two, _), Resp(one.addresses["resp"]) as leader, Resp(two.addresses["resp"]) as follower:
        await_that(lambda: field(follower, "master_link_status") == "up")
        leader("CONFIG", "SET", "maxmemory", "1mb", "maxmemory-policy", "allkeys-lru")
        for i in range(3000):
            assert leader("SET", f"k{i}", "x" * 500) == "OK"
        leader("CONFIG", "SET", "maxmemory", "0")  # answers take memory, for which keys would go
        await_same(leader, follower)
        assert leader("DBSIZE") < 2500
        assert contents(follower) == contents(leader)


class Writer(threading.Thread):
    """Transactions to a leader that may be killed: adds 1 and a letter, again and again."""

    def __init__(self, store: StoreProcess) -> None:
        super().__init__(daemon=True)
        self.store, self.stopping = store, False

    def run(self) -> None:
        while not self.stopping:
            try:
                with Resp(self.store.addresses["resp"]) as client:
                    while not self.stopping:
                        for words in (
                            ("MULTI",),
                            ("INCR", "n"),
                            ("APPEND", "a", "x"),
                            ("SET", f"k{random.randrange(50)}", "y" * 300),
                            ("EXEC",),
                        ):
                            client.send(*words)
                        for _ in range(5):
                            client.answer()
            except (ConnectionError, OSError):
                time.sleep(0.01)


def look(client: Resp) -> int | None:
    """The follower's counter, which must be as long as the second key; None: it answers nothing now."""
    client("MULTI")
    client("GET", "n")
    client("STRLEN", "a")
    answer = client("EXEC")
    if isinstance(answer, ErrorAnswer):
        assert answer.startswith("EXECABORT") or "LOADING" in answer, answer
        return None
    number = int(answer[0]) if isinstance(answer[0], bytes) else 0
    assert number == answer[1], answer
    return number


def faults(tmp_path: Path, rounds: int, seed: int) -> dict[str, int]:
    """Cut and kill at random moments while a writer writes; counts of what was done and seen."""
    rng = random.Random(seed)
    counts = {"cut": 0, "leader killed": 0, "follower killed": 0, "looks": 0}
    with (
        a_store(folder=tmp_path / "one") as one,
        Cable(one.addresses["resp"]) as cable,
        a_store(folder=tmp_path / "two", follow=cable.address) as two,
    ):
        writer = Writer(one)
        writer.start()
        for _ in range(rounds):
            end, last, client = time.monotonic() + rng.uniform(0.1, 0.6), 0, Resp(two.addresses["resp"])
            while time.monotonic() < end:
                number = look(client)
                assert number is None or number >= last, (number, last)
                last = last if number is None else number
                counts["looks"] += number is not None
            client.close()
            what = rng.choice(["cut", "leader killed", "follower killed"])
            counts[what] += 1
            if what == "cut":
                cable.cut()
            elif what == "leader killed":
                one.kill()
                one.start()
                cable.to = one.addresses["resp"]
            else:
                two.kill()
                two.start()
        writer.stopping = True
        writer.join(TIMEOUT_S)
        with Resp(one.addresses["resp"]) as leader, Resp(two.addresses["resp"]) as follower:
            await_that(lambda: field(follower, "master_link_status") == "up")
            await_same(leader, follower)
            assert contents(follower) == contents(leader)
            assert look(follower) == int(leader("GET", "n"))
    return counts


def test_a_follower_is_a_prefix_whatever_is_killed(tmp_path: Path) -> None:
    assert faults(tmp_path, 6, 1)["looks"] > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_follower_is_a_prefix_after_many_kills(tmp_path: Path) -> None:
    assert min(faults(tmp_path, 150, 2).values()) > 20
