# SPDX-License-Identifier: Apache-2.0
"""Transports: one conversation over each, greetings that are refused, peers that vanish."""

from __future__ import annotations

import os
import socket
import struct
import time

import numpy as np
import pytest

from leo_lab import ROWS, batch, lab, program, serve_while
from offramp.device import Status
from offramp.leo.native.dataflow import Trip
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.transports import TRANSPORTS, connect
from offramp.leo.transports.greeting import parse_memory
from offramp.leo.transports.link import GreetingSocket, LinkDown
from offramp.leo.transports.tcp import TcpLink
from offramp.leo.transports.ucx import UcxLink, library
from offramp_base.errors import OfframpError

ECHO = (Trip("echo"),)


@pytest.fixture(params=TRANSPORTS.names())
def transport(request, monkeypatch):
    if request.param == "nic":
        pytest.skip("needs agents: tests/nic/test_chain.py")
    if request.param == "ucx":
        require_ucx(monkeypatch)
    return request.param


def require_ucx(monkeypatch):
    """Skip where there is none; it speaks TCP unless the environment says otherwise, as in the guest (tests/guest)."""
    if "UCX_TLS" not in os.environ:
        monkeypatch.setenv("UCX_TLS", "tcp,self")
    try:
        library()
    except OfframpError as error:
        pytest.skip(str(error))


def listen_of(transport):
    """Shared memory goes over a Unix socket, bytes over loopback."""
    return "" if transport == "shm" else "127.0.0.1:0"


def test_messages_of_all_sizes_arrive(transport):
    rng = np.random.default_rng(5)
    with lab(program([[ECHO]], "ADDR"), transport=transport, listen=listen_of(transport), stride=256) as laboratory:
        messages = [rng.bytes(int(rng.integers(0, 257))) for _ in range(800)]
        keys = [i % 3 for i in range(len(messages))]
        sent = 0
        while len(laboratory.ended) < len(messages):
            end = min(sent + int(rng.integers(0, 40)), len(messages))
            sent += laboratory.requester.admit(batch(messages[sent:end], keys[sent:end]), np.arange(sent, end))
            done = laboratory.step()
            assert (done.jct_ns >= 0).all()
            assert (done.jct_ns <= done.ended_ns - done.begun_ns).all()
        assert [e[0] for e in laboratory.ended] == list(range(len(messages)))
        assert all(e[1:] == (Status.OK, messages[e[0]]) for e in laboratory.ended)


def test_long_messages_that_fill_the_rings(transport):
    flow = (Trip("back"),)
    with lab(
        program([[flow]]),
        python={"back": lambda m: m[::-1]},
        transport=transport,
        listen=listen_of(transport),
        stride=1 << 18,
    ) as laboratory:
        messages = [bytes([i]) * (1 << 17) + b"end" for i in range(ROWS)]
        laboratory.requester.admit(batch(messages), np.arange(ROWS))
        while len(laboratory.ended) < ROWS:
            laboratory.step()
        assert all(answer == messages[user][::-1] for user, _, answer in laboratory.ended)


def test_a_peer_that_vanishes_is_noticed(transport):
    with lab(program([[ECHO]]), transport=transport, listen=listen_of(transport)) as laboratory:
        laboratory.requester.admit(batch([b"x"]), np.array([1]))
        laboratory.responder.close()
        for _ in range(2000):
            laboratory.requester.step()
            if laboratory.requester._links == [None]:  # the request's own time runs out on a slow machine
                break
        assert laboratory.requester._links == [None]
        assert laboratory.requester.in_flight == 1


@pytest.mark.full
def test_an_end_of_ucx_whose_peer_never_answers_is_closed(monkeypatch):
    """UCX 1.13 would abort the process over verbs; the guest runs this over them."""
    require_ucx(monkeypatch)
    near, far = (UcxLink(1 << 16, None, local=True) for _ in range(2))
    near.attach(parse_memory(far.offer()))
    begun = time.monotonic()
    near.close()
    assert time.monotonic() - begun < 10
    far.close()


