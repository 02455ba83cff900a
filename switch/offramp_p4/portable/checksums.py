# SPDX-License-Identifier: Apache-2.0
"""``Checksum`` and ``InternetChecksum``: what they have gathered is a cell of the packet, 0 at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import constructor, ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.packing import packed
from offramp_p4.portable import hashing
from offramp_p4.portable.functions import result_mask

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.portable.target import PortableTarget

_ONES: Final = 0xFFFF


def fold(total: int) -> int:
    """A sum of 16-bit words with its carries added at the end; 0 only of nothing but zeros."""
    return total % _ONES or (_ONES if total else 0)


def add(total: int, data: bytes) -> int:
    """The one's complement sum of ``total`` and the 16-bit words of ``data``; odd data is padded with a zero byte."""
    return fold(total + int.from_bytes(data + b"\0" * (len(data) & 1), "big"))  # 2^16 is 1 modulo 0xFFFF


def subtract(total: int, data: bytes) -> int:
    """The sum of ``total`` and the complements of the words of ``data`` (RFC 1624)."""
    words = (len(data) + 1) // 2
    return fold(total + (1 << 16 * words) - 1 - int.from_bytes(data + b"\0" * (len(data) & 1), "big"))


def builders(target: PortableTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""

    def cell(e: ir.ExternCall) -> str:
        return f"m[{target.cell(instance(e))}]"

    def clear(g: Generator, e: ir.ExternCall) -> str:
        g.line(f"{cell(e)} = 0")
        return "None"

    def update(g: Generator, e: ir.ExternCall) -> str:
        g.line(f"{cell(e)} = ({cell(e)} or b'') + {packed(g, argument(e, 0))}")
        return "None"

    def get(g: Generator, e: ir.ExternCall) -> str:
        function = hashing.algorithm(constructor.member(instance(e), "hash"))
        return f"({g.bind(function, 'checksum')}({cell(e)} or b'') & {result_mask(e)})"

    def sum_(g: Generator, e: ir.ExternCall) -> str:
        function = g.bind(add if e.method == "add" else subtract, e.method)
        g.line(f"{cell(e)} = {function}({cell(e)}, {packed(g, argument(e, 0))})")
        return "None"

    def set_state(g: Generator, e: ir.ExternCall) -> str:
        g.line(f"{cell(e)} = {g.value(argument(e, 0))}")
        return "None"

    return {
        ("Checksum", "clear"): clear,
        ("Checksum", "update"): update,
        ("Checksum", "get"): get,
        ("InternetChecksum", "clear"): clear,
        ("InternetChecksum", "add"): sum_,
        ("InternetChecksum", "subtract"): sum_,
        ("InternetChecksum", "get"): lambda _, e: f"({cell(e)} ^ {_ONES})",
        ("InternetChecksum", "get_state"): lambda _, e: cell(e),
        ("InternetChecksum", "set_state"): set_state,
    }
