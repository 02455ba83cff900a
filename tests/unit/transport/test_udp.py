# SPDX-License-Identifier: Apache-2.0
"""UDP links: who the peer is, what is refused, and datagrams that nobody should send."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from frames import arrived
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.transport import open_io
from offramp_base.transport.framing import MAX_FRAME
from offramp_base.transport.socket_io import SocketIO
from offramp_base.transport.socket_owner import _read
from offramp_base.transport.udp import UdpSocket, resolve
from offramp_base.transport.udp_guard import First, Local, NamedPeerGuard, Proved
from offramp_base.transport.udp_join import ASK, COOKIE, JOIN, JOINING, LABELS, PROOF, REFUSED, WELCOME, refusal, say
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.udp import UdpPort


@pytest.fixture
def port():
    opened = UdpPort("127.0.0.1:0")
    yield opened
    opened.close()


def stranger():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def address(port):
    return resolve(port.name.removeprefix("udp:"))[1]


def batch_of(*frames):
    return PacketBatch.of((0, f) for f in frames)


def call_often(io):
    """The kernel tells of a peer that is gone with the frame after the one that nobody took."""
    for _ in range(20):
        io.send(batch_of(b"anyone?"))
        io.receive(0.1)


def received(port, timeout_s=5.0):
    """The next frame; the loopback delivers before send(2) returns, but errors may come first."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if len(batch := arrived(port)):
            return list(batch.frames())
        time.sleep(0.001)
    return []


def test_each_frame_is_one_datagram(port):
    """So that other programs that speak this way (QEMU's dgram back end) can be at the other end."""
    where = port.name.removeprefix("udp:")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.connect(resolve(where)[1])
        plain.settimeout(5)
        plain.send(b"a" * 60)
        plain.send(b"b" * 20)
        assert received(port) == [b"a" * 60, b"b" * 20]
        port.send(batch_of(b"c" * 100, b"d" * 100, b"e" * 100, b"f"))
        assert [plain.recv(2000) for _ in range(4)] == [b"c" * 100, b"d" * 100, b"e" * 100, b"f"]


def test_frames_without_a_host_are_counted(port):
    port.send(batch_of(b"x", b"y"))
    assert port.stats.dropped == 2
    assert port.stats.sent == 0


def test_one_byte_of_another_redirects_nothing(port):
    host = open_io(port.name)
    host.send(batch_of(b"first"))
    assert received(port) == [b"first"]
    with stranger() as other:
        for datagram in (b"x", b"x" * 100, JOINING, say(ASK, bytes(32)), say(PROOF, bytes(96)), b"OFu1"):
            other.sendto(datagram, address(port))
        host.send(batch_of(b"second"))
        assert received(port) == [b"second"]
        port.send(batch_of(b"to the host"))
        assert list(host.receive(5).frames()) == [b"to the host"]
        assert port.stats.received == 2
        assert port.stats.strangers == 6
        other.setblocking(False)
        answers = []
        with contextlib.suppress(BlockingIOError):
            while True:
                answers.append(other.recv(2000))
        assert all(refusal(answer) for answer in answers)  # no frame
    host.close()


@pytest.mark.parametrize("datagram", [JOINING, say(ASK, bytes(32))])
def test_strangers_that_are_answered_and_gone_do_not_drop_the_host(port, datagram):
    """The kernel tells that nobody took the answer; the host, which only listens, is another."""
    host = open_io(port.name)
    host.send(batch_of(b"first"))
    assert received(port) == [b"first"]
    for number in range(20):
        with stranger() as other:
            other.sendto(datagram, address(port))
        port.receive()
        port.send(batch_of(b"%d" % number))
        assert list(host.receive(5).frames()) == [b"%d" % number]
    assert port.stats.dropped == 0
    host.close()


def test_a_host_that_is_gone_is_noticed_beside_strangers(port):
    host = open_io(port.name)
    host.send(batch_of(b"first"))
    assert received(port) == [b"first"]
    host.close()
    for _ in range(20):
        with stranger() as other:
            other.sendto(say(ASK, bytes(32)), address(port))
        port.send(batch_of(b"anyone?"))
        port.receive()
    assert port.stats.dropped > 0


def test_a_byte_that_comes_before_the_host_keeps_it_from_nothing(port):
    with stranger() as other:
        other.sendto(b"x", address(port))
        assert received(port) == [b"x"]
        host = open_io(port.name)
        host.send(batch_of(b"first"))
        assert received(port) == [b"first"]
        other.sendto(b"y", address(port))
        port.send(batch_of(b"to the host"))
        assert list(host.receive(5).frames()) == [b"to the host"]
        assert received(port, 0.05) == []
        assert port.stats.strangers == 1
        host.close()


