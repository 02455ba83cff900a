"""UDP links: who the peer is, what is refused, and datagrams that nobody should send."""

from __future__ import annotations

import socket
import time

import pytest

from offramp.errors import OfframpError
from offramp.transport import open_io
from offramp.transport.framing import MAX_FRAME
from offramp.transport.udp import UdpSocket, resolve
from offramp.wire.batch import PacketBatch
from offramp_sim.p4.ports.udp import UdpPort


@pytest.fixture
def port():
    made = UdpPort("127.0.0.1:0")
    yield made
    made.close()


def batch_of(*frames):
    return PacketBatch.of((0, f) for f in frames)


def call_often(io):
    """The kernel tells of a peer that is gone with the frame after the one that nobody took."""
    for _ in range(20):
        io.send(batch_of(b"anyone?"))
        io.receive(0.1)


def received(port, patience_s=5.0):
    """What comes next; the loopback delivers before send(2) returns, but errors may come first."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        if len(batch := port.receive()):
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


def test_the_host_that_sent_last_is_answered(port):
    first, second = open_io(port.name), open_io(port.name)
    first.send(batch_of(b"first"))
    assert received(port) == [b"first"]
    port.send(batch_of(b"to the first"))
    second.send(batch_of(b"second"))
    assert received(port) == [b"second"]
    port.send(batch_of(b"to the second"))
    assert list(first.receive(5).frames()) == [b"to the first"]
    assert list(second.receive(5).frames()) == [b"to the second"]
    assert len(first.receive(0)) == 0
    first.close()
    second.close()


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
        ("192.0.2.1:7", "udp:192.0.2.1:7: Cannot assign requested address"),
    ],
)
def test_addresses_that_are_none(where, message):
    with pytest.raises(OfframpError) as failure:
        UdpSocket.listen(where)
    assert str(failure.value) == message


def test_address_in_use_is_told(port):
    with pytest.raises(OfframpError, match="Address already in use"):
        UdpPort(port.name.removeprefix("udp:"))
