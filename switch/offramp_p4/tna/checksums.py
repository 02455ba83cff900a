# SPDX-License-Identifier: Apache-2.0
"""The checksum engines of Tofino's parsers and deparsers: one's complement sums of 16-bit words.

Sums are kept without carries: 2^16 is 1 modulo 0xFFFF, so the remainder is the sum with end-around carry.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.layout import CURSOR, FRAME, Memory
from offramp_p4.engine.packing import packed
from offramp_p4.source import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.engine.walk import Block
    from offramp_p4.tna.target import TnaTarget

_ONES = 0xFFFF


@dataclass(frozen=True, slots=True)
class Deposit:
    """A residual to be completed when the parser ends: what has been extracted since ``start`` is taken off."""

    total: int
    start: int
    into: int

    def complete(self, m: Memory) -> None:
        """Write the residual, if its state has been visited (``start`` counts from 1)."""
        if m[self.start]:
            extracted = words(m[FRAME][m[self.start] - 1 : m[CURSOR]])
            m[self.into] = (m[self.total] - extracted) % _ONES


def words(data: bytes) -> int:
    """The sum of the 16-bit words of ``data``; odd data is padded with a zero byte."""
    return sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) & 1)))


def update(data: bytes, zeros_as_ones: int) -> int:
    """The checksum of ``data`` (RFC 1071)."""
    total = words(data)
    folded = total % _ONES or (_ONES if total else 0)
    return (folded ^ _ONES) or (_ONES if zeros_as_ones else 0)


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Checksum", "add"): lambda g, e: _add(target, g, e, "+"),
        ("Checksum", "subtract"): lambda g, e: _add(target, g, e, "-"),
        ("Checksum", "verify"): lambda g, e: _verify(target, g, e),
        ("Checksum", "get"): lambda _, e: f"(m[{target.cell(instance(e))}] % {_ONES})",
        ("Checksum", "subtract_all_and_deposit"): lambda g, e: _deposit(target, g, e),
        ("Checksum", "update"): _update,
    }


def _add(target: TnaTarget, g: Generator, e: ir.ExternCall, sign: str) -> str:
    total = target.cell(instance(e))
    g.line(f"m[{total}] {sign}= {g.bind(words, 'words')}({packed(g, argument(e, 0))})")
    return "None"


def _verify(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """The error bit: the complement of the sum is not 0."""
    del g
    total = f"m[{target.cell(instance(e))}]"
    return f"(0 if {total} and {total} % {_ONES} == 0 else 1)"


def _deposit(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    field = argument(e, 0)
    into = g.layout.static(field)
    if into is None or field.type.slots != 1 or not lasts(field, target.gress.parsers, target.layout.shared):
        raise Unsupported(e.pos, "subtract_all_and_deposit into what is not a field of the parser's own results")
    start = target.cell((instance(e), into))
    target.deposits.append(Deposit(target.cell(instance(e)), start, into))
    g.line(f"m[{start}] = m[{CURSOR}] + 1")
    return "None"


def lasts(field: ir.Expr, parsers: Iterable[ir.ParserInstance], shared: Iterable[Block]) -> bool:
    """Whether a field lives in cells that are the same when the outermost parser ends."""
    while isinstance(field, ir.Member | ir.Element):
        field = field.base
    owners = [*parsers, *shared]
    return isinstance(field, ir.VarRef) and any(field.var in block.params for block in owners)


def _update(g: Generator, e: ir.ExternCall) -> str:
    last = e.args[1].expr if len(e.args) > 1 else None
    ones = g.value(last) if last is not None else "0"
    return f"{g.bind(update, 'update')}({packed(g, argument(e, 0))}, {ones})"
