# SPDX-License-Identifier: Apache-2.0
"""The RoCE v2 device that has an IP address: the kernel's tables of global identifiers (GIDs)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError

DEVICES: Final = Path("/sys/class/infiniband")
_ROCE_V2: Final = "RoCE v2"


@dataclass(frozen=True, slots=True)
class GidPlace:
    """Place of an address among a machine's RDMA devices.

    Attributes:
        device: name of the device, such as ``mlx5_0``.
        port: port of the device, from 1.
        index: index in the port's table of GIDs.
    """

    device: str
    port: int
    index: int


def gid_of(address: str) -> bytes:
    """The GID of an IP address on RoCE v2, 16 bytes: the IPv6 address, or the IPv4 address mapped into one."""
    parsed = ipaddress.ip_address(address)
    return parsed.packed if parsed.version == 6 else bytes(10) + b"\xff\xff" + parsed.packed


def find_gid(address: str, devices: Path = DEVICES) -> GidPlace:
    """The device that sends RoCE v2 packets from an address.

    Raises:
        OfframpError: there is none.
    """
    wanted = gid_of(address)
    for device in sorted(devices.iterdir()) if devices.is_dir() else ():
        for port in sorted((device / "ports").iterdir(), key=lambda p: int(p.name)):
            for entry in sorted((port / "gids").iterdir(), key=lambda p: int(p.name)):
                kind = _read(port / "gid_attrs/types" / entry.name)
                if kind == _ROCE_V2 and ipaddress.ip_address(_read(entry)).packed == wanted:
                    return GidPlace(device.name, int(port.name), int(entry.name))
    names = ", ".join(sorted(d.name for d in devices.iterdir())) if devices.is_dir() else ""
    here = f"the devices are {names}" if names else "this machine has no RDMA device"
    raise OfframpError(f"rdma: no RoCE v2 device has the address {address}: {here}")


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:  # an entry of a table that is empty
        return ""