def test_two_requesters_have_their_turns_in_compiled_rounds(transport):
    """Requests that the CPU has compiled and those of Python together: each gets its own answers, in whatever order."""
    flows = [[ECHO], [(Trip("back"),)]]
    made_of = program(flows)
    listen = listen_of(transport)
    with lab(made_of, python={"back": lambda m: m[::-1]}, transport=transport, listen=listen) as laboratory:
        settings, address = laboratory.requester.settings, laboratory.responder.listener.address
        other = serve_while(laboratory.responder, lambda: Requester(made_of, [address], settings=settings))
        requesters = [laboratory.requester, other]
        asked = [[f"{number} of {name}".encode() for number in range(600)] for name in ("one", "two")]
        sent, received = [0, 0], [{}, {}]
        while any(len(answers) < 600 for answers in received):
            laboratory.responder.step()
            for which, requester in enumerate(requesters):
                end = min(sent[which] + 24, 600)
                numbers = np.arange(sent[which], end)
                some = batch(asked[which][sent[which] : end], kinds=(numbers % 7 == 0).astype(int))
                sent[which] += requester.admit(some, numbers)
                requester.step()
                done = requester.collect()
                for i in range(done.count):
                    received[which][int(done.users[i])] = done.answer(i)
        for which, answers in enumerate(received):
            turned = {n: m[::-1] if n % 7 == 0 else m for n, m in enumerate(asked[which])}
            assert answers == turned
        assert laboratory.responder.connected == 2
        other.close()


def pair_of_sockets():
    """Two ends of a TCP connection on loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        near = socket.create_connection(listener.getsockname())
        return near, listener.accept()[0]


def pump_for_a_while(link):
    for _ in range(20_000):
        link.pump()
        time.sleep(0.001)


@pytest.mark.parametrize(("lingers", "said"), [(None, "the peer has closed the connection"), (0, "Connection reset")])
def test_what_ends_a_connection_is_said(lingers, said):
    near, far = pair_of_sockets()
    link = TcpLink(GreetingSocket(near), 4096, None)
    assert not link.pump()
    if lingers is not None:
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, lingers))
    far.close()
    with pytest.raises(LinkDown, match=said):
        pump_for_a_while(link)
    link.close()
    assert not link._moving(), "a closed link moves nothing: its descriptor may be another file's by now"


def test_bytes_keep_their_places_through_full_buffers():
    """A ring of 64 KiB through sockets that take little at a time, round and round: the same bytes, in their places."""
    near, far = socket.socketpair()  # TCP would wait for its acknowledgements
    for end in (near, far):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    links = [TcpLink(GreetingSocket(end), 1 << 16, None) for end in (near, far)]
    sent, received = links[0].sent, links[1].received
    rng = np.random.default_rng(3)
    stream = rng.integers(0, 256, 1 << 20, np.uint8)
    out, into = sent.content.view(np.uint8), received.content.view(np.uint8)
    got = []
    while sum(map(len, got)) < len(stream):
        head = int(sent.head[0])
        room = min(int(rng.integers(0, 30000)), len(out) - (head - int(sent.tail[0])), len(stream) - head)
        out[np.arange(head, head + room) % len(out)] = stream[head : head + room]
        sent.head[0] = head + room
        for link in links:
            link.pump()
        tail, end = int(received.tail[0]), int(received.head[0])
        taken = min(end - tail, int(rng.integers(0, 30000)))
        got.append(into[np.arange(tail, tail + taken) % len(into)])
        received.tail[0] = tail + taken
    assert (np.concatenate(got) == stream).all()
    for link in links:
        link.close()


@pytest.mark.parametrize("address", ["nowhere", "host:port", "127.0.0.1:70000"])
def test_bad_addresses(address):
    with pytest.raises(OfframpError, match="expected HOST:PORT"):
        connect(address, "tcp", {"ring_bytes": 4096})


def test_no_such_transport():
    with pytest.raises(OfframpError, match="transport pigeon: expected one of nic, shm, tcp, ucx"):
        connect("127.0.0.1:1", "pigeon", {"ring_bytes": 4096})
    with pytest.raises(LinkDown):
        connect("127.0.0.1:1", "tcp", {"ring_bytes": 4096})
    with pytest.raises(OfframpError, match="requester of 0 rows"):
        Requester(program([[ECHO]]), ["127.0.0.1:1"], settings=RequesterSettings(rows=0))
