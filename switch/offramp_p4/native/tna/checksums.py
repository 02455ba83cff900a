# SPDX-License-Identifier: Apache-2.0
"""The checksum engines of Tofino's parsers and deparsers (see :mod:`offramp_p4.tna.checksums`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.native.core import field
from offramp_p4.native.emitter import BOOL_FALSE, Builder, Emitter
from offramp_p4.native.packing import packed
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CURSOR
from offramp_p4.native.runtime.tna.functions import complete, residue, sum_words
from offramp_p4.native.shape import bits_of, is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.tna.checksums import lasts
from offramp_p4.types import Type

if TYPE_CHECKING:
    from offramp_p4.native.tna.target import NativeTnaTarget


@dataclass(frozen=True, slots=True)
class NativeDeposit:
    """A residual to be completed when the parser ends: what has been extracted since ``start`` is taken off.

    ``total`` and ``start`` are offsets of words, ``into`` that of a scalar of type ``type``.
    """

    total: int
    start: int
    into: int
    type: Type

    def write(self, g: Emitter) -> None:
        """Write the residual, if its state has been visited (``start`` counts from 1)."""
        start = g.load_number(g.cell(self.start), 64)
        with g.when(g.b.icmp_unsigned("!=", start, i64(0))):
            first = g.b.sub(start, i64(1))
            size = g.b.sub(field(g, CURSOR.name), first)
            extracted = g.call(sum_words, g.at(g.pointer(SwitchMemory.frame), first), size)
            rest = g.call(residue, g.b.sub(g.load_number(g.cell(self.total), 64), extracted))
            bits = bits_of(self.type)
            assert bits is not None
            g.store(g.resize(rest, bits.width), g.cell(self.into), self.type)


def builders(target: NativeTnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Checksum", "add"): lambda g, e: _add(target, g, e),
        ("Checksum", "subtract"): lambda g, e: _add(target, g, e),
        ("Checksum", "verify"): lambda g, e: _verify(target, g, e),
        ("Checksum", "get"): lambda g, e: g.resize(g.call(residue, _total(target, g, e)), 16),
        ("Checksum", "subtract_all_and_deposit"): lambda g, e: _deposit(target, g, e),
        ("Checksum", "update"): _update,
    }


def _total(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    return g.load_number(g.cell(target.cell(instance(e))), 64)


def _sum(g: Emitter, data: ir.Expr) -> Value:
    filled = packed(g, data)
    return g.call(sum_words, filled.address, filled.size)


def _add(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    more, total = _sum(g, argument(e, 0)), _total(target, g, e)
    changed = g.b.add(total, more) if e.method == "add" else g.b.sub(total, more)
    g.store_number(changed, g.cell(target.cell(instance(e))), 64)
    return None


def _verify(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """The error bit: the complement of the sum is not 0."""
    total = _total(target, g, e)
    wrong = g.b.icmp_unsigned("!=", g.call(residue, total), i64(0))
    return g.b.or_(g.b.icmp_unsigned("==", total, i64(0)), wrong)


def _deposit(target: NativeTnaTarget, g: Emitter, e: ir.ExternCall) -> Value:
    place = argument(e, 0)
    into = g.layout.static(place)
    if into is None or not is_scalar(place.type) or not lasts(place, target.gress.parsers, target.layout.shared):
        raise Unsupported(e.pos, "subtract_all_and_deposit into what is not a field of the parser's own results")
    start = target.cell((instance(e), into))
    target.deposits.append(NativeDeposit(target.cell(instance(e)), start, into, place.type))
    g.store_number(g.b.add(field(g, CURSOR.name), i64(1)), g.cell(start), 64)
    return None


def _update(g: Emitter, e: ir.ExternCall) -> Value:
    last = e.args[1].expr if len(e.args) > 1 else None
    ones = g.value(last) if last is not None else BOOL_FALSE
    return g.resize(g.call(complete, _sum(g, argument(e, 0)), g.resize(ones, 64)), 16)
