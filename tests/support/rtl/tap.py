# SPDX-License-Identifier: Apache-2.0
"""A TAP device as a file of frames, and a wire on which frames get lost, come twice and overtake each other."""

from __future__ import annotations

import fcntl
import os
import random
import struct
from typing import Final

_TUNSETIFF: Final = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000


def open_tap(name: str) -> int:
    """The descriptor, which never blocks, of the TAP device of this name in this network namespace."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return descriptor


class BadWire:
    """Frames in, frames out: a share of them lost, twice, or behind the next one."""

    def __init__(self, seed: int, share: float) -> None:
        self._dice, self._share = random.Random(seed), share
        self._held: list[bytes] = []
        self.lost = self.twice = self.overtaken = 0

    def carry(self, frame: bytes) -> list[bytes]:
        """Frames that come out when this one goes in."""
        carried = []
        chance = self._dice.random()
        if chance < self._share:
            self.lost += 1
        elif chance < 2 * self._share:
            self.twice += 1
            carried = [frame, frame]
        elif chance < 3 * self._share:
            self.overtaken += 1
            self._held.append(frame)
            return []
        else:
            carried = [frame]
        carried += self._held
        self._held.clear()
        return carried


def wire_counts(*wires: BadWire) -> dict[str, int]:
    """Fate of the frames on these wires together."""
    return {name: sum(getattr(wire, name) for wire in wires) for name in ("lost", "twice", "overtaken")}
