# SPDX-License-Identifier: Apache-2.0
"""AF_XDP alone: its limits, the modes, tags, rings that go round, and what an interface does to it."""

from __future__ import annotations

import contextlib
import errno
import subprocess

import numpy as np
import pytest

import namespaces
from offramp_base.errors import OfframpError
from offramp_base.transport import open_io
from offramp_base.transport.af_packet import AfPacketSocket
from offramp_base.transport.xdp import bpf
from offramp_base.transport.xdp.socket import FRAMES, AfXdpSocket
from offramp_base.wire.batch import PacketBatch

pytestmark = pytest.mark.netns


@pytest.fixture
def namespace():
    namespaces.require()
    with namespaces.Namespace() as space:
        space.veth("left", "right")
        yield space


def frame(payload, type_=b"\x90\x00"):
    return bytes(12) + type_ + payload


def batch_of(*frames):
    return PacketBatch.of((0, f) for f in frames)


def collect(sock, count):
    got = []
    for _ in range(1000):
        got += sock.receive().frames()
        if len(got) >= count:
            break
    return got


@pytest.mark.parametrize("mode", ["generic", "native"])
def test_both_modes_with_a_packet_socket_at_the_other_end(namespace, mode):
    with (
        contextlib.closing(namespace.call(lambda: AfXdpSocket("left", mode=mode))) as xdp,
        contextlib.closing(namespace.call(lambda: AfPacketSocket("right"))) as packet,
    ):
        assert xdp.mode == mode
        frames = [frame(bytes([n]) * (n * 5)) for n in range(200)]
        assert xdp.send(xdp.message(batch_of(*frames))) == 200
        assert collect(packet, 200) == frames
        assert packet.send(packet.message(batch_of(*frames))) == 200
        assert collect(xdp, 200) == frames


def test_rings_go_round_with_batches_of_all_sizes(namespace):
    left, right = (namespace.call(lambda n=n: AfXdpSocket(n)) for n in ("left", "right"))
    rng = np.random.default_rng(3)
    sent = 0
    while sent < 3 * FRAMES:
        count = int(rng.integers(1, 700))
        frames = [frame((sent + i).to_bytes(4, "big")) for i in range(count)]
        assert left.send(left.message(batch_of(*frames))) == count
        assert collect(right, count) == frames
        sent += count
    left.refresh()
    right.refresh()
    assert left.stats.lost == right.stats.lost == 0
    left.close()
    right.close()


def test_chosen_rows_are_sent(namespace):
    left, right = (namespace.call(lambda n=n: AfXdpSocket(n)) for n in ("left", "right"))
    batch = batch_of(*(frame(bytes([n])) for n in range(10)), b"short")
    message = left.message(batch, np.array([7, 10, 2, 9, 4]))
    assert left.stats.dropped == 1
    assert left.send(message.part(1, 4)) == 3
    assert collect(right, 3) == [frame(bytes([n])) for n in (2, 9, 4)]
    left.close()
    right.close()


def test_tags_stay_and_give_room_for_four_more_bytes(namespace):
    left, right = (namespace.call(lambda n=n: AfXdpSocket(n)) for n in ("left", "right"))
    tagged = frame(b"\x20\x05\x08\x00" + bytes(1500), b"\x81\x00")
    longest, long = frame(bytes(1500)), frame(bytes(1501))
    assert left.send(left.message(batch_of(tagged, longest, long))) == 2
    assert collect(right, 2) == [tagged, longest]
    with pytest.raises(OSError, match="Message too long"):
        left.send(left.message(batch_of(long)))
    left.close()
    right.close()


def test_frames_too_long_for_the_memory_are_counted(namespace):
    for name in ("left", "right"):
        namespace.run("ip", "link", "set", name, "mtu", "1500")
    right = namespace.call(lambda: AfXdpSocket("right", mode="generic"))
    for name in ("left", "right"):
        namespace.run("ip", "link", "set", name, "mtu", "3000")
    left = namespace.call(lambda: AfPacketSocket("left"))
    left.send(left.message(batch_of(frame(bytes(2500)), frame(b"short"))))
    assert collect(right, 1) == [frame(b"short")]
    right.refresh()
    assert (right.stats.malformed, right.stats.missed) == (1, 0)
    left.close()
    right.close()


def test_interface_that_goes_down_and_away(namespace):
    right = namespace.call(lambda: open_io("af_xdp:right"))
    namespace.run("ip", "link", "set", "right", "down")
    with pytest.raises(OfframpError, match="interface right: Network is down"):
        right.receive(0.1)
    right.close()
    namespace.run("ip", "link", "set", "right", "up")
    right = namespace.call(lambda: open_io("af_xdp:right"))
    namespace.run("ip", "link", "del", "left")
    with pytest.raises(OfframpError, match="interface right: "):
        right.receive(0.1)
    right.close()
    right.close()


def test_the_program_leaves_with_the_socket(namespace):
    first = namespace.call(lambda: AfXdpSocket("right"))
    with pytest.raises(OfframpError) as failure:
        namespace.call(lambda: AfXdpSocket("right"))
    message = "another program takes its frames by XDP; af_packet:right works beside it"
    assert str(failure.value) == f"interface right: AF_XDP: {message}"
    first.close()
    shown = subprocess.run(
        [*namespace.command, "ip", "link", "show", "right"], capture_output=True, text=True, check=True
    )
    assert "xdp" not in shown.stdout
    namespace.call(lambda: AfXdpSocket("right")).close()


def test_limits_are_told(namespace):
    namespace.run("ip", "link", "set", "left", "mtu", "9000")
    with pytest.raises(OfframpError) as failure:
        namespace.call(lambda: AfXdpSocket("left"))
    assert str(failure.value) == (
        "interface left: MTU of 9000 bytes: AF_XDP takes frames of up to 3840 bytes; af_packet:left takes longer ones"
    )
    namespace.run("ip", "link", "add", "many", "numrxqueues", "3", "type", "veth", "peer", "name", "one")
    with pytest.raises(OfframpError) as failure:
        namespace.call(lambda: AfXdpSocket("many"))
    assert str(failure.value) == (
        "interface many: 3 receive queues, AF_XDP takes frames of one: ethtool -L many combined 1, or af_packet:many"
    )


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EPERM, "needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; unix:PATH links need none"),
        (errno.EAFNOSUPPORT, "not in this kernel (CONFIG_XDP_SOCKETS); af_packet:left works without"),
        (errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_refusals_of_the_kernel_are_told(namespace, monkeypatch, number, message):
    def refuse(*_):
        raise OSError(number, "Cannot allocate memory")

    monkeypatch.setattr(bpf, "_bpf", refuse)
    with pytest.raises(OfframpError) as failure:
        namespace.call(lambda: AfXdpSocket("left"))
    assert str(failure.value) == f"interface left: AF_XDP: {message}"


def test_the_program_is_what_the_standard_says():
    """RFC 9669, by hand: ``return bpf_redirect_map(&map 7, ctx->rx_queue_index, XDP_PASS)``."""
    lines = [
        "61 12 10 00 00 00 00 00",  # r2 = *(u32 *)(r1 + 16)
        "18 11 00 00 07 00 00 00",  # r1 = map 7
        "00 00 00 00 00 00 00 00",
        "b7 03 00 00 02 00 00 00",  # r3 = 2
        "85 00 00 00 33 00 00 00",  # call 51
        "95 00 00 00 00 00 00 00",  # exit
    ]
    assert bpf._redirecting(7) == bytes.fromhex("".join(lines))
