# SPDX-License-Identifier: Apache-2.0
"""Requests to ethtool's ioctl, by the numbers in linux/ethtool.h and linux/sockios.h. Blind to what drivers do."""

from __future__ import annotations

import ctypes
import fcntl
import struct

import pytest

from offramp_base.errors import OfframpError
from offramp_base.ethtool import send_as_on_a_line

SIOCETHTOOL = 0x8946
STXCSUM, STSO, SGSO, SGRO = 0x17, 0x1F, 0x24, 0x2C


def test_four_offloads_are_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ioctl(_: object, request: int, argument: bytes) -> None:
        name, address = struct.unpack("16sQ16x", argument)
        asked.append((request, name.rstrip(b"\0"), *struct.unpack("2I", ctypes.string_at(address, 8))))

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    send_as_on_a_line("eth7")
    assert asked == [(SIOCETHTOOL, b"eth7", command, 0) for command in (STXCSUM, STSO, SGSO, SGRO)]


def test_an_interface_that_is_not_there() -> None:
    with pytest.raises(OfframpError, match="interface nobody0: cannot turn off transmit checksums: No such device"):
        send_as_on_a_line("nobody0")