def test_a_second_host_is_told_that_there_is_one(port):
    first, second = open_io(port.name), open_io(port.name)
    first.send(batch_of(b"first"))
    assert received(port) == [b"first"]
    with pytest.raises(OfframpError, match=f"^{port.name}: another host is at the port$"):
        second.receive(5)
    first.close()
    second.close()


def test_a_process_of_another_user_is_nobody(port, monkeypatch):
    """Judged by the kernel's table of sockets, in which the sender's has its user."""
    monkeypatch.setattr("offramp_base.transport.socket_owner._read", lambda kind: OtherUsers(_read(kind)))
    host = open_io(port.name)
    host.send(batch_of(b"first"))
    assert received(port, 0.05) == []
    port.send(batch_of(b"secret"))
    assert port.stats.dropped == 1
    assert port.stats.strangers == 2  # what it joined with, and the frame
    host.close()


class OtherUsers(dict):
    def get(self, key, default=None):
        return {12345} if key in self else default


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_named_peer_is_the_only_one(host):
    family = socket.AF_INET6 if "[" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as named, socket.socket(family, socket.SOCK_DGRAM) as other:
        named.bind((host.strip("[]"), 0))
        port = UdpPort(f"{host}:0,peer={host}:{named.getsockname()[1]}")
        port.send(batch_of(b"before it says a word"))
        assert named.recv(100) == b"before it says a word"
        for sock, datagram in ((other, b"x"), (named, b"a"), (other, JOINING), (named, b"b")):
            sock.sendto(datagram, address(port))
        assert received(port) == [b"a", b"b"]
        port.send(batch_of(b"c"))
        assert named.recv(100) == b"c"
        assert port.stats.strangers == 2
        port.close()


TOKEN = Token(b"of this job, and of no other")


@contextlib.contextmanager
def serving(token):
    """A port that hears and echoes in a thread, as a switch's loop would."""
    port = UdpPort("127.0.0.1:0", token)
    stopping = threading.Event()

    def serve():
        while not stopping.is_set():
            batch = arrived(port)
            if len(batch):
                port.send(batch)
            else:
                time.sleep(0.001)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield port
    finally:
        stopping.set()
        thread.join()
        port.close()


def echoed(io, frame):
    io.send(batch_of(frame))
    return list(io.receive(5).frames()) == [frame]


def test_a_host_proves_its_token_and_the_port_proves_it_too():
    with serving(TOKEN) as port, stranger() as other:
        where = port.name.removeprefix("udp:")
        first = SocketIO(UdpSocket.connect(where, TOKEN))
        assert echoed(first, b"first")
        other.sendto(b"x", address(port))
        other.sendto(JOINING, address(port))
        assert echoed(first, b"again")
        second = SocketIO(UdpSocket.connect(where, TOKEN))  # a worker that was started again
        assert echoed(second, b"second")
        first.send(batch_of(b"late"))
        assert len(first.receive(0.1)) == 0
        assert echoed(second, b"again")
        assert port.stats.strangers == 3
        first.close()
        second.close()


@pytest.mark.parametrize(
    ("theirs", "ours", "message"),
    [
        (TOKEN, Token(b"of another job, this one's no"), "does not accept the token that was given"),
        (None, TOKEN, "the port does not have the token that was given"),
    ],
)
def test_tokens_that_differ_are_told(theirs, ours, message, monkeypatch):
    monkeypatch.setattr("offramp_base.transport.udp.PROVE_S", 0.5)
    with serving(theirs) as port, pytest.raises(OfframpError, match=message):
        UdpSocket.connect(port.name.removeprefix("udp:"), ours)


def test_a_port_that_asks_for_a_token_says_so():
    with serving(TOKEN) as port:
        host = open_io(port.name)
        with pytest.raises(OfframpError, match="the port asks for a token; none was given"):
            host.receive(5)
        host.close()


def test_no_answer_is_longer_than_its_question():
    guards = [Proved(TOKEN), Local(lambda _: True), Local(lambda _: None), First(), NamedPeerGuard()]
    for guard in guards:
        for length in range(200):
            for kind in (JOIN, ASK, COOKIE, PROOF, WELCOME, REFUSED, b"OFu1", b""):
                datagram = kind.ljust(length, b"\0")
                verdict = guard.judge(b"a" * 16, datagram, b"b" * 16)
                assert len(verdict.reply) <= len(datagram)
                assert not (verdict.frame and verdict.reply)


def test_a_proof_serves_one_address_and_once():
    now = [100.0]
    guard = Proved(TOKEN, lambda: now[0])
    here, there, nonce = b"here" * 4, b"away" * 4, bytes(32)

    def proof(sender, token=TOKEN):
        cookie = guard.judge(sender, say(ASK, nonce), None).reply[5:]
        return say(PROOF, nonce, cookie, token.proof(LABELS[0], nonce, cookie))

    assert not guard.judge(there, proof(here), None).meets  # from a forged address
    assert not guard.judge(here, proof(here, Token(bytes(16))), None).meets
    first = proof(here)
    assert guard.judge(here, first, None).meets
    assert guard.judge(here, first, here).meets  # the answer was lost
    assert guard.judge(there, proof(there), here).meets
    assert not guard.judge(here, first, there).meets  # replayed
    late = proof(here)
    now[0] += 25.0
    assert not guard.judge(here, late, there).meets


