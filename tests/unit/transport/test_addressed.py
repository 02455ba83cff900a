# SPDX-License-Identifier: Apache-2.0
"""A link on an Ethernet of several hosts gives what is for one of them."""

from __future__ import annotations

from offramp_base.transport.addressed import Addressed
from offramp_base.transport.memory import pair
from offramp_base.wire.batch import PacketBatch

MINE, OTHERS = 0x0200_0000_0001, 0x0200_0000_0002
_ALL = 0xFFFF_FFFF_FFFF


def to(mac: int) -> bytes:
    return mac.to_bytes(6, "big") + bytes(54)


def test_others_frames_do_not_arrive() -> None:
    here, there = pair()
    link = Addressed(here, MINE)
    there.send(PacketBatch.of([(0, to(mac)) for mac in (OTHERS, MINE, _ALL, OTHERS)]))
    assert [frame for _, frame in link.receive(0)] == [to(MINE), to(_ALL)]
    there.send(PacketBatch.of([(0, to(OTHERS))]))
    assert not len(link.receive(0))
    assert not len(link.receive(0))
    link.send(PacketBatch.of([(0, to(OTHERS))]))
    assert [frame for _, frame in there.receive(0)] == [to(OTHERS)]
    link.close()
