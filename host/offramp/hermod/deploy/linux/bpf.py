# SPDX-License-Identifier: Apache-2.0
"""Programs and maps of the kernel's BPF, by its system call (bpf(2), linux/bpf.h): what a guard needs and no more."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from offramp_base.errors import OfframpError

NAME: Final = b"offramp_hermod"
_SYSCALL: Final = {"x86_64": 321, "aarch64": 280}
_MAP_CREATE, _LOOKUP, _UPDATE, _NEXT_KEY, _PROG_LOAD, _ATTACH, _DETACH = 0, 1, 2, 4, 5, 8, 9
_PROG_BY_ID, _MAP_BY_ID, _INFO, _QUERY = 13, 14, 15, 16
_HASH, _SCHED_CLS, _TCX_EGRESS = 1, 3, 47
_MOST_PROGRAMS: Final = 64


class BpfError(OfframpError):
    """The kernel refused.

    Attributes:
        number: errno.
    """

    def __init__(self, what: str, number: int) -> None:
        reason = os.strerror(number)
        if number == errno.EPERM:
            reason = "no permission; expected root or CAP_BPF and CAP_NET_ADMIN"
        elif number in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP) and "attach" in what:
            reason = f"{reason}; expected Linux 6.6 or later with BPF at interfaces (TCX)"
        super().__init__(f"BPF: cannot {what}: {reason}")
        self.number = number


def _call(command: int, attributes: bytes, what: str) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OfframpError(f"BPF on {platform.machine()}: expected one of {', '.join(_SYSCALL)}")
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(number, command, buffer, 128)
    if result < 0:
        raise BpfError(what, ctypes.get_errno())
    return result


@contextmanager
def opened(descriptor: int) -> Iterator[int]:
    """A descriptor that is closed in the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class WordMap:
    """A map from 64-bit words to 64-bit words."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def new(cls, entries: int) -> WordMap:
        """An empty map with room for ``entries`` entries.

        Raises:
            OfframpError: the kernel refuses.
        """
        return cls(_call(_MAP_CREATE, struct.pack("7I16s", _HASH, 8, 8, entries, 0, 0, 0, NAME), "make a map"))

    def put(self, key: int, value: int) -> None:
        """Set a word.

        Raises:
            OfframpError: the map is full.
        """
        held = struct.pack("<2Q", key, value)
        self._element(_UPDATE, held, "write a map")

    def items(self) -> dict[int, int]:
        """All entries of the map."""
        entries: dict[int, int] = {}
        key: int | None = None
        while (key := self._after(key)) is not None:
            entries[key] = struct.unpack("<Q", self._element(_LOOKUP, struct.pack("<2Q", key, 0), "read a map")[8:])[0]
        return entries

    def _after(self, key: int | None) -> int | None:
        memory = ctypes.create_string_buffer(struct.pack("<2Q", key or 0, 0), 16)
        at = ctypes.addressof(memory)
        attributes = struct.pack("I4xQQQ", self.descriptor, 0 if key is None else at, at + 8, 0)
        try:
            _call(_NEXT_KEY, attributes, "read a map")
        except BpfError as error:
            if error.number == errno.ENOENT:
                return None
            raise
        result: int = struct.unpack("<Q", memory.raw[8:])[0]
        return result

    def _element(self, command: int, held: bytes, what: str) -> bytes:
        memory = ctypes.create_string_buffer(held, 16)
        at = ctypes.addressof(memory)
        _call(command, struct.pack("I4xQQQ", self.descriptor, at, at + 8, 0), what)
        return memory.raw


def load(instructions: Sequence[bytes]) -> int:
    """A program for packets at an interface; its descriptor.

    Raises:
        OfframpError: the kernel refuses.
    """
    code = ctypes.create_string_buffer(b"".join(instructions))
    license_ = ctypes.create_string_buffer(b"Apache-2.0")
    count = sum(len(each) for each in instructions) // 8
    pointers = (ctypes.addressof(code), ctypes.addressof(license_))
    return _call(_PROG_LOAD, struct.pack("2I2Q2IQ2I16s", _SCHED_CLS, count, *pointers, 0, 0, 0, 0, 0, NAME), "load")


def attach(index: int, program: int, replaced: int | None = None) -> None:
    """Run a program on what leaves by an interface, after those that are there, or in place of one of them.

    Raises:
        OfframpError: the kernel refuses, or is too old.
    """
    flags = 0 if replaced is None else 1 << 2
    _call(_ATTACH, struct.pack("5I", index, program, _TCX_EGRESS, flags, replaced or 0), "attach")


def detach(index: int, program: int) -> None:
    """Run it no more.

    Raises:
        OfframpError: the kernel refuses.
    """
    _call(_DETACH, struct.pack("3I", index, program, _TCX_EGRESS), "detach")


def attached(index: int) -> int | None:
    """Descriptor of our program at an interface; None: there is none, or the kernel has no such programs.

    Raises:
        OfframpError: no permission.
    """
    numbers = (ctypes.c_uint32 * _MOST_PROGRAMS)()
    query = struct.pack("4IQ2I", index, _TCX_EGRESS, 0, 0, ctypes.addressof(numbers), _MOST_PROGRAMS, 0)
    try:
        _call(_QUERY, query, "attach")
    except BpfError as error:
        if error.number in (errno.EINVAL, errno.ENOENT, errno.ENOSYS, errno.EPERM):
            return None
        raise
    for number in filter(None, numbers):
        program = _call(_PROG_BY_ID, struct.pack("I", number), "open a program")
        if _info(program)[64:80].rstrip(b"\0") == NAME:
            return program
        os.close(program)
    return None


def words_of(program: int) -> WordMap:
    """The map of our program.

    Raises:
        OfframpError: the kernel refuses.
    """
    number = ctypes.c_uint32()
    _info(program, maps=(1, ctypes.addressof(number)))
    return WordMap(_call(_MAP_BY_ID, struct.pack("I", number.value), "open a map"))


def _info(program: int, maps: tuple[int, int] = (0, 0)) -> bytes:
    memory = ctypes.create_string_buffer(struct.pack("=52xIQ16x", *maps), 80)
    _call(_INFO, struct.pack("2IQ", program, 80, ctypes.addressof(memory)), "ask about a program")
    return memory.raw
