# SPDX-License-Identifier: Apache-2.0
"""``isal:N``: N threads of this process like ``cpu:N``, with compression by Intel's ISA-L (Debian's libisal2).

Bytes are in zlib's format as everywhere: ISA-L writes and reads the deflate stream; header and checksum are added here.
The library is loaded where it is present. Its calls release Python's lock.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import threading
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from offramp.device import Message, Status
from offramp.leo.devices.cpu import CpuDevice, CpuOptions
from offramp.leo.devices.options import parse
from offramp.leo.functions.compress import COMPRESS, DECOMPRESS, MOST
from offramp.leo.functions.digest import SCRUB, digest
from offramp_base.errors import OfframpError

_STATE_BYTES: Final = 1 << 18
"""Bytes that hold either of the library's states, which are about 65 and 90 KB in version 2.30."""
_LEVEL_BYTES: Final = 1 << 21
"""Bytes of a level buffer, more than ``ISAL_DEF_LVL3_EXTRA_LARGE``."""
_HEADER: Final = b"\x78\x01"
_GROWTH: Final = 4096
_FINISHED: Final = 0
_GUESSES: Final = (4, 32, 1100)
"""Guesses for the expansion of decompressed data: few answers grow by more than the first, none by more than the
last."""


class _Deflate(ctypes.Structure):
    """The beginning of ``isal_zstream`` (igzip_lib.h)."""

    _fields_ = (
        ("next_in", ctypes.c_void_p),
        ("avail_in", ctypes.c_uint32),
        ("total_in", ctypes.c_uint32),
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint32),
        ("total_out", ctypes.c_uint32),
        ("hufftables", ctypes.c_void_p),
        ("level", ctypes.c_uint32),
        ("level_buf_size", ctypes.c_uint32),
        ("level_buf", ctypes.c_void_p),
        ("end_of_stream", ctypes.c_uint16),
        ("flush", ctypes.c_uint16),
        ("gzip_flag", ctypes.c_uint16),
        ("hist_bits", ctypes.c_uint16),
    )


class _Inflate(ctypes.Structure):
    """The beginning of ``inflate_state`` (igzip_lib.h)."""

    _fields_ = (
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint32),
        ("total_out", ctypes.c_uint32),
        ("next_in", ctypes.c_void_p),
        ("read_in", ctypes.c_uint64),
        ("avail_in", ctypes.c_uint32),
        ("read_in_length", ctypes.c_int32),
    )


@dataclass(frozen=True)
class IsalOptions:
    """Number of threads, of requests that may be outstanding, and ISA-L's level, 0 to 3."""

    threads: int = 1
    depth: int = 256
    level: int = 1


def open_device(options: str, name: str) -> IsalDevice:
    """The device of these options; the first may be ``threads`` alone."""
    return IsalDevice(parse(IsalOptions, options, f"isal:{options}", "threads"), name)


@cache
def library() -> ctypes.CDLL:
    """Load ISA-L.

    Raises:
        OfframpError: this machine has none.
    """
    name = ctypes.util.find_library("isal")
    if name is None:
        raise OfframpError("device isal: ISA-L is not installed: apt-get install libisal2")
    loaded = ctypes.CDLL(name)
    for function in ("isal_deflate_stateless", "isal_inflate_stateless"):
        getattr(loaded, function).restype = ctypes.c_int
    return loaded


class IsalState(threading.local):
    """ISA-L's states, separate for each thread."""

    def __init__(self, level: int) -> None:
        self._library, self._level = library(), level
        self._state = (ctypes.c_char * _STATE_BYTES)()
        self._tables = (ctypes.c_char * _LEVEL_BYTES)()
        self._out = (ctypes.c_char * 0)()

    def _room(self, size: int) -> Any:
        """Buffer for answers, of at least ``size`` bytes."""
        if len(self._out) < size:
            self._out = (ctypes.c_char * size)()
        return self._out

    def compress(self, message: bytes) -> bytes:
        """``message`` in zlib's format."""
        room = len(message) + len(message) // 8 + _GROWTH
        out = self._room(room)
        stream = _Deflate.from_buffer(self._state)
        self._library.isal_deflate_stateless_init(ctypes.byref(stream))
        stream.next_in, stream.avail_in = _address(message), len(message)
        stream.next_out, stream.avail_out = ctypes.addressof(out), room
        stream.level, stream.level_buf, stream.level_buf_size = (
            self._level,
            ctypes.addressof(self._tables),
            _LEVEL_BYTES if self._level else 0,
        )
        stream.end_of_stream = 1
        if self._library.isal_deflate_stateless(ctypes.byref(stream)) != _FINISHED:
            raise OfframpError(f"compress: ISA-L refuses {len(message)} bytes")
        packed = ctypes.string_at(out, stream.total_out)
        return _HEADER + packed + zlib.adler32(message).to_bytes(4, "big")

    def decompress(self, message: bytes) -> bytes:
        """``message`` decompressed.

        Raises:
            OfframpError: as :func:`offramp.leo.functions.compress.decompress`.
        """
        problem = f"decompress: {len(message)} bytes that are not one stream of zlib's format, of at most {MOST}"
        if len(message) < 8 or message[0] & 0x0F != 8 or message[1] & 0x20 or (message[0] * 256 + message[1]) % 31:
            raise OfframpError(problem)
        for guess in _GUESSES:
            room = min(guess * len(message) + _GROWTH, MOST)
            out = self._room(room)
            state = _Inflate.from_buffer(self._state)
            self._library.isal_inflate_init(ctypes.byref(state))
            state.next_in, state.avail_in = _address(message) + 2, len(message) - 6
            state.next_out, state.avail_out = ctypes.addressof(out), room
            status = self._library.isal_inflate_stateless(ctypes.byref(state))
            if status == _FINISHED:
                content = ctypes.string_at(out, state.total_out)
                if state.avail_in or zlib.adler32(content).to_bytes(4, "big") != message[-4:]:
                    raise OfframpError(problem)
                return content
            if room == MOST:
                break
        raise OfframpError(problem)


def _address(message: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(message), ctypes.c_void_p).value or 0


class IsalDevice(CpuDevice):
    """See the module; a :class:`offramp.device.Device`.

    Raises:
        OfframpError: no such library, or options out of range.
    """

    def __init__(self, options: IsalOptions, name: str = "isal") -> None:
        if not 0 <= options.level <= 3:
            raise OfframpError(f"device {name}: level {options.level}: expected 0 to 3")
        super().__init__(CpuOptions(options.threads, options.depth), name)
        self._engine = IsalState(options.level)
        engine = self._engine
        self._calls: dict[str, Any] = {
            COMPRESS: engine.compress,
            DECOMPRESS: engine.decompress,
            SCRUB: lambda message: digest(engine.decompress(message)),
        }

    def call(self, function: str, message: Message) -> tuple[Status, bytes]:
        """Status and answer of a function's request."""
        if function not in self._calls:
            return super().call(function, message)
        try:
            return Status.OK, self._calls[function](bytes(message))
        except OfframpError:
            return Status.FAILED, b""
