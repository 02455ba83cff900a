# SPDX-License-Identifier: Apache-2.0
"""Packet captures in libpcap's format (pcap-savefile(5)), microseconds, Ethernet."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError

_HEAD: Final = struct.Struct("<IHHiIII")
_RECORD: Final = struct.Struct("<IIII")
_MAGIC: Final = 0xA1B2C3D4
_ETHERNET: Final = 1


class Writer:
    """A capture that grows; what was written is in the file at once.

    Raises:
        OfframpError: the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None
        self._file.write(_head())

    def write(self, us: int, frames: Iterable[bytes]) -> None:
        """Append frames that were seen at ``us`` microseconds."""
        self._file.write(b"".join(_record(us, frame) for frame in frames))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write(path: Path, frames: Iterable[tuple[int, bytes]]) -> None:
    """Write (time in microseconds, bytes) of each frame."""
    path.write_bytes(_head() + b"".join(_record(us, frame) for us, frame in frames))


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


def _head() -> bytes:
    return _HEAD.pack(_MAGIC, 2, 4, 0, 0, 65535, _ETHERNET)


def _record(us: int, frame: bytes) -> bytes:
    return _RECORD.pack(*divmod(us, 1_000_000), len(frame), len(frame)) + frame
