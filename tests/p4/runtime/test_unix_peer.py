# SPDX-License-Identifier: Apache-2.0
"""Links between switches: a port that connects to another switch's socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from frames import arrived
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.unix import UnixPort
from offramp_p4.ports.unix_peer import UnixPeer

pytestmark = pytest.mark.p4


def batch(*frames: bytes) -> PacketBatch:
    return PacketBatch.of((0, frame) for frame in frames)


def test_frames_pass_both_ways(tmp_path: Path) -> None:
    port = UnixPort(tmp_path / "p")
    peer = UnixPeer(tmp_path / "p")
    assert peer.up
    assert peer.interest()
    port.receive()  # accepts
    peer.send(batch(b"a" * 60, b"b" * 90))
    assert [frame for _, frame in arrived(port)] == [b"a" * 60, b"b" * 90]
    port.send(batch(b"c" * 60))
    assert [frame for _, frame in arrived(peer)] == [b"c" * 60]
    assert (peer.stats.sent, peer.stats.received) == (2, 1)
    peer.close()
    assert (tmp_path / "p").exists(), "the socket is the other switch's"
    port.close()


def test_it_connects_when_the_other_switch_comes_and_comes_back(tmp_path: Path) -> None:
    peer = UnixPeer(tmp_path / "p")
    assert not peer.up
    assert peer.interest() == []
    peer.send(batch(b"lost" * 20))
    assert peer.stats.dropped == 1
    for _ in range(2):
        port = UnixPort(tmp_path / "p")
        peer.tick(0.0)
        assert peer.up
        port.receive()
        port.send(batch(b"x" * 60))
        assert len(peer.receive()) == 1
        port.close()
        assert len(peer.receive()) == 0
        assert not peer.up
    peer.close()
