# SPDX-License-Identifier: Apache-2.0
"""The BPF program of a guard: packets whose socket's cgroup may not use their DSCP become best effort.

One map has the DSCPs, as bit masks, by cgroup id, and at two keys that no cgroup has, what is guarded and how many
packets were re-marked. A child of a cgroup may what its ancestors may. Instructions as linux/bpf.h has them.
"""

from __future__ import annotations

import struct
from typing import Final

COUNT: Final = 0
GUARDED: Final = (1 << 64) - 1
_LEVELS: Final = 8
"""Deepest level below the root at which a job's cgroup may be."""
_R0, _R1, _R2, _R3, _R4, _R5, _SKB, _CLASS, _BIT, _OLD, _FP = range(11)
_LOOKUP, _STORE, _CHECKSUM, _LOAD, _ANCESTOR = 1, 9, 10, 26, 83
_IPV4, _IPV6 = 0x0008, 0xDD86  # as skb->protocol, in network order on a little-endian machine
_ETHERNET, _CHECKSUM_AT = 14, 24
_NEXT: Final = -1
_MEMORY, _KEY = -8, -16


class _Assembler:
    """Instructions whose jumps name labels."""

    def __init__(self) -> None:
        self._code: list[tuple[bytes, str | None]] = []
        self._labels: dict[str, int] = {}

    def op(self, code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0, jump: str | None = None) -> None:
        self._code.append((struct.pack("<BBhi", code, of << 4 | to, offset, value), jump))

    def label(self, name: str) -> None:
        self._labels[name] = len(self._code)

    def move(self, to: int, of: int) -> None:
        self.op(0xBF, to, of)

    def set(self, to: int, value: int) -> None:
        self.op(0xB7, to, value=value)

    def alu(self, code: int, to: int, value: int) -> None:
        self.op(code | 0x07, to, value=value)

    def call(self, helper: int) -> None:
        self.op(0x85, value=helper)

    def map(self, to: int, descriptor: int) -> None:
        self.op(0x18, to, 1, value=descriptor)
        self.op(0)

    def address(self, to: int, offset: int) -> None:
        self.move(to, _FP)
        self.alu(0x00, to, offset)

    def assembled(self) -> list[bytes]:
        instructions = []
        for at, (code, jump) in enumerate(self._code):
            away = 0 if jump is None else self._labels[jump] - at - 1
            instructions.append(code[:2] + struct.pack("<h", away) + code[4:] if jump else code)
        return instructions


_AND, _LSH, _RSH = 0x50, 0x60, 0x70
_EQUAL, _UNEQUAL, _ALWAYS = 0x15, 0x55, 0x05


def guard_program(words: int) -> list[bytes]:
    """The program; ``words``: descriptor of its map."""
    a = _Assembler()
    a.move(_SKB, _R1)
    a.op(0x61, _OLD, _SKB, 16)  # protocol
    a.op(_EQUAL, _OLD, value=_IPV4, jump="ip")
    a.op(_UNEQUAL, _OLD, value=_IPV6, jump="pass")
    a.label("ip")
    a.move(_R1, _SKB)
    a.set(_R2, _ETHERNET)
    a.address(_R3, _MEMORY)
    a.set(_R4, 2)
    a.call(_LOAD)
    a.op(_UNEQUAL, _R0, value=0, jump="pass")
    a.op(0x71, _BIT, _FP, _MEMORY + 1)
    a.op(_EQUAL, _OLD, value=_IPV4, jump="classified")
    a.op(0x71, _R1, _FP, _MEMORY)
    a.alu(_AND, _R1, 0xF)
    a.alu(_LSH, _R1, 4)
    a.alu(_RSH, _BIT, 4)
    a.op(0x4F, _BIT, _R1)
    a.label("classified")
    a.alu(_RSH, _BIT, 2)
    a.op(0x7A, _FP, 0, _KEY, -1)
    _permitted(a, words, "guarded", "pass")
    a.op(_ALWAYS, jump="pass")
    a.label("guarded")
    for level in range(_LEVELS):
        a.move(_R1, _SKB)
        a.set(_R2, level)
        a.call(_ANCESTOR)
        a.op(_EQUAL, _R0, value=0, jump="remark")
        a.op(0x7B, _FP, _R0, _KEY)
        _permitted(a, words, "pass", f"level{level}")
        a.label(f"level{level}")
    a.label("remark")
    _remark(a)
    a.op(0x7A, _FP, 0, _KEY, COUNT)
    a.map(_R1, words)
    a.address(_R2, _KEY)
    a.call(_LOOKUP)
    a.op(_EQUAL, _R0, value=0, jump="pass")
    a.set(_R1, 1)
    a.op(0xDB, _R0, _R1)  # atomic add
    a.label("pass")
    a.set(_R0, _NEXT)
    a.op(0x95)
    return a.assembled()


def _permitted(a: _Assembler, words: int, yes: str, no: str) -> None:
    """Jump to ``yes`` if the mask at the key has the packet's DSCP, to ``no`` if there is none."""
    a.map(_R1, words)
    a.address(_R2, _KEY)
    a.call(_LOOKUP)
    a.op(_EQUAL, _R0, value=0, jump=no)
    a.op(0x79, _R1, _R0)
    a.op(0x7F, _R1, _BIT)
    a.alu(_AND, _R1, 1)
    a.op(_UNEQUAL, _R1, value=0, jump=yes)


def _remark(a: _Assembler) -> None:
    """DSCP 0; the marks of congestion stay (RFC 3168)."""
    a.op(0x69, _CLASS, _FP, _MEMORY)  # the word as it was
    a.op(0x71, _R1, _FP, _MEMORY + 1)
    a.op(_EQUAL, _OLD, value=_IPV4, jump="ipv4")
    a.op(0x71, _R2, _FP, _MEMORY)
    a.alu(_AND, _R2, 0xF0)
    a.op(0x73, _FP, _R2, _MEMORY)
    a.alu(_AND, _R1, 0x3F)
    a.op(0x73, _FP, _R1, _MEMORY + 1)
    a.op(_ALWAYS, jump="store")
    a.label("ipv4")
    a.alu(_AND, _R1, 0x03)
    a.op(0x73, _FP, _R1, _MEMORY + 1)
    a.move(_R1, _SKB)
    a.set(_R2, _CHECKSUM_AT)
    a.move(_R3, _CLASS)
    a.op(0x69, _R4, _FP, _MEMORY)
    a.set(_R5, 2)
    a.call(_CHECKSUM)
    a.label("store")
    a.move(_R1, _SKB)
    a.set(_R2, _ETHERNET)
    a.address(_R3, _MEMORY)
    a.set(_R4, 2)
    a.set(_R5, 0)
    a.call(_STORE)
