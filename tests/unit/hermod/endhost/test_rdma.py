# SPDX-License-Identifier: Apache-2.0
"""Endpoints over queue pairs, on a fabric inside this process; tests/guest has the kernel's own.

Oracles: the bytes that were sent, and the fabric's own record of classes and of memory that can be accessed.
"""

from __future__ import annotations

from concurrent.futures import wait

import numpy as np
import pytest

from endpoints import SECONDS, endpoints, until, view
from fake_rdma import FakeFabric
from offramp.hermod.endhost import Endpoint, Priorities, Tuning
from offramp.hermod.endhost.rdma import lanes
from offramp.hermod.endhost.rdma.port import RdmaPort
from offramp.hermod.endhost.rdma.wire import QueuePairAddress, RemoteMemory
from offramp.hermod.endhost.wire import FrameHeader, FrameType
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError

JOB = Priorities.of_job(8, 32)
EP, PP, DP = Factors(0, CType.EP, 0), Factors(3, CType.PP, 5), Factors(7, CType.DP, 31)
CHUNK = 4096
SMALL = Tuning(chunk=CHUNK)


def test_random_exchanges_arrive_over_a_queue_pair_for_each_peer_and_class() -> None:
    fabric, rng = FakeFabric(), np.random.default_rng(7)
    sizes = rng.integers(0, 60_000, (4, 3, 3))  # coflow, from, to
    sizes[0, 0, 2] = 0
    ports = [fabric.opener(mtu) for mtu in (5, 3, 4)]
    with endpoints(3, JOB, SMALL, ports=ports) as ranks:
        expected, futures = [], []
        for number, matrix in enumerate(sizes):
            factors = (EP, None, DP, PP)[number]
            sent = {(i, j): view(int(matrix[i, j]), 100 * number + 10 * i + j) for i in range(3) for j in range(3)}
            came = {(i, j): view(int(matrix[i, j])) for i in range(3) for j in range(3)}
            for rank in rng.permutation(3).tolist():
                peers = [p for p in range(3) if p != rank]
                outgoing, incoming = ({p: sent[rank, p] for p in peers}, {p: came[p, rank] for p in peers})
                order = [(p, 0, len(v)) for p, v in outgoing.items() if v] if number % 2 else None
                futures.append(ranks[rank].exchange(number, outgoing, incoming, factors, order))
            expected += [(sent[pair], came[pair]) for pair in sent if pair[0] != pair[1]]
        assert not wait(futures, SECONDS).not_done
        assert [f.exception() for f in futures] == [None] * len(futures)
        assert all(a == b for a, b in expected)
        marks = [JOB.mark(f) for f in (EP, DP, PP)]  # what has no factors shares DP's DSCP
        pairs = 2 * 3 * 2  # two ends for each rank and each of its peers
        assert sorted({(c, level) for c, level, _ in fabric.classes.values()}) == sorted(
            {(mark.dscp << 2, JOB.plan.queue[mark.dscp]) for mark in marks}
        )
        for mark in marks:
            alike = [mtu for c, _, mtu in fabric.classes.values() if c == mark.traffic_class]
            missing = 2 if mark == marks[0] else 0  # rank 0 has nothing for rank 2 in this class
            assert len(alike) == pairs - missing
            assert sorted(set(alike)) == [3, 4]  # the smaller of both ports'
        assert fabric.registered == {}  # what is over can be used for something else
        assert len(fabric.pairs) == 3 * pairs - 2
    assert fabric.pairs == {}
    assert [port.closed for port in fabric.ports] == [True] * 3


def test_writes_are_no_longer_than_the_device_takes() -> None:
    fabric = FakeFabric()
    fabric.held = {JOB.mark(EP).dscp}
    with endpoints(2, JOB, ports=[fabric.opener(most=1000), fabric.opener()]) as (a, b):
        done = [b.exchange(1, {}, {0: (came := view(2500))}), a.exchange(1, {1: view(2500, 1)}, {}, EP)]
        until(lambda: bool(fabric.waiting))
        assert [count for _, count, _ in fabric.waiting] == [1000]
        fabric.let_go()
        assert not wait(done, SECONDS).not_done
        assert came == view(2500, 1)


