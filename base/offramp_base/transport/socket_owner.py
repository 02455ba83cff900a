# SPDX-License-Identifier: Apache-2.0
"""Owners of this machine's sockets by address, from /proc/net/udp, tcp and their IPv6 counterparts."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import time
from pathlib import Path
from typing import Final, Literal

_TABLES: Final = {kind: (Path(f"/proc/net/{kind}"), Path(f"/proc/net/{kind}6")) for kind in ("udp", "tcp")}
_MAPPED: Final = b"\0" * 10 + b"\xff\xff"
_LOCAL_FIELD, _USER_FIELD, _FIELDS = 1, 7, 10
_READS: Final = 50.0
"""Most reads of the kernel's socket tables per second; under a flood of senders, the last table read is used."""

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_ANY: Final = 0xFFFFFFFF
_USER_AT: Final = 16 + 4 + 48 + 12
"""Where the user stands: behind the netlink header, the socket's state, its addresses and three numbers."""
_ANSWER_S: Final = 1.0

Owners = dict[tuple[bytes, int], set[int]]
"""Users by address and port."""


class LocalSockets:
    """The ``udp`` or ``tcp`` sockets of this machine."""

    def __init__(self, kind: Literal["udp", "tcp"] = "udp") -> None:
        self._kind: Literal["udp", "tcp"] = kind
        self._owners: Owners = {}
        self._reads, self._at = _READS, time.monotonic()

    def trusted(self, name: bytes) -> bool | None:
        """Whether all sockets with an address (struct sockaddr) belong to this user or root; None if there is none.

        On the loopback nobody else can send from it, except with the privilege to forge packets.
        """
        (family,) = struct.unpack_from("=H", name)
        port = int.from_bytes(name[2:4], "big")
        address = name[4:8] if family == socket.AF_INET else name[8:24]
        if not ipaddress.ip_address(address).is_loopback:
            return None
        self._look()
        aliases = {address, bytes(len(address)), bytes(16), _MAPPED + address}
        users = set().union(*(self._owners.get((each, port), set()) for each in aliases))
        return users <= {os.geteuid(), 0} if users else None

    def _look(self) -> None:
        now = time.monotonic()
        self._reads, self._at = min(_READS, self._reads + (now - self._at) * _READS), now
        if self._reads >= 1:
            self._reads -= 1
            self._owners = _read(self._kind)


def connection_owner(sock: socket.socket) -> int | None:
    """The user at the other end of a TCP connection on this machine, which the kernel finds by its addresses.

    None where the kernel does not say (sock_diag(7)), has no such socket, or the other end is gone already.
    """
    try:
        (there, port), (here, own) = sock.getpeername()[:2], sock.getsockname()[:2]
    except OSError:
        return None
    ends = [ipaddress.ip_address(each).packed.ljust(16, b"\0") for each in (there, here)]
    request = struct.pack("=BBBxI", sock.family, socket.IPPROTO_TCP, 0, _ANY)
    request += struct.pack(">HH", port, own) + b"".join(ends) + struct.pack("=III", 0, _ANY, _ANY)
    head = struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_ANSWER_S)
            kernel.send(head + request)
            answer = kernel.recv(4096)
    except OSError:
        return None
    if len(answer) < _USER_AT + 4 or struct.unpack_from("=H", answer, 4)[0] != _SOCK_DIAG_BY_FAMILY:
        return None
    return int(struct.unpack_from("=I", answer, _USER_AT)[0])


def _read(kind: Literal["udp", "tcp"]) -> Owners:
    owners: Owners = {}
    for table in _TABLES[kind]:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue  # no IPv6, or no /proc
        for fields in map(str.split, lines):
            if len(fields) > _FIELDS:
                owners.setdefault(_parse(fields[_LOCAL_FIELD]), set()).add(int(fields[_USER_FIELD]))
    return owners


def _parse(text: str) -> tuple[bytes, int]:
    """Parse an address, whose words the kernel writes in host byte order, and a port."""
    words, _, port = text.partition(":")
    raw = bytes.fromhex(words)
    return struct.pack(f"={len(raw) // 4}I", *struct.unpack(f">{len(raw) // 4}I", raw)), int(port, 16)
