# SPDX-License-Identifier: Apache-2.0
"""Addresses of stream sockets as people write them: ``HOST:PORT``, ``[IPV6]:PORT`` or ``unix:PATH``."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Any, Final

from offramp_base.errors import OfframpError

_UNIX: Final = "unix:"
_PATH_BYTES: Final = 107  # of sockaddr_un, without its terminating zero
_LAST_PORT: Final = 0xFFFF


@dataclass(frozen=True)
class Address:
    """A resolved address.

    Attributes:
        family: AF_UNIX, AF_INET or AF_INET6.
        where: the argument of ``bind`` and ``connect``.
    """

    family: socket.AddressFamily
    where: Any

    @property
    def local(self) -> bool:
        """Whether only processes of this machine reach it."""
        if self.family == socket.AF_UNIX:
            return True
        address = ipaddress.ip_address(self.where[0].partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback

    def __str__(self) -> str:
        if self.family == socket.AF_UNIX:
            return f"{_UNIX}{self.where}"
        host, port = self.where[:2]
        return f"[{host}]:{port}" if self.family == socket.AF_INET6 else f"{host}:{port}"


def parse_address(text: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> Address:
    """Resolve an address; a host name takes the first address that the system names for it.

    Raises:
        OfframpError: not of a known form, a path too long for a socket, a port beyond 65535, or no such host.
    """
    if text.startswith(_UNIX):
        path = text.removeprefix(_UNIX)
        if not path or "\0" in path or len(path.encode(errors="surrogateescape")) > _PATH_BYTES:
            raise OfframpError(f"address {text!r}: expected unix:PATH with a path of at most {_PATH_BYTES} bytes")
        return Address(socket.AF_UNIX, path)
    host, colon, port = text.rpartition(":")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) <= len(str(_LAST_PORT)) else _LAST_PORT + 1
    if not colon or not host or "\0" in host or number > _LAST_PORT:
        raise OfframpError(f"address {text!r}: expected HOST:PORT, [IPV6]:PORT or unix:PATH")
    try:
        answers = socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), number, type=kind)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a host name"
        raise OfframpError(f"address {text!r}: {reason}") from None
    return Address(answers[0][0], answers[0][4])
