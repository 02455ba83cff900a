# SPDX-License-Identifier: Apache-2.0
"""Endpoints over real sockets: contents, priorities, agreement, back-pressure."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import wait

import numpy as np
import pytest

from endpoints import SECONDS, endpoints, until, view
from offramp.hermod.endhost import Priorities, Tuning
from offramp.hermod.factors import CType, Factors
from offramp.workers.address import local_address
from offramp_base.errors import OfframpError

JOB = Priorities.of_job(8, 32)
EP, DP = Factors(0, CType.EP, 0), Factors(7, CType.DP, 31)
TINY = Tuning(chunk=4096, unsent=4096, send_buffer=4096, receive_buffer=4096)


@pytest.mark.parametrize("tuning", [Tuning(), TINY], ids=["default", "tiny"])
@pytest.mark.parametrize("where", ["127.0.0.1", "::1", "lo"])
def test_random_exchanges_arrive(tuning: Tuning, where: str):
    rng = np.random.default_rng(7)
    sizes = rng.integers(0, 60_000, (4, 3, 3))  # coflow, from, to
    with endpoints(3, JOB, tuning, where) as ranks:
        expected, futures = [], []
        for number, matrix in enumerate(sizes):
            factors = (EP, None, DP, Factors(3, CType.PP, 5))[number]
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
        for endpoint in ranks:
            dscps = {JOB.mark(f).dscp for f in (EP, None, DP, Factors(3, CType.PP, 5))}
            assert set(endpoint.sent_bytes) == dscps
            assert (
                sum(endpoint.sent_bytes.values())
                > sizes[:, endpoint.rank].sum() - sizes[:, endpoint.rank, endpoint.rank].sum()
            )


@pytest.mark.parametrize("where", ["127.0.0.1", "::1"])
def test_connections_carry_their_priority_both_ways(where: str):
    with endpoints(2, JOB, where=where) as (a, b):
        for number, factors in enumerate((EP, DP)):
            a.exchange(number, {1: view(10, 1)}, {}, factors)
            b.exchange(number, {}, {0: view(10)}).result(SECONDS)
        tos = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if ":" in where else (socket.IPPROTO_IP, socket.IP_TOS)
        for factors in (EP, DP):
            mark = JOB.mark(factors)
            sock = a._sender._connections[1, mark.dscp].sock
            assert sock.getsockopt(*tos) & 0xFC == mark.dscp << 2
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == mark.so_priority
        heard = [key.data for key in b._receiver._selector.get_map().values() if key.data is not None]
        assert sorted(c.sock.getsockopt(*tos) >> 2 for c in heard) == sorted([48, 0, 63])
        assert not {(0, 63), (0, 0)} & set(b._sender._connections)  # nothing to say, no connection


def test_an_urgent_coflow_overtakes_one_that_is_held_back():
    """The receiver stops in the middle; whatever the kernel's buffers hold, the urgent coflow's end comes first."""
    size = 4 << 20
    with endpoints(2, JOB, TINY) as (a, b):
        reached, go_on, order = threading.Event(), threading.Event(), []

        def hold(_) -> None:
            reached.set()
            go_on.wait(SECONDS)

        low = [a.exchange(1, {1: view(size, 1)}, {}, DP), b.exchange(1, {}, {0: (target := view(size))})]
        gate = [b.exchange(2, {}, {0: view(1)})]
        gate[0].add_done_callback(hold)  # in b's receiving thread
        gate.append(a.exchange(2, {1: view(1, 1)}, {}, EP))
        assert reached.wait(SECONDS)
        assert not low[1].done()
        high = [b.exchange(3, {}, {0: view(1 << 20)}), a.exchange(3, {1: view(1 << 20, 3)}, {}, EP)]
        high[0].add_done_callback(lambda _: order.append("high"))
        low[1].add_done_callback(lambda _: order.append("low"))
        go_on.set()
        assert not wait([*low, *high, *gate], SECONDS).not_done
        until(lambda: len(order) == 2)
        assert order == ["high", "low"]
        assert target == view(size, 1)


def test_everyone_hears_everyone():
    with endpoints(4) as ranks:
        heard: dict[int, list] = {}

        def speak(rank: int) -> None:
            heard[rank] = [ranks[rank].gather(k, f"{rank} in {k}".encode()) for k in range(5)]

        threads = [threading.Thread(target=speak, args=(rank,)) for rank in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert heard == {r: [[f"{s} in {k}".encode() for s in range(4)] for k in range(5)] for r in range(4)}


def test_a_rank_alone_needs_nobody():
    with endpoints(1) as (alone,):
        assert alone.gather(1, b"x") == [b"x"]
        alone.exchange(1, {}, {}).result(SECONDS)


def test_bad_input_leaves_the_endpoint_as_it_was():
    with endpoints(2, JOB) as (a, b):
        for outgoing, factors, message in (
            ({2: view(1, 1)}, None, "rank 2: expected another of the 2 ranks than 0"),
            ({0: view(1, 1)}, None, "rank 0: expected another"),
            ({1: view(1, 1)}, Factors(9, CType.EP, 0), "microbatch 9"),
        ):
            with pytest.raises(OfframpError, match=message):
                a.exchange(1, outgoing, {}, factors)
        with pytest.raises(OfframpError, match="out of order"):
            a.exchange(1, {1: view(10, 1)}, {}, EP, [(1, 2, 10)])
        a.exchange(1, {1: view(1, 1)}, {}, EP)
        with pytest.raises(OfframpError, match="on its way already"):
            a.exchange(1, {1: view(1, 1)}, {}, EP)
        b.exchange(1, {}, {0: view(1)}).result(SECONDS)
        assert a.failure is None


def test_addresses(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    assert local_address() == local_address("lo") == local_address("127.0.0.1") == "127.0.0.1"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    assert local_address() == "127.0.0.1"
    with pytest.raises(OfframpError, match="no interface 'eth77'"):
        local_address("eth77")


@pytest.mark.parametrize("change", [{"chunk": 0}, {"unsent": -1}, {"timeout_s": float("nan")}, {"chunk": 1 << 32}])
def test_tuning_is_checked(change):
    with pytest.raises(OfframpError, match=next(iter(change))):
        Tuning(**change)


def test_congestion_control_that_does_not_exist():
    with (
        pytest.raises(OfframpError, match="congestion control nonsense"),
        endpoints(1, None, Tuning(congestion="nonsense")),
    ):
        pass
