# SPDX-License-Identifier: Apache-2.0
"""AF_PACKET links over a veth pair in a namespace of the test's own."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest

import namespaces
from offramp_base.errors import OfframpError
from offramp_base.transport import open_io
from offramp_base.transport.af_packet import AfPacketSocket
from offramp_base.wire.batch import PacketBatch

pytestmark = pytest.mark.netns


@pytest.fixture
def namespace():
    namespaces.require()
    with namespaces.Namespace() as space:
        space.veth("left", "right")
        yield space


@pytest.fixture
def ends(namespace):
    pair = [namespace.call(lambda name=name: open_io(name)) for name in ("left", "right")]
    yield pair
    for end in pair:
        end.close()


def frame(payload, type_=b"\x90\x00"):
    return bytes(12) + type_ + payload


def collect(io, count):
    frames = []
    deadline = time.monotonic() + 5
    while len(frames) < count and time.monotonic() < deadline:
        frames += io.receive(0.5).frames()
    return frames


def test_frames_cross_unchanged_and_are_not_heard_back(ends):
    rng = np.random.default_rng(0)
    frames = [frame(rng.bytes(int(n))) for n in rng.integers(0, 1486, 300)]
    ends[0].send(PacketBatch.of((0, f) for f in frames))
    assert collect(ends[1], 300) == frames
    assert len(ends[0].receive(0.05)) == 0


def test_more_frames_than_one_system_call_takes(ends):
    frames = [frame(i.to_bytes(4, "big")) for i in range(1500)]
    ends[0].send(PacketBatch.of((0, f) for f in frames))
    assert collect(ends[1], 1500) == frames


def test_receiving_waits_for_a_frame_also_after_frames(ends):
    ends[0].send(PacketBatch.of([(0, frame(b"first"))]))
    assert collect(ends[1], 1) == [frame(b"first")]
    timer = threading.Timer(0.2, lambda: ends[0].send(PacketBatch.of([(0, frame(b"second"))])))
    timer.start()
    assert list(ends[1].receive(10).frames()) == [frame(b"second")]
    timer.join()
    start = time.monotonic()
    assert len(ends[1].receive(0.1)) == 0
    assert time.monotonic() - start >= 0.1


def test_the_ring_goes_round_and_what_it_cannot_hold_is_counted(namespace):
    receiver = namespace.call(lambda: AfPacketSocket("right", 1 << 17))
    sender = namespace.call(lambda: open_io("left"))
    slots = (1 << 17) // 2048
    for turn in range(5):
        sent = [frame(bytes([turn, n])) for n in range(slots - 10)]
        sender.send(PacketBatch.of((0, f) for f in sent))
        got = []
        while len(batch := receiver.receive()):
            got += batch.frames()
        assert got == sent
    receiver.refresh()
    assert receiver.stats.missed == 0
    sender.send(PacketBatch.of((0, frame(bytes([n]))) for n in range(slots + 7)))
    receiver.refresh()
    assert receiver.stats.missed == 7
    assert sum(1 for _ in receiver.receive().frames()) in range(1, slots + 1)
    receiver.close()
    sender.close()


def test_vlan_tags_stay_in_the_frame(ends):
    frames = [
        frame(b"\x20\x05\x08\x00" + b"tagged", b"\x81\x00"),
        frame(b"plain"),
        frame(b"\x00\x07\x81\x00\x00\x09\x08\x00" + b"twice", b"\x88\xa8"),
    ]
    ends[0].send(PacketBatch.of((0, f) for f in frames))
    assert collect(ends[1], 3) == frames


def test_frames_for_others_are_heard(ends):
    other = b"\x02\x00\x00\x00\x00\x99" + bytes(6) + b"\x90\x00"
    ends[0].send(PacketBatch.of([(0, other)]))
    assert collect(ends[1], 1) == [other]


def test_rest_of_the_batch_is_zero(ends):
    ends[0].send(PacketBatch.of([(0, frame(b"\xff" * 100)), (0, frame(b"\xff" * 50))]))
    collect(ends[1], 2)
    ends[0].send(PacketBatch.of([(0, frame(b"")), (0, frame(b"\x01" * 99))]))
    time.sleep(0.05)
    batch = ends[1].receive(1)
    assert np.all(batch.data[0, batch.lengths[0] :] == 0)


def test_frames_longer_than_the_mtu_are_counted(namespace):
    receiver = namespace.call(lambda: AfPacketSocket("right"))
    namespace.run("ip", "link", "set", "left", "mtu", "3000")
    sender = namespace.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    namespace.call(lambda: sender.bind(("left", 0)))
    namespace.run("ip", "link", "set", "right", "mtu", "3000")
    sender.send(frame(bytes(2500)))
    sender.send(frame(b"short"))
    time.sleep(0.05)
    assert list(receiver.receive().frames()) == [frame(b"short")]
    assert receiver.stats.malformed == 1
    sender.close()
    receiver.close()


def test_too_short_a_frame_is_refused(ends):
    with pytest.raises(OfframpError, match="interface left: frame of 13 bytes, expected at least 14"):
        ends[0].send(PacketBatch.of([(0, bytes(13))]))


def test_interface_that_vanishes_is_told(namespace, ends):
    namespace.run("ip", "link", "del", "left")
    with pytest.raises(OfframpError, match="interface right: Network is down"):
        ends[1].receive(1)
    with pytest.raises(OfframpError, match="interface left: "):
        ends[0].send(PacketBatch.of([(0, frame(b""))]))


def test_no_permission_is_told(monkeypatch):
    def denied(*_):
        raise PermissionError

    monkeypatch.setattr("offramp_base.transport.interface.socket.socket", denied)
    with pytest.raises(OfframpError, match="interface lo: raw sockets need root or CAP_NET_RAW; unix:PATH links"):
        open_io("lo")
