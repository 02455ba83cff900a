# SPDX-License-Identifier: Apache-2.0
"""Unix sockets, links in memory, links with faults, and naming a link."""

from __future__ import annotations

import socket
import threading
from collections import Counter

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_base.transport import memory, open_io
from offramp_base.transport.faulty import FaultRates, Faulty, apply_faults
from offramp_base.transport.framing import MAX_MESSAGE, pack, unpack
from offramp_base.transport.unix import UnixIO
from offramp_base.wire.batch import PacketBatch


def numbered(count, size=20):
    return PacketBatch.of((0, i.to_bytes(4, "big") + bytes(size - 4)) for i in range(count))


def numbers(batch):
    return [int.from_bytes(f[:4], "big") for f in batch.frames()]


@pytest.fixture
def listener(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.bind(str(tmp_path / "port"))
        sock.listen(1)
        yield sock


@pytest.fixture
def link(listener):
    io = UnixIO(listener.getsockname())
    peer, _ = listener.accept()
    yield io, peer
    io.close()
    peer.close()


def test_unix_frames_arrive_in_order(link):
    io, peer = link
    for message in pack(numbered(1000)):
        peer.send(message)
    assert numbers(io.receive(1)) == list(range(1000))
    assert len(io.receive(0)) == 0


def test_unix_two_ends_that_both_send_never_deadlock(link):
    """Each end has far more to send than the sockets hold, and reads only when it has sent everything."""
    io, peer = link
    peer.setblocking(True)
    many = numbered(20_000, 500)

    def echo():
        left = len(many)
        while left:
            batch = unpack(peer.recv(MAX_MESSAGE))
            left -= len(batch)
            for message in pack(batch):
                peer.sendall(message)

    thread = threading.Thread(target=echo)
    thread.start()
    io.send(many)
    got = []
    while len(got) < len(many):
        got += numbers(io.receive(5))
    thread.join()
    assert got == list(range(len(many)))


def test_unix_end_of_the_switch_is_told_after_the_last_frame(link):
    io, peer = link
    peer.send(next(pack(numbered(3))))
    peer.close()
    assert numbers(io.receive(1)) == [0, 1, 2]
    with pytest.raises(OfframpError, match="the switch closed the link"):
        io.receive(1)
    with pytest.raises(OfframpError, match="Broken pipe"):
        io.send(numbered(1))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("unix:/nonexistent/p", "unix:/nonexistent/p: No such file or directory; is the switch running?"),
        ("unix:" + "x" * 200, "a socket path has at most 107 bytes"),
        (
            "",
            "link '': expected unix:PATH, shm:PATH, udp:HOST:PORT, af_packet:IFNAME, bundle:IFNAME, af_xdp:IFNAME or",
        ),
        ("tcp:1.2.3.4", "link 'tcp:1.2.3.4': expected unix:PATH, shm:PATH, udp:HOST:PORT, "),
        ("nosuchif0", "no interface 'nosuchif0'; there are "),
    ],
)
def test_links_that_cannot_be_opened(spec, message):
    with pytest.raises(OfframpError) as failure:
        open_io(spec)
    assert message in str(failure.value)


def test_memory_pair():
    left, right = memory.pair()
    left.send(numbered(3))
    left.send(numbered(2))
    assert numbers(right.receive(0)) == [0, 1, 2, 0, 1]
    assert len(right.receive(0.01)) == 0
    right.send(numbered(1))
    right.close()
    assert numbers(left.receive(0)) == [0]
    with pytest.raises(OfframpError, match="memory link: closed"):
        left.receive(1)
    with pytest.raises(OfframpError, match="memory link: closed"):
        left.send(numbered(1))


def test_faults_have_their_probability_and_come_from_the_seed():
    faults = FaultRates(loss=0.1, duplication=0.2)

    def once(seed):
        return numbers(apply_faults(numbered(10_000), faults, np.random.default_rng(seed)))

    counts = Counter(Counter(once(1)).values())
    assert counts[2] / 10_000 == pytest.approx(0.9 * 0.2, abs=0.02)
    assert 1 - (counts[1] + counts[2]) / 10_000 == pytest.approx(0.1, abs=0.02)
    assert once(1) == once(1) != once(2)


def test_truncation_cuts_and_reordering_swaps_neighbours():
    rng = np.random.default_rng(0)
    cut = apply_faults(numbered(1000), FaultRates(truncation=1.0), rng)
    assert 0 <= cut.lengths.min() < cut.lengths.max() < 20
    assert all(np.all(row[length:] == 0) for row, length in zip(cut.data, cut.lengths, strict=True))
    swapped = numbers(apply_faults(numbered(1000), FaultRates(reordering=0.3), rng))
    assert sorted(swapped) == list(range(1000))
    assert swapped != list(range(1000))


def test_no_faults_change_nothing():
    left, right = memory.pair()
    link = Faulty(left, seed=3)
    link.send(numbered(5))
    assert numbers(right.receive(0)) == list(range(5))
    right.send(numbered(5))
    assert numbers(link.receive(0)) == list(range(5))
    link.close()


def test_directions_are_independent():
    def sent(receive_first):
        left, right = memory.pair()
        link = Faulty(left, seed=9, sending=FaultRates(loss=0.5), receiving=FaultRates(loss=0.5))
        if receive_first:
            right.send(numbered(50))
            link.receive(0)
        link.send(numbered(200))
        return numbers(right.receive(0))

    assert sent(receive_first=True) == sent(receive_first=False)


def test_probabilities_are_checked():
    with pytest.raises(OfframpError, match=r"fault loss: 1.5 is not a probability, expected 0 to 1"):
        FaultRates(loss=1.5)
