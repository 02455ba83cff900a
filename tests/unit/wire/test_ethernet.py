# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp_base.wire import ethernet
from offramp_base.wire.ethernet import ETHERNET, IPV4, ipv4_checksum, ipv4_frame_prefix, wire_bytes


def test_header_sizes() -> None:
    assert (ETHERNET.size, IPV4.size) == (14, 20)


def test_broadcast_is_all_ones() -> None:
    assert ethernet.BROADCAST_MAC.to_bytes(6, "big") == b"\xff" * 6
    assert ethernet.BROADCAST_IP.to_bytes(4, "big") == b"\xff" * 4


def test_checksum_of_a_known_header() -> None:
    # The worked example of the IPv4 header checksum article of Wikipedia.
    header = bytes.fromhex("45000073000040004011 0000 c0a80001c0a800c7".replace(" ", ""))
    assert ipv4_checksum(header) == 0xB861


def test_a_filled_in_checksum_verifies() -> None:
    prefix = ipv4_frame_prefix(0x0200_0000_FFFE, 0x0200_0000_0001, 0x0A000001, 0x0A00FFFE, 253, 144).tobytes()
    assert len(prefix) == 34
    assert ipv4_checksum(prefix[14:]) == 0
    assert IPV4.decode(prefix[14:])["total_len"] == 164


@pytest.mark.parametrize(("frame", "wire"), [(178, 202), (50, 84), (60, 84), (61, 85), (1082, 1106)])
def test_wire_bytes(frame: int, wire: int) -> None:
    assert wire_bytes(frame) == wire
