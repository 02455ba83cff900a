# SPDX-License-Identifier: Apache-2.0
"""Every transport with the same frames: between two ends of a veth pair, over the loopback, over a socket.

Blind spot: real NICs (their queues, offloads and drivers).
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import namespaces
from frames import arrived
from offramp_base.errors import OfframpError
from offramp_base.transport import FrameIO, open_io
from offramp_base.transport.datagrams import MOST_SEGMENTS
from offramp_base.transport.socket_io import SocketIO
from offramp_base.transport.udp import UdpSocket
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.base import Port
from offramp_p4.ports.shm import ShmPort
from offramp_p4.ports.unix import UnixPort

TYPE = b"\x90\x00"


@dataclass
class Ends:
    """A link: the host's end, the other one, and how to remove what is between."""

    host: FrameIO
    far: FrameIO
    cut: Callable[[], None]


class PortIO:
    """A switch's port as the other end of a link."""

    def __init__(self, port: Port) -> None:
        self._port, self.stats = port, port.stats

    def send(self, batch: PacketBatch) -> None:
        self._port.send(batch)
        self._port.rest()

    def receive(self, timeout_s: float) -> PacketBatch:
        deadline = time.monotonic() + timeout_s
        while True:
            poll = select.poll()
            for descriptor, _ in self._port.interest():
                poll.register(descriptor, select.POLLIN)
            self._port.rest()
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            self._port.flush()
            batch = arrived(self._port)
            if len(batch) or time.monotonic() >= deadline:  # a bell may ring for what was taken already
                return batch

    def close(self) -> None:
        self._port.close()


@pytest.fixture
def namespace():
    namespaces.require()
    with namespaces.Namespace() as space:
        space.veth("left", "right")
        yield space


def over_interfaces(transport, namespace):
    host, far = (namespace.call(lambda n=n: open_io(f"{transport}:{n}")) for n in ("left", "right"))
    return Ends(host, far, lambda: namespace.run("ip", "link", "del", "left"))


def over_udp(where):
    try:
        far = UdpSocket.listen(where)
    except OfframpError as error:
        pytest.skip(f"no IPv6 here: {error}") if "[" in where else pytest.fail(str(error))
    host = open_io(far.name)
    far = SocketIO(far)
    return Ends(host, far, far.close)


def over_unix(tmp_path):
    port = UnixPort(tmp_path / "port")
    far = PortIO(port)
    host = open_io(port.name)
    return Ends(host, far, far.close)


def over_memory(tmp_path):
    port = ShmPort(tmp_path / "port")
    far = PortIO(port)
    hosts = []
    caller = threading.Thread(target=lambda: hosts.append(open_io(port.name)))
    caller.start()
    while not hosts:
        far.receive(0.1)
    caller.join()
    return Ends(hosts[0], far, far.close)


LOSSY = ["udp", "udp6", *(pytest.param(t, marks=pytest.mark.netns) for t in ("af_packet", "bundle", "af_xdp"))]


@pytest.fixture(params=["unix", "shm", *LOSSY])
def ends(request, tmp_path):
    if request.param == "unix":
        pair = over_unix(tmp_path)
    elif request.param == "shm":
        pair = over_memory(tmp_path)
    elif request.param.startswith("udp"):
        pair = over_udp("127.0.0.1:0" if request.param == "udp" else "[::1]:0")
    else:
        pair = over_interfaces(request.param, request.getfixturevalue("namespace"))
    pair.host.send(batch_of([frame(b"hello")]))  # sockets learn from it who is there
    assert collect(pair.far, 1) == [frame(b"hello")]
    yield pair
    pair.host.close()
    pair.far.close()


def frame(payload):
    return bytes(12) + TYPE + payload


def batch_of(frames):
    return PacketBatch.of((0, f) for f in frames)


def random_frames(seed, count, longest=1486):
    rng = np.random.default_rng(seed)
    return [frame(rng.bytes(int(n))) for n in rng.integers(0, longest + 1, count)]


def call_often(io):
    """The kernel tells of a peer that is gone with the frame after the one that nobody took."""
    for _ in range(20):
        io.send(batch_of([frame(b"anyone?")]))
        io.receive(0.1)


