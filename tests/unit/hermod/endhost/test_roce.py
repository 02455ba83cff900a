# SPDX-License-Identifier: Apache-2.0
"""Hermod over two RoCE devices of this machine with a wire between them: bits, classes on the wire, strict queues.

tests/guest runs this on soft-RoCE. Oracles: gloo; packets as they leave the wire; the same transfers through one queue.
Blind to real cards, and to several machines.
"""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path

import pytest

from endpoints import endpoints, view
from offramp.hermod.endhost import Endpoint, Priorities, Tuning
from offramp.hermod.endhost.rdma.gids import find_gid
from offramp.hermod.endhost.rdma.port import RdmaPort
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError
from offramp_base.listening import Token

ADDRESSES = ("10.77.0.1", "10.77.0.2")
SECONDS = 600.0
JOB = Priorities.of_job(8, 32)
EP, PP, DP = Factors(0, CType.EP, 0), Factors(3, CType.PP, 5), Factors(7, CType.DP, 31)
TOKEN = Token(b"of this job, and of no other")
_ETH_P_ALL, _ROCE_PORT = 3, 4791

try:
    for address in ADDRESSES:
        find_gid(address)
except OfframpError as error:
    pytest.skip(f"needs soft-RoCE on both cards (ci/guest/with-two-rxe): {error}", allow_module_level=True)


@contextmanager
def captured(interface: str) -> Iterator[list[tuple[float, int, bool]]]:
    """RoCE packets of an interface: when they passed, the byte of their traffic class, whether they left."""
    packets: list[tuple[float, int, bool]] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        sock.bind((interface, _ETH_P_ALL))
        sock.settimeout(0.2)
        over = threading.Event()

        def listen() -> None:
            while True:
                try:
                    frame, source = sock.recvfrom(128)
                except TimeoutError:
                    if over.is_set():
                        return
                    continue
                if frame[12:14] == b"\x08\x00" and frame[23] == 17 and int.from_bytes(frame[36:38]) == _ROCE_PORT:
                    packets.append((time.monotonic(), frame[15], source[2] == socket.PACKET_OUTGOING))

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield packets
        finally:
            over.set()
            thread.join()


@contextmanager
def pair(tuning: Tuning | None = None) -> Iterator[list[Endpoint]]:
    with endpoints(2, JOB, tuning, ADDRESSES, TOKEN, [RdmaPort, RdmaPort]) as both_ends:
        yield both_ends


def test_each_class_has_its_dscp_on_the_wire() -> None:
    size = 60_000
    with pair() as (a, b), captured("eth1") as packets:
        for number, factors in enumerate((EP, PP, DP)):
            came = [view(size), view(size)]
            done = [a.exchange(number, {1: view(size, 1)}, {1: came[1]}, factors)]
            done.append(b.exchange(number, {0: view(size, 2)}, {0: came[0]}, factors))
            for future in done:
                future.result(SECONDS)
            assert came == [view(size, 1), view(size, 2)]
    classes = {JOB.mark(factors).traffic_class for factors in (EP, PP, DP)}
    assert len(classes) == 3
    for leaving in (False, True):
        counts = Counter(byte & 0xFC for _, byte, left in packets if left is leaving)
        assert set(counts) == classes
        assert all(count > size // 1500 for count in counts.values()), counts


@contextmanager
def bottleneck(*, strict: bool) -> Iterator[None]:
    """10.77.0.1's card at 1 Mb/s, slower than any processor: with a band for the high class, or with one queue."""
    rate = "tc qdisc replace dev eth0 root handle 1: tbf rate 1mbit burst 5kb limit 4mb"
    queues = ["tc qdisc add dev eth0 parent 1:1 handle 10: pfifo limit 2000"]
    if strict:
        high = JOB.mark(EP).traffic_class
        queues = [
            "tc qdisc add dev eth0 parent 1:1 handle 10: prio bands 2 priomap " + "1 " * 16,
            f"tc filter add dev eth0 parent 10: protocol ip u32 match ip tos {high:#x} 0xfc flowid 10:1",
        ]
    for command in (rate, *queues):
        subprocess.run(command.split(), check=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "delete", "dev", "eth0", "root"], check=True)


def test_the_high_class_overtakes_the_low_one_in_strict_queues() -> None:
    """Packets of the low class that pass between the first of the high class and its last, by turns.

    A queue pair of rdma_rxe has 64 packets under way at most, so that both classes' packets mix in one queue.
    """
    passed: dict[bool, list[int]] = {False: [], True: []}
    low, high = JOB.mark(DP).traffic_class, JOB.mark(EP).traffic_class
    for turn in range(4):
        strict = bool(turn % 2)
        with pair(Tuning(chunk=1 << 20)) as (a, b), captured("eth1") as packets:
            for number, factors in enumerate((DP, EP)):  # both queue pairs are there
                a.exchange(number, {1: view(10, 1)}, {}, factors)
                b.exchange(number, {}, {0: view(10)}).result(SECONDS)
            with bottleneck(strict=strict):
                packets.clear()
                slow = [b.exchange(7, {}, {0: view(1 << 19)}), a.exchange(7, {1: view(1 << 19, 1)}, {}, DP)]
                end = time.monotonic() + SECONDS
                while sum(byte & 0xFC == low for _, byte, left in packets if not left) < 50:
                    assert time.monotonic() < end
                    time.sleep(0.01)
                fast = [b.exchange(8, {}, {0: view(1 << 18)}), a.exchange(8, {1: view(1 << 18, 2)}, {}, EP)]
                assert not wait(fast, SECONDS).not_done
                assert not slow[1].done()
            assert not wait(slow, SECONDS).not_done
            assert [f.exception() for f in (*slow, *fast)] == [None] * 4
            arrived = [byte & 0xFC for _, byte, left in packets if not left]
            last = len(arrived) - arrived[::-1].index(high)
            passed[strict].append(arrived[arrived.index(high) : last].count(low))
    assert 4 * max(passed[True]) < min(passed[False]), passed


def test_a_rank_that_is_killed_is_told_by_name() -> None:
    with pair(Tuning(dead_s=4)) as (a, b):
        pending = [a.exchange(1, {}, {1: view(100)})]
        b._controls[0]._sock.shutdown(socket.SHUT_RDWR)
        assert str(pending[0].exception(SECONDS)) == "rank 1 is gone: it closed its connection"


def test_a_wrong_key_reaches_nothing() -> None:
    from offramp.hermod.endhost.rdma.wire import RemoteMemory
    from offramp.hermod.endhost.wire import FrameHeader, FrameType

    with pair() as (a, b):
        place = RemoteMemory(1 << 20, 0x1234).pack()
        b._controls[0].send(FrameHeader(FrameType.WRITABLE, len(place), 1, 0, 100), place)
        line = str(a.exchange(1, {1: view(100, 1)}, {}, EP).exception(SECONDS))
        assert line == "rank 1 is gone: remote access error"


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("ranks", [2, 4])
def test_all_to_alls_have_gloos_bits(ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    import roce_ranks
    from offramp.workers.processes import run_workers

    Token.random().write(tmp_path / "token")
    monkeypatch.setenv("OFFRAMP_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("OFFRAMP_TORCH_PYTHON", "1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    addresses = [ADDRESSES[rank % 2] for rank in range(ranks)]
    heard: list[object] = []
    wrong, calls = run_workers(roce_ranks.all_to_alls, [addresses] * ranks, heard.append)
    assert wrong == []
    assert calls == [str(roce_ranks.ROUNDS)]
    assert sorted(map(str, heard)) == [f"rank {rank}: {roce_ranks.ROUNDS} by hermod" for rank in range(ranks)]
