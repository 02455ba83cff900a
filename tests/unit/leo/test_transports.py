# SPDX-License-Identifier: Apache-2.0
"""Transports: one conversation over each, greetings that are refused, peers that vanish."""

from __future__ import annotations

import numpy as np
import pytest

from leo_lab import ROWS, batch, lab, program
from offramp.device import Status
from offramp.leo.native.dataflow import Trip
from offramp.leo.runtime.requester import Requester, Settings
from offramp.leo.transports import TRANSPORTS, connect
from offramp.leo.transports.link import LinkDown
from offramp_base.errors import OfframpError

ECHO = (Trip("echo"),)


@pytest.fixture(params=TRANSPORTS.names())
def transport(request, monkeypatch):
    if request.param == "ucx":
        from offramp.leo.transports.ucx import library

        monkeypatch.setenv("UCX_TLS", "tcp,self")
        try:
            library()
        except OfframpError as error:
            pytest.skip(str(error))
    return request.param


def listen_of(transport):
    """Shared memory goes over a Unix socket, bytes over loopback."""
    return "" if transport == "shm" else "127.0.0.1:0"


def test_messages_of_all_sizes_arrive(transport):
    rng = np.random.default_rng(5)
    with lab(program([[ECHO]], "ADDR"), transport=transport, listen=listen_of(transport), stride=256) as made:
        messages = [rng.bytes(int(rng.integers(0, 257))) for _ in range(800)]
        keys = [i % 3 for i in range(len(messages))]
        sent = 0
        while len(made.ended) < len(messages):
            end = min(sent + int(rng.integers(0, 40)), len(messages))
            sent += made.requester.admit(batch(messages[sent:end], keys[sent:end]), np.arange(sent, end))
            done = made.step()
            assert (done.jct_ns >= 0).all()
            assert (done.jct_ns <= done.ended_ns - done.begun_ns).all()
        assert [e[0] for e in made.ended] == list(range(len(messages)))
        assert all(e[1:] == (Status.OK, messages[e[0]]) for e in made.ended)


def test_long_messages_that_fill_the_rings(transport):
    flow = (Trip("back"),)
    with lab(
        program([[flow]]),
        python={"back": lambda m: m[::-1]},
        transport=transport,
        listen=listen_of(transport),
        stride=1 << 18,
    ) as made:
        messages = [bytes([i]) * (1 << 17) + b"end" for i in range(ROWS)]
        made.requester.admit(batch(messages), np.arange(ROWS))
        while len(made.ended) < ROWS:
            made.step()
        assert all(answer == messages[user][::-1] for user, _, answer in made.ended)


def test_a_peer_that_vanishes_is_noticed(transport):
    with lab(program([[ECHO]]), transport=transport, listen=listen_of(transport)) as made:
        made.requester.admit(batch([b"x"]), np.array([1]))
        made.responder.close()
        for _ in range(2000):
            made.requester.step()
        assert made.requester._links == [None]
        assert made.requester.in_flight == 1


@pytest.mark.parametrize("address", ["nowhere", "host:port", "127.0.0.1:70000"])
def test_bad_addresses(address):
    with pytest.raises(OfframpError, match="expected HOST:PORT"):
        connect(address, "tcp", {"ring_bytes": 4096})


def test_no_such_transport():
    with pytest.raises(OfframpError, match="transport pigeon: expected one of shm, tcp, ucx"):
        connect("127.0.0.1:1", "pigeon", {"ring_bytes": 4096})
    with pytest.raises(LinkDown):
        connect("127.0.0.1:1", "tcp", {"ring_bytes": 4096})
    with pytest.raises(OfframpError, match="requester of 0 rows"):
        Requester(program([[ECHO]]), ["127.0.0.1:1"], settings=Settings(rows=0))
