# SPDX-License-Identifier: Apache-2.0
"""Explicit congestion notification (RFC 3168): the mark that a queue puts into a packet."""

from __future__ import annotations

from offramp_base.wire.ethernet import ETHER_TYPE_IPV4, ETHER_TYPE_IPV6

_VLAN_TAGS = (0x8100, 0x88A8)
_CE = 3


def mark_ce(frame: bytes) -> bytes:
    """``frame`` with Congestion Experienced set if it is IP of an ECN-capable transport, else ``frame`` itself.

    VLAN tags are skipped; the checksum of an IPv4 header is updated as in RFC 1624.
    """
    at = 12
    ether_type = int.from_bytes(frame[at : at + 2], "big")
    while ether_type in _VLAN_TAGS:
        at += 4
        ether_type = int.from_bytes(frame[at : at + 2], "big")
    at += 2
    if ether_type == ETHER_TYPE_IPV4 and len(frame) >= at + 20 and frame[at] >> 4 == 4:
        return _mark_ipv4(frame, at)
    if ether_type == ETHER_TYPE_IPV6 and len(frame) >= at + 40 and frame[at] >> 4 == 6:
        return _mark_ipv6(frame, at)
    return frame


def _mark_ipv4(frame: bytes, at: int) -> bytes:
    if frame[at + 1] & _CE in {0, _CE}:
        return frame
    marked = bytearray(frame)
    marked[at + 1] |= _CE
    before, after = (int.from_bytes(each[at : at + 2], "big") for each in (frame, marked))
    total = (~int.from_bytes(frame[at + 10 : at + 12], "big") & 0xFFFF) + (~before & 0xFFFF) + after
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    marked[at + 10 : at + 12] = (~total & 0xFFFF).to_bytes(2, "big")
    return bytes(marked)


def _mark_ipv6(frame: bytes, at: int) -> bytes:
    if frame[at + 1] >> 4 & _CE in {0, _CE}:
        return frame
    marked = bytearray(frame)
    marked[at + 1] |= _CE << 4
    return bytes(marked)
