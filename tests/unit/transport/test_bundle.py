# SPDX-License-Identifier: Apache-2.0
"""Bundles of frames on an interface: who gets them, what is none, and what many short frames beside a long one take."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

import namespaces
from offramp_base.transport.af_packet import AfPacketSocket
from offramp_base.transport.bundle import BundleSocket
from offramp_base.transport.bundles import ETHER_TYPE
from offramp_base.wire.batch import PacketBatch

pytestmark = pytest.mark.netns
SWITCHGNN, TCP = 253, 6


@pytest.fixture
def ends():
    """A host's end, the switch's end, and a plain socket beside the host's, which shows what came over the link."""
    namespaces.require()
    with namespaces.Namespace() as space:
        space.veth("left", "right")
        host = space.call(lambda: BundleSocket("left", first=True))
        switch = space.call(lambda: BundleSocket("right", first=False))
        beside = space.call(lambda: AfPacketSocket("left"))
        yield host, switch, beside
        for each in (host, switch, beside):
            each.close()


def ipv4(protocol: int, size: int, fill: int = 0) -> bytes:
    head = bytes([2] * 12) + b"\x08\x00\x45" + bytes(8) + bytes([protocol]) + bytes(10)
    return head + bytes([fill]) * (size - len(head))


def send(socket, *frames: bytes) -> None:
    batch = PacketBatch.of([(0, frame) for frame in frames])
    assert socket.send(socket.message(batch)) == len(frames)


def take(socket, count: int) -> list[bytes]:
    frames: list[bytes] = []
    deadline = time.monotonic() + 5
    while len(frames) < count and time.monotonic() < deadline:
        frames += socket.receive().frames()
    return frames


def is_bundle(frame: bytes) -> bool:
    return frame[12:14] == ETHER_TYPE.to_bytes(2, "big")


def test_frames_of_all_lengths_arrive_as_they_were_sent(ends):
    host, switch, _ = ends
    draw = random.Random(1)
    frames = []
    for _ in range(60):
        frames += [ipv4(SWITCHGNN, draw.choice([34, 60, 140, 190, 1400, 1499, 1500, 1514]), draw.randrange(256))] * 5
    send(host, *frames)
    assert take(switch, len(frames)) == frames
    assert (host.stats.sent, switch.stats.received) == (300, 300)
    assert host.stats.sent_bytes == sum(map(len, frames))


def test_a_run_crosses_in_bundles_as_long_as_the_mtu(ends):
    host, switch, _ = ends
    frames = [ipv4(SWITCHGNN, 190, k) for k in range(20)]
    with_bundles = switch._ring._headers["len"]  # what the kernel saw
    send(host, *frames)
    assert take(switch, 20) == frames
    assert with_bundles[:3].tolist() == [16 + 7 * 190, 16 + 7 * 190, 16 + 6 * 190]


def test_the_switch_answers_in_kind(ends):
    host, switch, beside = ends
    frames = [ipv4(SWITCHGNN, 190)] * 2
    send(switch, *frames)  # it has seen no bundles
    assert take(beside, 2) == frames
    send(host, *frames)
    assert take(switch, 2) == frames
    send(
        switch, *frames, ipv4(TCP, 190), ipv4(SWITCHGNN + 1, 190)
    )  # only what has come so, never what the kernel takes
    assert [is_bundle(frame) for frame in take(beside, 3)] == [True, False, False]
    send(beside, *frames)  # somebody who knows no bundles has taken the host's place
    assert take(switch, 2) == frames
    send(switch, *frames)
    assert take(beside, 2) == frames


def test_the_host_takes_single_frames(ends):
    host, switch, _ = ends
    send(switch, ipv4(TCP, 190), ipv4(SWITCHGNN, 60))
    assert take(host, 2) == [ipv4(TCP, 190), ipv4(SWITCHGNN, 60)]


def test_the_kernels_protocols_stay_single_whatever_came(ends):
    host, switch, beside = ends
    send(host, ipv4(TCP, 190))
    assert take(switch, 1) == [ipv4(TCP, 190)]
    send(switch, ipv4(TCP, 190))
    assert take(beside, 1) == [ipv4(TCP, 190)]


@pytest.mark.parametrize(
    "content",
    [
        b"",  # no frames
        b"\x00\x00" + bytes(60),  # of no length
        b"\x00\x0d" + bytes(13 * 4),  # too short for Ethernet
        b"\x00\x40" + bytes(63),  # part of a frame
        b"\x00\x40" + bytes(65),
        b"\xff\xff" + bytes(1400),  # longer than the bundle
    ],
)
def test_what_is_no_bundle_is_dropped_and_counted(ends, content):
    _, switch, beside = ends
    head = b"\xff" * 6 + bytes(6) + ETHER_TYPE.to_bytes(2, "big")
    send(beside, head + content.ljust(46, b"\0") if len(content) < 2 else head + content, ipv4(SWITCHGNN, 60))
    assert take(switch, 1) == [ipv4(SWITCHGNN, 60)]
    assert (switch.stats.malformed, switch.stats.received) == (1, 1)


def test_many_short_frames_beside_a_long_one_take_little_memory(ends):
    """One batch of them would have a row as wide as the long one for each of the short ones."""
    host, switch, _ = ends
    short = ipv4(SWITCHGNN, 34)
    frames = ([short] * 44 * 50 + [ipv4(SWITCHGNN, 1500)]) * 8
    send(host, *frames)
    received: list[bytes] = []
    most, deadline = 0, time.monotonic() + 20
    while len(received) < len(frames) and time.monotonic() < deadline:
        batch = switch.receive()
        most = max(most, batch.data.shape[0] * batch.data.shape[1])
        received += batch.frames()
    assert received == frames
    assert most <= 16 << 20


def test_random_bytes_change_nothing(ends):
    _, switch, beside = ends
    draw = np.random.default_rng(5)
    head = b"\xff" * 6 + bytes(6) + ETHER_TYPE.to_bytes(2, "big")
    for _ in range(300):
        send(beside, head + draw.integers(0, 256, int(draw.integers(2, 1400)), np.uint8).tobytes())
    send(beside, ipv4(SWITCHGNN, 99))
    frames: list[bytes] = []
    deadline = time.monotonic() + 5
    while ipv4(SWITCHGNN, 99) not in frames and time.monotonic() < deadline:
        frames += switch.receive().frames()
    assert ipv4(SWITCHGNN, 99) in frames
    assert switch.stats.malformed > 250


def test_rows_that_lie_apart_are_sent_as_they_are(ends):
    """As the rows of a ring do, and those of a batch of which some bytes are left away."""
    host, switch, _ = ends
    frames = [ipv4(SWITCHGNN, 190, k) for k in range(6)]
    wide = np.zeros((6, 300), np.uint8)
    wide[:, :190] = PacketBatch.of([(0, frame) for frame in frames]).data
    batch = PacketBatch(np.zeros(6, np.int32), np.full(6, 190, np.int32), wide[:, :200])
    assert host.send(host.message(batch, np.array([5, 0, 3]))) == 3
    assert take(switch, 3) == [frames[5], frames[0], frames[3]]


def test_a_tagged_frame_between_bundles_keeps_its_tag_and_its_place(ends):
    """The kernel takes a tag out of a frame and notes it beside."""
    host, switch, beside = ends
    run = [ipv4(SWITCHGNN, 190, k) for k in range(9)]
    tagged = ipv4(TCP, 90)[:12] + bytes.fromhex("8100a064") + ipv4(TCP, 90)[12:]
    send(host, *run)
    send(beside, tagged)
    send(host, *run)
    assert take(switch, 19) == [*run, tagged, *run]
