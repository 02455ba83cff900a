# SPDX-License-Identifier: Apache-2.0
"""Packet captures of Ethernet in libpcap's format (pcap-savefile(5)): written little-endian and in microseconds."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError

_HEAD: Final = struct.Struct("<IHHiIII")
_RECORD: Final = struct.Struct("<IIII")
_MAGIC: Final = 0xA1B2C3D4
_MAGIC_NS: Final = 0xA1B23C4D
_MAGIC_NG: Final = b"\x0a\x0d\x0d\x0a"
_ETHERNET: Final = 1
_NO_LINK: Final = 0
_LINK_TYPE: Final = 0x03FFFFFF
"""Bits of the last field that say what kind of link it was; those above are about a frame check sequence."""


class CaptureWriter:
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


def size_of(frames: Iterable[bytes], files: int = 1) -> int:
    """Bytes of ``files`` captures that together hold these frames."""
    return files * _HEAD.size + sum(_RECORD.size + len(frame) for frame in frames)


def read(path: Path, *, of_bmv2: bool = False) -> list[tuple[int, bytes]]:
    """The frames of a capture that may still be growing, with their times in microseconds.

    Nothing of a file that is not there yet, or has no complete head; an incomplete last frame is left out.

    Args:
        path: path of the file.
        of_bmv2: whether bmv2 may have written it, which says of its Ethernet frames that they are of no link.

    Raises:
        OfframpError: it cannot be read, is of another format, or a capture of another link than Ethernet.
    """
    try:
        data = path.read_bytes() if path.exists() else b""
    except (OSError, ValueError) as error:
        raise OfframpError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) < _HEAD.size:
        return []
    order, unit = _order_and_unit(path, data)
    link = struct.unpack_from(order + "I", data, 20)[0] & _LINK_TYPE
    if link != _ETHERNET and not (of_bmv2 and link == _NO_LINK):
        raise OfframpError(f"{path}: expected a capture of Ethernet frames")
    record = struct.Struct(order + "IIII")
    frames, at = [], _HEAD.size
    while at + record.size <= len(data):
        seconds, part, size, _ = record.unpack_from(data, at)
        at += record.size
        if at + size > len(data):
            break
        frames.append((seconds * 1_000_000 + part // unit, data[at : at + size]))
        at += size
    return frames


def _order_and_unit(path: Path, data: bytes) -> tuple[str, int]:
    """Byte order of a capture's numbers, and how many of its units of time make a microsecond."""
    for order in "<>":
        magic = struct.unpack_from(order + "I", data)[0]
        if magic in (_MAGIC, _MAGIC_NS):
            return order, 1 if magic == _MAGIC else 1000
    if data.startswith(_MAGIC_NG):
        raise OfframpError(f"{path}: is in the format pcapng; expected pcap (editcap -F pcap converts it)")
    raise OfframpError(f"{path}: expected a capture in the format pcap")


def _head() -> bytes:
    return _HEAD.pack(_MAGIC, 2, 4, 0, 0, 65535, _ETHERNET)


def _record(us: int, frame: bytes) -> bytes:
    return _RECORD.pack(*divmod(us, 1_000_000), len(frame), len(frame)) + frame
