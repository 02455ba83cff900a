# SPDX-License-Identifier: Apache-2.0
"""Ethernet and IPv4 headers (IEEE 802.3, RFC 791)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from offramp_base.wire.fields import Bytes, HeaderFormat

ETHERNET = HeaderFormat("ethernet", {"dst_addr": 48, "src_addr": 48, "ether_type": 16})

IPV4 = HeaderFormat(
    "ipv4",
    {
        "version": 4,
        "ihl": 4,
        "diffserv": 8,
        "total_len": 16,
        "identification": 16,
        "flags": 3,
        "frag_offset": 13,
        "ttl": 8,
        "protocol": 8,
        "header_checksum": 16,
        "src_addr": 32,
        "dst_addr": 32,
    },
)

ETHER_TYPE_IPV4 = 0x0800
ETHER_TYPE_IPV6 = 0x86DD
BROADCAST_MAC = 0xFFFF_FFFF_FFFF
BROADCAST_IP = 0xFFFF_FFFF

_FCS, _PREAMBLE, _GAP, _SHORTEST = 4, 8, 12, 64


def wire_bytes(frame_bytes: int) -> int:
    """Bytes of link time that a frame takes, given without FCS: with FCS, padding, preamble and gap."""
    return max(frame_bytes + _FCS, _SHORTEST) + _PREAMBLE + _GAP


def total_wire_bytes(frame_bytes: npt.NDArray[np.int32]) -> int:
    """:func:`wire_bytes` of many frames together."""
    return int(np.maximum(frame_bytes + _FCS, _SHORTEST).sum()) + len(frame_bytes) * (_PREAMBLE + _GAP)


def ipv4_checksum(header: bytes) -> int:
    """Header checksum of RFC 791 over ``header`` with its checksum field taken as it stands."""
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@lru_cache(4096)
def ipv4_frame_prefix(dst_mac: int, src_mac: int, src_ip: int, dst_ip: int, protocol: int, payload_bytes: int) -> Bytes:
    """Ethernet and IPv4 headers in front of ``payload_bytes`` bytes, ``(34,)`` uint8, read-only, checksum filled in."""
    ethernet = {"dst_addr": dst_mac, "src_addr": src_mac, "ether_type": ETHER_TYPE_IPV4}
    fields = {
        "version": 4,
        "ihl": 5,
        "total_len": IPV4.size + payload_bytes,
        "ttl": 64,
        "protocol": protocol,
        "src_addr": src_ip,
        "dst_addr": dst_ip,
    }
    checksum = ipv4_checksum(IPV4.encode(fields))
    headers = ETHERNET.encode(ethernet) + IPV4.encode({**fields, "header_checksum": checksum})
    return np.frombuffer(headers, np.uint8)
