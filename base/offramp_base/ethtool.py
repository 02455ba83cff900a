# SPDX-License-Identifier: Apache-2.0
"""Offload settings of a network interface, changed by the ioctl that ethtool uses."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from typing import Final

from offramp_base.errors import OfframpError

_SIOCETHTOOL: Final = 0x8946
_OFFLOADS: Final = {"transmit checksums": 0x17, "TSO": 0x1F, "GSO": 0x24, "GRO": 0x2C}
"""Commands of ethtool (linux/ethtool.h)."""


def send_as_on_a_line(name: str) -> None:
    """Make an interface of this thread's namespace send frames as a wire would carry them: unmerged, with checksums.

    Raises:
        OfframpError: the kernel refuses.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for what, command in _OFFLOADS.items():
            value = ctypes.create_string_buffer(struct.pack("2I", command, 0), 8)
            request = struct.pack("16sQ16x", name.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(probe, _SIOCETHTOOL, request)
            except OSError as error:
                raise OfframpError(f"interface {name}: cannot turn off {what}: {error.strerror}") from None
