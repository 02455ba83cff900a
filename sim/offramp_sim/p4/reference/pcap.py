"""Packet captures in libpcap's format (pcap-savefile(5)), microseconds, Ethernet."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_HEAD: Final = struct.Struct("<IHHiIII")
_RECORD: Final = struct.Struct("<IIII")
_MAGIC: Final = 0xA1B2C3D4
_ETHERNET: Final = 1


def write(path: Path, frames: Iterable[tuple[int, bytes]]) -> None:
    """Write (time in microseconds, bytes) of each frame."""
    records = [_RECORD.pack(*divmod(us, 1_000_000), len(frame), len(frame)) + frame for us, frame in frames]
    path.write_bytes(_HEAD.pack(_MAGIC, 2, 4, 0, 0, 65535, _ETHERNET) + b"".join(records))


def read(path: Path) -> list[tuple[int, bytes]]:
    """The frames of a capture that may still be growing: an incomplete last one is left out."""
    data = path.read_bytes() if path.exists() else b""
    frames, at = [], _HEAD.size
    while at + _RECORD.size <= len(data):
        seconds, us, size, _ = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if at + size > len(data):
            break
        frames.append((seconds * 1_000_000 + us, data[at : at + size]))
        at += size
    return frames
