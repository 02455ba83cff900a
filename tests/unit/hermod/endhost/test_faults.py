# SPDX-License-Identifier: Apache-2.0
"""Faults between endpoints: one line, the same on every rank, and never a hang."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from endpoints import SECONDS, endpoints, view
from offramp.hermod.endhost import CoflowPriority, Endpoint, Priorities, Tuning
from offramp.hermod.endhost.control import Gathering
from offramp.hermod.endhost.ledger import TransferLedger
from offramp.hermod.endhost.transfers import CoflowTransfers, OutgoingBytes
from offramp.hermod.endhost.wire import HEADER_BYTES, MOST_WORDS, PROTOCOL, FrameHeader, FrameType
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError
from offramp_base.listening import Listener, Token, connect

JOB = Priorities.of_job(8, 32)


TOKEN = Token(b"of this job, and of no other")


def stranger(endpoint: Endpoint, raw: bytes = b"") -> socket.socket:
    """A connection that says something else than a greeting."""
    sock = socket.create_connection(endpoint._peers[endpoint.rank], SECONDS)
    sock.sendall(raw)
    return sock


def peer(endpoint: Endpoint, rank: Any, dscp: Any, token: Token | None = TOKEN, **changes: Any) -> socket.socket:
    """A connection that greets as a rank."""
    greeting = {"session": endpoint._session, "size": endpoint.size, "rank": rank, "dscp": dscp, **changes}
    host, port = endpoint._peers[endpoint.rank]
    return connect(f"{host}:{port}", token, PROTOCOL, greeting, timeout_s=SECONDS)[0]


def closed(sock: socket.socket) -> bool:
    """Whether the other end hangs up."""
    with sock:
        sock.settimeout(SECONDS)
        with contextlib.suppress(ConnectionResetError):
            while sock.recv(1 << 16):
                pass
        return True


def works(a: Endpoint, b: Endpoint, number: int, factors: Factors | None = None) -> None:
    """A coflow from one endpoint to the other."""
    came = view(1000)
    futures = [a.exchange(number, {b.rank: view(1000, 5)}, {}, factors), b.exchange(number, {}, {a.rank: came})]
    assert not wait(futures, SECONDS).not_done
    assert came == view(1000, 5)


def test_strangers_are_turned_away():
    with endpoints(2, JOB, token=TOKEN) as (a, b):
        for raw in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(64), bytes(4096), b"OFcf" + bytes(4096)):
            assert closed(stranger(a, raw))
        for rank, dscp, changes, line in (
            (1, 7, {"token": Token(bytes(32))}, "does not accept the token"),
            (1, 7, {"token": None}, "asks for a token"),
            (1, 7, {"session": "0" * 32}, "field session"),
            (1, 7, {"size": 3}, "field size"),
            (1, 7, {"more": 1}, "unknown field 'more'"),
            (2, 7, {}, "field rank"),
            (True, 7, {}, "field rank"),
            (0, 7, {}, "a connection that exists already"),  # itself
            (1, None, {}, "a connection that exists already"),  # a second control connection
            (1, 64, {}, "field dscp: expected a whole number from 0 to 63"),
            (1, -1, {}, "field dscp"),
            (1, JOB.control.dscp, {}, "is of control"),
        ):
            with pytest.raises(OfframpError, match=line):
                peer(a, rank, dscp, **changes)
        works(b, a, 1)
        with pytest.raises(OfframpError, match="a connection that exists already"):
            peer(a, 1, b.priorities.mark(None).dscp)
        works(b, a, 2)
        assert a.refused >= 14
        assert a.failure is None


def test_the_highest_dscp_is_heard():
    with endpoints(2, token=TOKEN) as (a, b), peer(a, 1, 63):
        works(b, a, 1)


def test_control_connections_come_from_higher_ranks():
    with endpoints(3, JOB, token=TOKEN) as ranks:
        assert (0, None) not in ranks[1]._greeted
        with pytest.raises(OfframpError, match="control connections come from higher ranks"):
            peer(ranks[1], 0, None)
        works(ranks[0], ranks[1], 1)


def test_an_endpoint_that_others_reach_needs_a_token(monkeypatch):
    monkeypatch.delenv("OFFRAMP_TOKEN_FILE", raising=False)
    monkeypatch.setattr("offramp.hermod.endhost.endpoint.local_address", lambda where: "192.0.2.7")
    with pytest.raises(OfframpError, match=r"^endpoint on 192\.0\.2\.7: other machines reach this address; it needs a"):
        Endpoint(0, 1, lambda row: [row])
    with pytest.raises(OfframpError, match="Cannot assign requested address"):  # it would, were it this host's
        Endpoint(0, 1, lambda row: [row], insecure=True)


def test_the_token_does_not_travel():
    said = []
    secret = b"a secret that nobody else may hear"

    def introduce(row: bytes) -> list[bytes]:
        said.append(row)
        return [row]

    with Endpoint(0, 1, introduce, where="127.0.0.1", token=Token(secret)):
        assert secret not in said[0]
        assert sorted(json.loads(said[0])) == ["fault", "host", "mtu", "port", "session"]


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"[]",
        b'{"host": "127.0.0.1"}',
        b'{"host": "x", "port": 1, "session": "", "mtu": 0, "fault": ""}',
        b'{"host": "127.0.0.1", "port": 0, "session": "", "mtu": 0, "fault": ""}',
        b'{"host": "127.0.0.1", "port": 1, "session": "", "mtu": 6, "fault": ""}',
        b'{"host": "127.0.0.1", "port": 1, "session": "", "mtu": 0, "fault": "a\\nb"}',
        b"[" * 100_000,
    ],
)
def test_introductions_are_checked(row: bytes):
    with pytest.raises(OfframpError, match="introduction of rank 1"):
        Endpoint(0, 2, lambda mine: [mine, row], where="127.0.0.1")


def test_silent_strangers_keep_nobody_out():
    """More of them than wait at a time: the oldest goes, and peers that come later are heard at once."""
    with endpoints(2, JOB, token=TOKEN) as (a, b):
        silent = [stranger(a) for _ in range(400)]
        try:
            for number, factors in enumerate((Factors(0, CType.EP, 0), Factors(7, CType.DP, 31), None)):
                works(b, a, number, factors)  # each by a new connection
            assert a.refused >= 400 - 256
            assert a._receiver._listener.pending <= 256
            assert a.failure is b.failure is None
        finally:
            for sock in silent:
                sock.close()


def test_a_silent_stranger_is_dismissed(monkeypatch):
    monkeypatch.setattr("offramp.hermod.endhost.sockets._GREETING_S", 0.1)
    with endpoints(2, JOB, token=TOKEN) as (a, b):
        assert a._receiver._listener._limits.greeting_s == 0.1
        assert closed(stranger(a))
        assert a._receiver._listener.refused == {"no greeting in time": 1}
        works(b, a, 1)


def test_a_peer_that_is_turned_away_dials_again_and_says_so(caplog, monkeypatch):
    with endpoints(2, JOB, token=TOKEN) as (a, b):
        turned_away = []
        read_greeting = Listener._read_greeting

        def evict(listener: Listener, stranger: Any) -> Any:
            if len(turned_away) < 3:
                turned_away.append(stranger)
                listener._refuse(stranger, "too many silent peers")
                return None
            return read_greeting(listener, stranger)

        monkeypatch.setattr(Listener, "_read_greeting", evict)
        works(b, a, 1)
        assert b.redialled == 3
        assert a.refused == 3
        assert caplog.messages.count("rank 0 closed a connection before it answered; dialling again") == 1


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (bytes(HEADER_BYTES), "rank 1 sent a frame without a header"),
        (FrameHeader(FrameType.DATA, 10, 99, 0, 10).pack(), "rank 1 sent bytes that were not asked for"),
        (FrameHeader(FrameType.DATA, 10, 1, 95, 100).pack(), "rank 1 sent bytes that were not asked for"),
        (FrameHeader(FrameType.DATA, 100, 1, 0, 200).pack(), "rank 1 sent bytes that were not asked for"),
        (FrameHeader(FrameType.DATA, 101, 1, 0, 100).pack(), "rank 1 sent bytes that were not asked for"),
        (FrameHeader(FrameType.DATA, 0, 1, 0, 100).pack(), "rank 1 sent DATA where data belong"),
        (FrameHeader(FrameType.READY, 0, 1, 0, 100).pack(), "rank 1 sent READY where data belong"),
    ],
)
def test_nonsense_on_a_peers_connection_ends_all_ranks_with_one_line(frame: bytes, message: str):
    with endpoints(3, JOB, token=TOKEN) as ranks:
        pending = [ranks[r].exchange(1, {}, {(r + 1) % 3: view(100)}) for r in range(3)]
        with peer(ranks[0], 1, 7) as sock:
            sock.sendall(frame)
            assert {str(future.exception(SECONDS)) for future in pending} == {message}
        for endpoint in ranks:
            with pytest.raises(OfframpError, match=message):
                endpoint.gather(1, b"")


def test_bytes_that_overlap_never_complete_a_transfer():
    half = FrameHeader(FrameType.DATA, 50, 1, 0, 100).pack() + bytes(50)
    with endpoints(2, JOB, token=TOKEN) as (a, _):
        pending = a.exchange(1, {}, {1: view(100)})
        with peer(a, 1, 7) as sock:
            sock.sendall(half + half)
            assert str(pending.exception(SECONDS)) == "rank 1 sent bytes that were not asked for"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            FrameHeader(FrameType.WORDS, MOST_WORDS + 1, 1),
            f"rank 1 sent WORDS, {MOST_WORDS + 1} bytes, where control belongs",
        ),
        (FrameHeader(FrameType.WORDS, 0xFFFFFFFF, 1), "rank 1 sent WORDS, 4294967295 bytes, where control belongs"),
        (FrameHeader(FrameType.READY, 1, 1, 0, 100), "rank 1 sent READY, 1 bytes, where control belongs"),
        (FrameHeader(FrameType.ABORT, 4097), "rank 1 sent ABORT, 4097 bytes, where control belongs"),
        (FrameHeader(FrameType.DATA, 1, 1, 0, 1), "rank 1 sent DATA, 1 bytes, where control belongs"),
    ],
)
def test_lengths_of_control_frames_are_bounded(header: FrameHeader, message: str):
    with endpoints(2, JOB, token=TOKEN) as (a, b):
        pending = a.exchange(1, {}, {1: view(1)})
        b._controls[0]._sock.sendall(header.pack())
        assert str(pending.exception(SECONDS)) == message


def test_the_longest_words_are_heard():
    with endpoints(2, JOB, token=TOKEN) as (a, b), ThreadPoolExecutor(1) as pool:
        other = pool.submit(b.gather, 1, b"")
        assert [len(row) for row in a.gather(1, bytes(MOST_WORDS))] == [MOST_WORDS, 0]
        assert len(other.result(SECONDS)[0]) == MOST_WORDS
        with pytest.raises(OfframpError, match=f"gather of {MOST_WORDS + 1} bytes, expected at most {MOST_WORDS}"):
            a.gather(2, bytes(MOST_WORDS + 1))


def test_what_a_peer_reports_is_one_line():
    with endpoints(2, JOB, token=TOKEN) as (a, b):
        pending = a.exchange(1, {}, {1: view(1)})
        text = b"gone\n\x1b[2J"
        b._controls[0].send(FrameHeader(FrameType.ABORT, len(text)), text)
        assert str(pending.exception(SECONDS)) == "gone??[2J"


def test_what_is_said_ahead_is_bounded(monkeypatch):
    monkeypatch.setattr("offramp.hermod.endhost.control._MOST_HELD", 100)
    gathering = Gathering(2)
    for number in range(10):
        gathering.add(1, number, bytes(10))
    with pytest.raises(OfframpError, match="rank 1 says more than 100 bytes ahead"):
        gathering.add(1, 10, b"x")
    future = gathering.wait_for(0)
    gathering.add(0, 0, b"")
    assert future.result(0) == [b"", bytes(10)]
    gathering.add(1, 11, b"x")  # there is room again


class Slow(dict):
    """Lets another thread run in the middle of a look-up, as far as it gets."""

    def __init__(self, other: threading.Thread) -> None:
        super().__init__()
        self.other = other

    def get(self, *key: Any) -> Any:
        value = super().get(*key)
        if self.other.ident is None:
            self.other.start()
            self.other.join(0.5)
        return value


def test_a_transfer_that_is_submitted_while_its_peer_says_that_it_waits_is_sent():
    """Without its lock ``ready`` would note as early what ``submit`` has taken in meanwhile, and nothing be sent."""
    ledger = TransferLedger()
    coflow = CoflowTransfers(CoflowPriority((), 0, 0), 1, in_order=False)
    out = OutgoingBytes((1, 1), view(8, 1), coflow, 8)
    coflow.cut({1: out}, None)
    submitting = threading.Thread(target=ledger.submit, args=(coflow, [out], []))
    ledger._outgoing = Slow(submitting)
    ledger.ready((1, 1), 8)
    submitting.join(SECONDS)
    assert out.ready
    assert not ledger._early


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


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), "rank 1 is gone: Connection reset by peer"),
        (OSError("cut"), "rank 1 is gone: cut"),
        (EOFError(), "rank 1 is gone: it closed its connection"),
        (ValueError("odd"), "rank 1 is gone: odd"),
        (OfframpError("rank 1 sent nonsense"), "rank 1 sent nonsense"),
    ],
)
def test_a_connection_that_breaks_is_named(error: Exception, line: str):
    with endpoints(2, JOB) as (a, b):
        pending = a.exchange(1, {}, {1: view(1)})
        a.lost(1, error)
        assert str(pending.exception(SECONDS)) == str(a.failure) == line
        b.fail("over")


def test_a_peer_that_cannot_be_sent_to_is_gone_or_has_left_early():
    for leaves in (False, True):
        with endpoints(2, JOB) as (a, b):
            pending = a.exchange(1, {1: view(1, 1)}, {})
            if leaves:
                a._leaving[1] = 0
            a._cannot_send(1, BrokenPipeError(32, "Broken pipe"))
            line = "rank 1 left before its transfers were over" if leaves else "rank 1 is gone: Broken pipe"
            assert str(pending.exception(SECONDS)) == line
            b.fail("over")


def test_silent_hosts_are_noticed_by_the_kernel():
    with endpoints(2, JOB, tuning=Tuning(dead_s=8.0)) as ranks:
        for endpoint in ranks:
            for control in endpoint._controls.values():
                assert control._sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert control._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 8000


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
