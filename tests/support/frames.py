# SPDX-License-Identifier: Apache-2.0
"""Small frames for switch tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from offramp_p4.ports.base import Port


def mac(number: int) -> int:
    """A unicast address with a small number."""
    return 0x02_00_00_00_00_00 | number


def ethernet(dst: int = 1, src: int = 0, type: int = 0x9000) -> bytes:  # noqa: A002
    """An Ethernet header; ``dst`` becomes :func:`mac`."""
    return mac(dst).to_bytes(6, "big") + src.to_bytes(6, "big") + type.to_bytes(2, "big")


def ipv4(dst: int, src: int = 0) -> bytes:
    """An IPv4 header of which only the addresses count."""
    return b"\x45" + bytes(11) + src.to_bytes(4, "big") + dst.to_bytes(4, "big")


def arrived(port: Port) -> PacketBatch:
    """What a port has received, in one batch."""
    return PacketBatch.concatenate(port.receive())