def collect(io, count, patience=20):
    frames = []
    while len(frames) < count and patience:
        arrived = list(io.receive(0.25).frames())
        patience = 20 if arrived else patience - 1
        frames += arrived
    return frames


def test_frames_of_all_lengths_cross_both_ways_in_order(ends):
    for seed, (source, sink) in enumerate([(ends.host, ends.far), (ends.far, ends.host)]):
        frames = random_frames(seed, 400)
        source.send(batch_of(frames))
        assert collect(sink, 400) == frames
        assert len(source.receive(0)) == 0


def test_runs_of_one_length_and_mixtures(ends):
    """Frames that a transport may join: runs, their ends, single frames between, the shortest and the longest."""
    lengths = [64] * 200 + [178] * 65 + [64, 178] * 20 + [1500] * 70 + [14] * 3 + [1514]
    frames = [frame(i.to_bytes(4, "big") * 400)[:n] for i, n in enumerate(lengths)]
    ends.host.send(batch_of(frames))
    assert collect(ends.far, len(frames)) == frames


def test_rows_beyond_a_frame_are_zero(ends):
    ends.host.send(batch_of([frame(b"\xff" * 1000)] * 300))
    assert len(collect(ends.far, 300)) == 300
    ends.host.send(batch_of([frame(b"\x01" * 40), frame(b"\x02" * 90)]))
    batch = PacketBatch.empty()
    while len(batch) < 2:
        batch = PacketBatch.concatenate([batch, ends.far.receive(2)])
    assert not batch.data[0, batch.lengths[0] :].any()


def test_far_more_than_any_buffer_holds_when_both_ends_run(ends):
    """The receiver may be slow or fast: with at most 2,000 frames on the way nothing is lost, and all is in order."""
    total, window = 24_000, 2_000
    room = threading.Semaphore(window)

    def pump():
        for start in range(0, total, 500):
            for _ in range(500):
                room.acquire(timeout=20)
            ends.host.send(batch_of(frame(i.to_bytes(4, "big") + bytes(90)) for i in range(start, start + 500)))

    thread = threading.Thread(target=pump)
    thread.start()
    seen = 0
    while seen < total:
        batch = ends.far.receive(5)
        assert len(batch), f"nothing after {seen} frames; {ends.host.stats}; {ends.far.stats}"
        numbers = batch.data[:, 14:18].copy().view(">u4")[:, 0]
        assert np.array_equal(numbers, np.arange(seen, seen + len(batch)))
        seen += len(batch)
        for _ in range(len(batch)):
            room.release()
    thread.join()
    assert ends.host.stats.lost == ends.far.stats.lost == 0
    assert ends.host.stats.sent == ends.far.stats.received == total + 1


def test_waiting_ends_when_a_frame_comes_or_the_time_is_over(ends):
    assert len(ends.host.receive(0)) == 0
    assert len(ends.host.receive(0.05)) == 0
    timer = threading.Timer(0.1, lambda: ends.far.send(batch_of([frame(b"now")])))
    timer.start()
    assert collect(ends.host, 1) == [frame(b"now")]
    timer.join()


def test_an_end_that_is_gone_is_told_in_one_line(ends):
    ends.cut()
    with pytest.raises(OfframpError) as failure:
        call_often(ends.host)
    assert "\n" not in str(failure.value)
    assert str(failure.value).startswith(("unix:", "shm:", "udp:", "interface left: "))


def test_nothing_to_send_is_nothing(ends):
    ends.host.send(PacketBatch.empty())
    assert len(ends.far.receive(0)) == 0


@pytest.mark.parametrize("ends", LOSSY, indirect=True)
def test_no_loss_is_silent_when_nobody_reads(ends):
    block = batch_of([frame(bytes(986))] * 1000)
    for _ in range(60):
        ends.host.send(block)
    taken = 1
    while len(batch := ends.far.receive(0.3)):
        taken += len(batch)
    lost = ends.host.stats.lost + ends.far.stats.lost
    assert lost > 0
    together = MOST_SEGMENTS if "udp" in type(ends.far._socket).__module__ else 1  # the kernel counts runs
    assert taken + lost <= 60_001 <= taken + together * lost
