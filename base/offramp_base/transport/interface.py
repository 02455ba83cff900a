# SPDX-License-Identifier: Apache-2.0
"""Properties of a network interface: index, flags, largest frame (netdevice(7))."""

from __future__ import annotations

import fcntl
import socket
import struct
from typing import Final

from offramp_base.errors import OfframpError

MIN_FRAME: Final = 14
"""An Ethernet header; the kernel takes nothing shorter."""
HEADROOM: Final = 64
"""Room beyond the MTU: Ethernet header and tags."""
UP, RUNNING = 1, 0x41
"""Flags of an interface that is up, and of one that has a carrier, too."""

# <linux/if_packet.h>, <linux/sockios.h>; Python names none of these.
SOL_PACKET: Final = 263
_PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 1, 1
_SIOCGIFFLAGS, _SIOCGIFMTU = 0x8913, 0x8921


def interface_index(ifname: str) -> int:
    """The kernel's number of an interface.

    Raises:
        OfframpError: there is no such interface; the message lists those that exist.
    """
    try:
        return socket.if_nametoindex(ifname)
    except (OSError, ValueError):  # a null byte
        known = ", ".join(name for _, name in socket.if_nameindex())
        raise OfframpError(f"no interface {ifname!r}; there are {known or 'none'}") from None


def packet_socket(ifname: str) -> socket.socket:
    """A packet socket (packet(7)) that is bound to nothing and hears nothing yet.

    Raises:
        OfframpError: no permission; the message names the interface it was for.
    """
    try:
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise OfframpError(
            f"interface {ifname}: raw sockets need root or CAP_NET_RAW; unix:PATH links need neither"
        ) from None


def make_promiscuous(sock: socket.socket, index: int) -> None:
    """Have the interface receive frames for others while this packet socket is open."""
    membership = struct.pack("iHH8s", index, _PACKET_MR_PROMISC, 0, b"")
    sock.setsockopt(SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)


def longest_frame(sock: socket.socket, ifname: str) -> int:
    """Bytes of the longest frame, tags included; OSError if the interface is gone."""
    return mtu(sock, ifname) + HEADROOM


def mtu(sock: socket.socket, ifname: str) -> int:
    """Bytes of the longest payload; OSError if the interface is gone."""
    size: int = struct.unpack_from("i", _ask(sock, _SIOCGIFMTU, ifname))[0]
    return size


def is_up(ifname: str) -> bool:
    """Whether the interface exists and is up."""
    return bool(flags(ifname) & UP)


def has_carrier(ifname: str) -> bool:
    """Whether it is up and connected."""
    return flags(ifname) & RUNNING == RUNNING


def flags(ifname: str, sock: socket.socket | None = None) -> int:
    """The flags of an interface, 0 if there is none; in the network namespace of ``sock`` if one is given."""
    if sock is None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            return flags(ifname, probe)
    try:
        bits: int = struct.unpack_from("H", _ask(sock, _SIOCGIFFLAGS, ifname))[0]
    except OSError:
        return 0
    return bits


def _ask(sock: socket.socket, request: int, ifname: str) -> bytes:
    """Bytes that the kernel puts behind the name in struct ifreq."""
    return fcntl.ioctl(sock, request, struct.pack("16s24x", ifname.encode()[:15]))[16:]