def test_an_urgent_coflow_waits_for_one_chunk_at_most() -> None:
    fabric, order = FakeFabric(), []
    low, high = JOB.mark(DP).dscp, JOB.mark(EP).dscp
    fabric.held = {low}
    with endpoints(2, JOB, SMALL, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        slow = [b.exchange(1, {}, {0: (came := view(10 * CHUNK))}), a.exchange(1, {1: view(10 * CHUNK, 1)}, {}, DP)]
        slow[0].add_done_callback(lambda _: order.append("low"))
        until(lambda: bool(fabric.waiting))
        fast = [b.exchange(2, {}, {0: view(10 * CHUNK)}), a.exchange(2, {1: view(10 * CHUNK, 2)}, {}, EP)]
        fast[0].add_done_callback(lambda _: order.append("high"))
        assert not wait(fast, SECONDS).not_done
        assert [(dscp, count) for dscp, count, _ in fabric.waiting] == [(low, CHUNK)]
        assert not slow[1].done()
        fabric.let_go()
        assert not wait(slow, SECONDS).not_done
        until(lambda: len(order) == 2)
        assert order == ["high", "low"]
        assert came == view(10 * CHUNK, 1)
        assert set(a.sent_bytes) == {low, high}


def offered(number: int = 0x99, dscp: int = 7, level: int = 1) -> bytes:
    return QueuePairAddress(number, 1, dscp, level).pack()


@pytest.mark.parametrize(
    ("kind", "payload", "total", "message"),
    [
        (FrameType.PAIR, offered()[:-1], 0, "rank 1 offers something that is no queue pair"),
        (FrameType.PAIR, offered(dscp=64), 0, "rank 1 offers something that is no queue pair"),
        (FrameType.PAIR, offered(level=16), 0, "rank 1 offers something that is no queue pair"),
        (FrameType.PAIR, offered(number=1 << 24), 0, "rank 1 offers something that is no queue pair"),
        (FrameType.PAIR, bytes(13), 0, "rank 1 sent PAIR, 13 bytes, where control belongs"),
        (FrameType.PAIRED, offered(), 0, "rank 1 answers with a queue pair that nobody asked for"),
        (FrameType.WRITABLE, bytes(11), 9, "rank 1 offers memory in 11 bytes, expected 12"),
        (FrameType.READY, b"", 9, "rank 1 waits for data by TCP, and this rank has RDMA"),
    ],
)
def test_nonsense_about_queue_pairs_ends_all_ranks_with_one_line(
    kind: FrameType, payload: bytes, total: int, message: str
) -> None:
    fabric = FakeFabric()
    with endpoints(3, JOB, ports=[fabric.opener() for _ in range(3)]) as ranks:
        pending = [ranks[r].exchange(1, {}, {(r + 1) % 3: view(100)}) for r in range(3)]
        ranks[1]._controls[0].send(FrameHeader(kind, len(payload), 5, 0, total), payload)
        assert {str(future.exception(SECONDS)) for future in pending} == {message}
        assert fabric.registered.keys() == slots(fabric)


def test_a_second_queue_pair_of_a_class_is_refused() -> None:
    fabric = FakeFabric()
    with endpoints(2, JOB, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        pending = a.exchange(1, {}, {1: view(100)})
        frame = FrameHeader(FrameType.PAIR, 12)
        # Together, so that nothing which the answer to the first one brings about comes between them.
        b._controls[0].send(frame, offered() + frame.pack() + offered())
        assert str(pending.exception(SECONDS)) == "rank 1 offers a second queue pair for DSCP 7"


def test_without_rdma_frames_of_it_are_refused() -> None:
    with endpoints(2, JOB) as (a, b):
        pending = a.exchange(1, {}, {1: view(100)})
        b._controls[0].send(FrameHeader(FrameType.PAIR, 12), offered())
        assert str(pending.exception(SECONDS)) == "rank 1 sent PAIR, and this rank has no RDMA"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"short", "rank 0 sent a frame without a header"),
        (bytes(32), "rank 0 sent a frame without a header"),
        (FrameHeader(FrameType.READY, 0, 2).pack(), "rank 0 sent READY where data belong"),
        (FrameHeader(FrameType.DATA, 10, 99, 0, 10).pack(), "rank 0 sent bytes that were not asked for"),
        (FrameHeader(FrameType.DATA, 101, 2, 0, 100).pack(), "rank 0 sent bytes that were not asked for"),
    ],
)
def test_nonsense_on_a_queue_pair_ends_all_ranks_with_one_line(raw: bytes, message: str) -> None:
    fabric = FakeFabric()
    with endpoints(2, JOB, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        a.exchange(1, {1: view(10, 1)}, {}, EP)
        b.exchange(1, {}, {0: view(10)}).result(SECONDS)
        pending = [b.exchange(2, {}, {0: view(100)}), a.exchange(3, {}, {1: view(1)})]
        until(lambda: not a._sender._connections[1, JOB.mark(EP).dscp]._flying)  # type: ignore[attr-defined]
        a._sender._connections[1, JOB.mark(EP).dscp]._pair.say(raw)  # type: ignore[attr-defined]
        assert {str(future.exception(SECONDS)) for future in pending} == {message}


def test_a_peer_without_the_key_reaches_nothing_and_is_told_by_rank() -> None:
    fabric = FakeFabric()
    with endpoints(2, JOB, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        untouched = view(100)
        port = fabric.opener()("")
        kept = port.register(untouched, writable=False)
        b._controls[0].send(FrameHeader(FrameType.WRITABLE, 12, 1, 0, 100), RemoteMemory(kept.address, 7).pack())
        assert str(a.exchange(1, {1: view(100, 1)}, {}, EP).exception(SECONDS)) == (
            "rank 1 is gone: remote access error"
        )
        assert untouched == view(100)
        kept.close()


def test_what_has_failed_writes_nothing_any_more() -> None:
    """A write that arrives after the failure finds the memory closed, which belongs to somebody else by then."""
    fabric = FakeFabric()
    fabric.held = {JOB.mark(DP).dscp}
    with endpoints(2, JOB, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        pending = [b.exchange(1, {}, {0: (came := view(100))}), a.exchange(1, {1: view(100, 1)}, {}, DP)]
        until(lambda: bool(fabric.waiting))
        b.fail("enough")
        assert {str(f.exception(SECONDS)) for f in pending} == {"enough"}
        fabric.let_go()
        assert came == view(100)
        with pytest.raises(OfframpError, match="enough"):
            b.exchange(2, {}, {0: view(10)})
    assert fabric.registered == {}


LEFT = "rank 0 left before its transfers were over"


def test_all_that_a_rank_sent_comes_although_it_has_left() -> None:
    fabric = FakeFabric()
    with endpoints(2, JOB, SMALL, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        came = [b.exchange(number, {}, {0: view(9000)}) for number in range(20)]
        sent = [a.exchange(number, {1: view(9000, 1)}, {}, (EP, DP)[number % 2]) for number in range(20)]
        assert not wait(sent, SECONDS).not_done
        a.close()
        assert [f.exception(SECONDS) for f in came] == [None] * 20
        assert b.failure is None


@pytest.mark.parametrize("begun", [False, True])
def test_a_rank_that_leaves_early_is_told_by_name(begun: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_LEAVE_S", 0.05)
    fabric = FakeFabric()
    fabric.held = {JOB.mark(EP).dscp}
    with endpoints(2, JOB, ports=[fabric.opener(), fabric.opener()]) as (a, b):
        pending = b.exchange(1, {}, {0: (came := view(100))})
        if begun:
            a.exchange(1, {1: view(100, 1)}, {}, EP)
            until(lambda: bool(fabric.waiting))
        a.close()
        assert str(pending.exception(SECONDS)) == LEFT
        fabric.let_go()
        assert came == view(100)


def test_a_rank_that_dies_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = FakeFabric()
    with endpoints(3, JOB, ports=[fabric.opener() for _ in range(3)]) as ranks:
        pending = [ranks[r].exchange(1, {}, {2: view(100)}) for r in range(2)]
        monkeypatch.setattr(ranks[2], "fail", OfframpError)  # the dead say nothing
        for channel in ranks[2]._controls.values():
            channel._sock.shutdown(2)
        assert {str(f.exception(SECONDS)) for f in pending} == {"rank 2 is gone: it closed its connection"}


def test_all_ranks_have_rdma_or_none() -> None:
    fabric = FakeFabric()
    with (
        pytest.raises(OfframpError, match="endpoint: rank 1 has no RDMA, the others have"),
        endpoints(3, JOB, ports=[fabric.opener(), None, fabric.opener()]),
    ):
        pass


def test_a_rank_without_its_device_is_told_by_all() -> None:
    """Each of the others waits for its introduction, so it introduces itself with its fault."""
    rows: list[bytes] = []

    def tell(row: bytes) -> list[bytes]:
        rows.append(row)
        return rows

    line = "rank 0: rdma: no RoCE v2 device has the address 127.0.0.1: "
    with pytest.raises(OfframpError, match=line):
        Endpoint(0, 1, tell, where="127.0.0.1", rdma=RdmaPort)
    card = FakeFabric()
    with pytest.raises(OfframpError, match=line):
        Endpoint(1, 2, lambda row: [*rows, row], where="127.0.0.1", rdma=card.opener())
    assert [port.closed for port in card.ports] == [True]


def slots(fabric: FakeFabric) -> set[int]:
    """Keys of memory that coflows have not given back: none."""
    until(lambda: not fabric.registered)
    return set()
