# SPDX-License-Identifier: Apache-2.0
"""The program that hands an interface's frames to AF_XDP sockets, assembled and loaded by bpf(2)."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from typing import Final, Self

from offramp_base.errors import OfframpError

# <asm/unistd.h>
_SYSCALL: Final = {"x86_64": 321, "aarch64": 280}
# <linux/bpf.h>: commands, a type of map, a type of program, a type of attachment
_MAP_CREATE, _MAP_UPDATE_ELEM, _PROG_LOAD, _LINK_CREATE = 0, 2, 5, 28
_MAP_TYPE_XSKMAP, _PROG_TYPE_XDP, _XDP = 17, 6, 37
# RFC 9669: operations of the instructions used
_LDX_MEM_W, _LD_IMM_DW, _MOV64_IMM, _CALL, _EXIT = 0x61, 0x18, 0xB7, 0x85, 0x95
_PSEUDO_MAP_FD, _REDIRECT_MAP, _XDP_PASS, _RX_QUEUE_INDEX = 1, 51, 2, 16
# <linux/if_link.h>
MODES: Final = {"generic": 1 << 1, "native": 1 << 2}
"""Flags for where the program runs: in the kernel's common receive path, or in the driver."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class Redirect:
    """An XDP program on an interface that redirects the frames of a queue to the socket that :meth:`attach` gives it.

    Frames of other queues pass to the kernel. The program leaves the interface when this is closed or the process
    ends.

    Args:
        index: index of the interface.
        queues: number of the interface's receive queues.
        mode: one of :data:`MODES`.

    Raises:
        OSError: no permission, another XDP program is there, or the driver has no such mode.
        OfframpError: a machine whose system calls we do not know.
    """

    def __init__(self, index: int, queues: int, mode: str) -> None:
        self._descriptors: list[int] = []
        try:
            self._map = self._keep(_bpf(_MAP_CREATE, struct.pack("5I", _MAP_TYPE_XSKMAP, 4, 4, queues, 0)))
            program = self._keep(_load(_redirecting(self._map)))
            self._keep(_bpf(_LINK_CREATE, struct.pack("4I", program, index, _XDP, MODES[mode])))
        except OSError:
            self.close()
            raise

    def attach(self, queue: int, descriptor: int) -> None:
        """Redirect what comes in on ``queue`` to a bound AF_XDP socket."""
        key, value = ctypes.c_uint32(queue), ctypes.c_uint32(descriptor)
        addresses = ctypes.addressof(key), ctypes.addressof(value)
        _bpf(_MAP_UPDATE_ELEM, struct.pack("I4xQQQ", self._map, *addresses, 0))

    def close(self) -> None:
        """Take the program off the interface."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor


def _redirecting(map_descriptor: int) -> bytes:
    """``return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)`` as machine code."""
    return b"".join(
        (
            _instruction(_LDX_MEM_W, 2, 1, _RX_QUEUE_INDEX, 0),
            _instruction(_LD_IMM_DW, 1, _PSEUDO_MAP_FD, 0, map_descriptor),
            _instruction(0, 0, 0, 0, 0),  # upper half of the address
            _instruction(_MOV64_IMM, 3, 0, 0, _XDP_PASS),
            _instruction(_CALL, 0, 0, 0, _REDIRECT_MAP),
            _instruction(_EXIT, 0, 0, 0, 0),
        )
    )


def _instruction(code: int, dst: int, src: int, offset: int, immediate: int) -> bytes:
    return struct.pack("BBhi", code, dst | src << 4, offset, immediate)


def _load(code: bytes) -> int:
    text, license_ = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"Apache-2.0")
    # union bpf_attr: type, count, instructions, licence, log level, size and address, kernel version, flags, name …
    head = struct.pack(
        "IIQQIIQII", _PROG_TYPE_XDP, len(code) // 8, ctypes.addressof(text), ctypes.addressof(license_), 0, 0, 0, 0, 0
    )
    return _bpf(_PROG_LOAD, head + b"offramp".ljust(16, b"\0"))


def _bpf(command: int, attributes: bytes) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OfframpError(f"AF_XDP: bpf(2) on {platform.machine()} is unknown, expected {' or '.join(_SYSCALL)}")
    result: int = _LIBC.syscall(
        ctypes.c_long(number), ctypes.c_long(command), ctypes.c_char_p(attributes), ctypes.c_long(len(attributes))
    )
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
