"""What goes wrong between endpoints: one line, the same on every rank, and never a hang."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import wait

import pytest

from endpoints import SECONDS, endpoints, view
from offramp.coflow.endhost import Endpoint, Priorities, Tuning
from offramp.coflow.endhost.wire import HEADER_BYTES, HELLO_BYTES, Header, Hello, Kind
from offramp.errors import OfframpError

JOB = Priorities.of_job(8, 32)


def stranger(endpoint: Endpoint, raw: bytes) -> socket.socket:
    host, port = endpoint._peers[endpoint.rank]
    sock = socket.create_connection((host, port), SECONDS)
    sock.sendall(raw)
    return sock


def closed(sock: socket.socket) -> bool:
    """Whether the other end has hung up."""
    with sock:
        try:
            return sock.recv(1) == b""
        except ConnectionResetError:
            return True


def works(a: Endpoint, b: Endpoint, number: int) -> None:
    came = view(1000)
    futures = [a.exchange(number, {b.rank: view(1000, 5)}, {}), b.exchange(number, {}, {a.rank: came})]
    assert not wait(futures, SECONDS).not_done
    assert came == view(1000, 5)


def test_strangers_are_turned_away():
    with endpoints(2, JOB) as (a, b):
        good = Hello(a._token, 1, 2, 7)
        for raw in (
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            bytes(HELLO_BYTES),
            Hello(bytes(16), 1, 2, 7).pack(),  # another group
            Hello(a._token, 2, 2, 7).pack(),
            Hello(a._token, 1, 3, 7).pack(),
            Hello(a._token, 0, 2, 7).pack(),  # itself
            Hello(a._token, 1, 2, None).pack(),  # a second control connection
            good.pack()[:4] + b"\x09" + good.pack()[5:],  # version
        ):
            assert closed(stranger(a, raw))
        works(b, a, 1)
        assert closed(stranger(a, Hello(a._token, 1, 2, b.priorities.mark(None).dscp).pack()))  # a duplicate
        works(b, a, 2)
        assert a.refused == 9
        assert a.failure is None


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (bytes(HEADER_BYTES), "rank 1 sent a frame without a header"),
        (Header(Kind.DATA, 10, 99, 0, 10).pack(), "rank 1 sent bytes that nobody asked for"),
        (Header(Kind.DATA, 10, 1, 95, 100).pack(), "rank 1 sent bytes that nobody asked for"),
        (Header(Kind.DATA, 100, 1, 0, 200).pack(), "rank 1 sent bytes that nobody asked for"),
        (Header(Kind.DATA, 0, 1, 0, 100).pack(), "rank 1 sent DATA where data belong"),
        (Header(Kind.READY, 0, 1, 0, 100).pack(), "rank 1 sent READY where data belong"),
    ],
)
def test_nonsense_on_a_peers_connection_ends_all_ranks_with_one_line(frame: bytes, message: str):
    with endpoints(3, JOB) as ranks:
        pending = [ranks[r].exchange(1, {}, {(r + 1) % 3: view(100)}) for r in range(3)]
        with stranger(ranks[0], Hello(ranks[0]._token, 1, 3, 7).pack() + frame):
            assert {str(future.exception(SECONDS)) for future in pending} == {message}
        for endpoint in ranks:
            with pytest.raises(OfframpError, match=message):
                endpoint.gather(1, b"")


def test_sizes_that_differ_end_all_ranks_with_one_line():
    with endpoints(3, JOB) as ranks:
        futures = [
            ranks[0].exchange(5, {1: view(100, 1)}, {}),
            ranks[2].exchange(6, {}, {0: view(10)}),
            ranks[1].exchange(5, {}, {0: view(90)}),
        ]
        texts = {str(f.exception(SECONDS)) for f in futures}
        assert texts == {"rank 1 expects 90 bytes in message 0x5, it gets 100"}


def test_a_peer_that_closes_in_the_middle_is_named():
    with endpoints(3, JOB) as ranks:
        pending = [ranks[0].exchange(5, {}, {1: view(100)}), ranks[2].exchange(5, {1: view(100, 1)}, {})]
        ranks[1].close()
        for future in pending:
            assert str(future.exception(SECONDS)) == "rank 1 left before its transfers were over"


def test_a_peer_that_leaves_in_order_disturbs_nobody():
    with endpoints(3, JOB) as ranks:
        works(ranks[1], ranks[0], 1)
        ranks[1].close()
        works(ranks[2], ranks[0], 2)
        assert ranks[0].failure is ranks[2].failure is None
        with pytest.raises(OfframpError, match="rank 1"):
            ranks[0].exchange(7, {}, {1: view(1)}).result(SECONDS)


def test_a_rank_that_says_nothing_is_named():
    with endpoints(2, JOB, Tuning(timeout_s=0.2)) as (a, b):
        pending = b.exchange(1, {}, {0: view(1)})
        with pytest.raises(OfframpError, match=r"no word from rank 1 in 0\.2 s"):
            a.gather(1, b"x")
        assert "no word from rank 1 in 0.2 s" in str(pending.exception(SECONDS))


def test_a_rank_that_never_comes_is_named():
    def introduce(row: bytes) -> list[bytes]:
        return [row, row]

    before = threading.active_count()
    with pytest.raises(OfframpError, match=r"endpoint: rank 1 did not connect within 0\.2 s"):
        Endpoint(0, 2, introduce, where="127.0.0.1", tuning=Tuning(dead_s=0.2))
    assert threading.active_count() == before
