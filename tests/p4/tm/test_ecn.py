# SPDX-License-Identifier: Apache-2.0
"""Congestion marks: which frames get one, and when."""

from __future__ import annotations

import pytest

from both_engines import MakeSwitch
from offramp_base.wire.ethernet import ipv4_checksum
from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm import PortConfig, QueueConfig, TmConfig, mark_ce
from p4_programs import program

RATE = 8 * 10**9
MACS = bytes(12)


def ipv4(tos: int, identification: int = 0) -> bytes:
    header = bytearray(bytes.fromhex("4500 002e 0000 0000 4011 0000 0a000001 0a000002"))
    header[1] = tos
    header[4:6] = identification.to_bytes(2, "big")
    header[10:12] = ipv4_checksum(bytes(header)).to_bytes(2, "big")
    return MACS + b"\x08\x00" + bytes(header) + bytes(26)


def ipv6(traffic_class: int) -> bytes:
    return MACS + b"\x86\xdd" + (6 << 28 | traffic_class << 20 | 0xABCDE).to_bytes(4, "big") + bytes(60)


@pytest.mark.parametrize("identification", [0, 1, 0xFFFF, 0x8000, 0x1234])
def test_ipv4(identification: int) -> None:
    for tos in range(256):
        frame = ipv4(tos, identification)
        marked = mark_ce(frame)
        if tos & 3 in {0, 3}:
            assert marked is frame
        else:
            assert marked[15] == tos | 3
            assert ipv4_checksum(marked[14:34]) == 0
            assert marked[:15] + marked[16:24] + marked[26:] == frame[:15] + frame[16:24] + frame[26:]


def test_ipv6() -> None:
    for traffic_class in range(256):
        expected = traffic_class | 3 if traffic_class & 3 else traffic_class
        assert mark_ce(ipv6(traffic_class)) == ipv6(expected)


def test_vlan_tags_are_skipped_and_what_is_no_ip_stays() -> None:
    tag = b"\x81\x00\x00\x05"
    for capable, marked in ((ipv4(1), ipv4(3)), (ipv6(2), ipv6(3))):
        assert (
            mark_ce(MACS + b"\x88\xa8\x00\x01" + tag + capable[12:]) == MACS + b"\x88\xa8\x00\x01" + tag + marked[12:]
        )
    for frame in (b"", MACS, MACS + b"\x90\x00" + bytes(50), ipv4(1)[:33], ipv6(1)[:53], MACS + tag * 9):
        assert mark_ce(frame) is frame


def test_frames_that_find_more_than_the_threshold_are_marked(make_switch: MakeSwitch) -> None:
    frame = ipv4(2)
    config = TmConfig(default=PortConfig(RATE, (QueueConfig(ecn_bytes=2 * len(frame)),)))
    switch = QueuedSwitch(make_switch(program("sm.egress_spec = 1;")), config)
    for each in [frame] * 5 + [ipv4(0)]:
        switch.receive(0, 0, each)
    out = [each.frame for each in switch.advance(10**9)]
    # The queue holds 0, 1, 2, 3, 4 frames as they come; a frame of a transport without ECN stays as it is.
    assert out == [frame] * 3 + [ipv4(3)] * 2 + [ipv4(0)]
    assert switch.tm.queue(1, 0).stats.marked == 2


def test_a_hook_marks_what_is_no_ip(make_switch: MakeSwitch) -> None:
    config = TmConfig(default=PortConfig(RATE, (QueueConfig(ecn_bytes=0),)))
    switch = QueuedSwitch(make_switch(program("sm.egress_spec = 1;")), config, mark=lambda f: f[:-1] + b"!")
    for _ in range(2):
        switch.receive(0, 0, bytes(60))
    assert [each.frame[-1:] for each in switch.advance(10**9)] == [b"\0", b"!"]
