# SPDX-License-Identifier: Apache-2.0
"""The address at which other hosts reach this one."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import socket
import struct
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.transport.interface import interface_index

_SIOCGIFADDR: Final = 0x8915


def local_address(where: str | None = None) -> str:
    """Address of an interface, or the address itself; by default that of GLOO_SOCKET_IFNAME, or towards MASTER_ADDR.

    Raises:
        OfframpError: the interface does not exist, or has no address.
    """
    where = where or os.environ.get("GLOO_SOCKET_IFNAME")
    if where is None:
        return _towards(os.environ.get("MASTER_ADDR", "127.0.0.1"))
    try:
        return str(ipaddress.ip_address(where))
    except ValueError:
        return _of_interface(where)


def _towards(host: str) -> str:
    try:
        kind, *_, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise OfframpError(f"MASTER_ADDR {host}: no route: {error.strerror}") from None


def _of_interface(name: str) -> str:
    interface_index(name)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            packed = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("16s24x", name.encode()[:15]))
        except OSError:
            packed = b""
    if packed:
        return socket.inet_ntoa(packed[20:24])
    for line in Path("/proc/net/if_inet6").read_text(encoding="ascii").splitlines():
        raw, _, _, scope, _, device = line.split()
        if device == name and scope in ("00", "10"):  # global, and the loopback's
            return str(ipaddress.IPv6Address(bytes.fromhex(raw)))
    raise OfframpError(f"interface {name}: has no address")


def interface_towards(host: str) -> str | None:
    """The interface whose address other machines see on the way to ``host``; None if it has no interface of its own.

    Raises:
        OfframpError: there is no route to the host.
    """
    address = _towards(host)
    for _, name in socket.if_nameindex():
        try:
            if _of_interface(name) == address:
                return name
        except OfframpError:
            continue
    return None