def test_many_strangers_cost_the_host_no_frame(port):
    host = open_io(port.name)
    frames, others = [], [stranger() for _ in range(20)]
    for number in range(50):
        for other in others:
            other.sendto(b"?" * (number + 1), address(port))
        host.send(batch_of(*(bytes([number]) * 60 for _ in range(10))))
        while len(batch := arrived(port)):
            frames += batch.frames()
    assert frames == [bytes([number]) * 60 for number in range(50) for _ in range(10)]
    assert port.stats.strangers == 1000
    for other in others:
        other.close()
    host.close()


def test_frames_for_a_host_that_is_gone_are_counted_until_another_comes(port):
    first = open_io(port.name)
    first.send(batch_of(b"first"))
    assert received(port) == [b"first"]
    first.close()
    for _ in range(5):  # the kernel tells with the frame after the one that nobody took
        port.send(batch_of(b"still there?"))
        port.receive()
    assert port.stats.dropped >= 3
    second = open_io(port.name)
    second.send(batch_of(b"second"))
    assert received(port) == [b"second"]
    port.send(batch_of(b"welcome"))
    assert list(second.receive(5).frames()) == [b"welcome"]
    second.close()


def test_too_long_frames_are_refused_and_not_taken(port):
    host = open_io(port.name)
    with pytest.raises(OfframpError, match=rf"frame of {MAX_FRAME + 1} bytes: longer than the link takes"):
        host.send(batch_of(bytes(MAX_FRAME + 1)))
    host.send(batch_of(bytes(MAX_FRAME)))
    assert received(port) == [bytes(MAX_FRAME)]
    port.send(batch_of(b"before", bytes(MAX_FRAME + 1), b"after"))
    assert [f for _ in range(2) for f in host.receive(1).frames()][:2] == [b"before", b"after"]
    assert port.stats.dropped == 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        other = UdpPort("127.0.0.1:0")
        plain.sendto(bytes(MAX_FRAME + 1), resolve(other.name.removeprefix("udp:"))[1])
        plain.sendto(b"fits", resolve(other.name.removeprefix("udp:"))[1])
        assert received(other) == [b"fits"]
        assert other.stats.malformed == 1
        other.close()
    host.close()


def test_frames_without_a_byte_cross(port):
    host = open_io(port.name)
    host.send(batch_of(b"", b"x", b""))
    frames = received(port)
    while len(frames) < 3:
        frames += received(port)
    assert frames == [b"", b"x", b""]
    host.close()


def test_nobody_there_is_told():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    host = open_io(f"udp:127.0.0.1:{free}")
    with pytest.raises(OfframpError, match=f"udp:127.0.0.1:{free}: Connection refused"):
        call_often(host)
    host.close()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("127.0.0.1", "udp:127.0.0.1: expected udp:HOST:PORT"),
        (":7", "udp::7: expected udp:HOST:PORT"),
        ("localhost:x", "udp:localhost:x: expected udp:HOST:PORT"),
        ("localhost:65536", "udp:localhost:65536: expected udp:HOST:PORT"),
        ("192.0.2.1:7,insecure", "udp:192.0.2.1:7: Cannot assign requested address"),
        ("127.0.0.1:7,peer", "udp:127.0.0.1:7,peer: option 'peer': expected peer=HOST:PORT or insecure"),
        ("127.0.0.1:7,peer=x", "udp:x: expected udp:HOST:PORT"),
        ("127.0.0.1:7,peer=[::1]:7", "udp: peer=[::1]:7: is not of the same family as the port's address"),
        (
            "0.0.0.0:7,insecure,peer=127.0.0.1:1",
            "udp:0.0.0.0:7,insecure,peer=127.0.0.1:1: expected peer=HOST:PORT or insecure, not both",
        ),
        (
            "0.0.0.0:0",
            (
                "udp:0.0.0.0:0: other machines reach this address; it needs ,peer=HOST:PORT behind it, a token "
                "(offramp token, OFFRAMP_TOKEN_FILE), or ,insecure where every machine that reaches it is trusted"
            ),
        ),
    ],
)
def test_addresses_that_are_none(where, message):
    with pytest.raises(OfframpError) as failure:
        UdpSocket.listen(where)
    assert str(failure.value) == message


def test_address_in_use_is_told(port):
    with pytest.raises(OfframpError, match="Address already in use"):
        UdpPort(port.name.removeprefix("udp:"))
