# SPDX-License-Identifier: Apache-2.0
"""Hashes, random numbers and the functions of TNA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import constructor, ir
from offramp_p4.engine import bits, lvalues
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.packing import number
from offramp_p4.source import Unsupported
from offramp_p4.tna import hashing
from offramp_p4.tna.metadata import UNSET_PORT
from offramp_p4.tna.symmetric import pairs_of
from offramp_p4.types import Bits, Header, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.target import TnaTarget


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Hash", "get"): lambda g, e: _hash(target, g, instance(e), argument(e, 0)),
        ("Random", "get"): lambda g, e: _random(target, g, e),
        ("", "max"): _extreme,
        ("", "min"): _extreme,
        ("", "funnel_shift_right"): _funnel_shift,
        ("", "invalidate"): lambda g, e: _invalidate(target, g, e),
        ("", "is_validated"): lambda g, e: _is_validated(target, g, e),
        ("", "sizeInBits"): lambda g, e: _size(g, e, 1),
        ("", "sizeInBytes"): lambda g, e: _size(g, e, 8),
    }


def _hash(target: TnaTarget, g: Generator, i: ir.ExternInstance, data: ir.Expr, *owners: ir.ExternInstance) -> str:
    text, size = number(g, data)
    key = (i, size, pairs_of(i, data, *owners))
    if key not in g.memo:
        g.memo[key] = g.bind(hashing.hash_of(i, size, target.seed, key[2]), "hash")
    return f"{g.memo[key]}({text})"


def selector_keys(table: ir.MatchTable) -> tuple[ir.ExternInstance, ir.Expr, ir.ExternInstance] | None:
    """The Hash of an action selector, the ``selector`` keys that it gets, and the selector; None without one."""
    i = table.properties.get("implementation")
    if not isinstance(i, ir.ExternInstance) or i.extern != "ActionSelector":
        return None
    keys = [k.expr for k in table.keys if k.match_kind == "selector"]
    function = constructor.argument(i, "hash")
    if not isinstance(function, ir.ExternInstance) or not keys:
        raise Unsupported(table.pos, f"table {table.name} with an action selector but without selector keys")
    return function, ir.Compose(parts=keys, type=keys[0].type, pos=table.pos), i


def selector_hash(target: TnaTarget, g: Generator, table: ir.MatchTable) -> str:
    """Text of the hash over the ``selector`` keys of a table; "0" without an action selector."""
    selection = selector_keys(table)
    return "0" if selection is None else _hash(target, g, *selection)


def _random(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    return f"{g.bind(target.random, 'random')}.getrandbits({hashing.width_of(instance(e))})"


def _extreme(g: Generator, e: ir.ExternCall) -> str:
    return f"{e.method}({g.value(argument(e, 0))}, {g.value(argument(e, 1))})"


def _funnel_shift(g: Generator, e: ir.ExternCall) -> str:
    into = argument(e, 0)
    at = lvalues.lvalue(g, into)
    t = strip(into.type)
    if not isinstance(t, Bits):
        raise Unsupported(e.pos, f"funnel_shift_right of {t}")
    high, low = (lvalues.pattern(g.value(argument(e, i)), t) for i in (1, 2))
    value = f"(({high} << {t.width} | {low}) >> {g.value(argument(e, 3))} & {t.mask})"
    lvalues.write(g, at, lvalues.from_pattern(value, t), lvalues.sliced_cell(into))
    return "None"


def _port(target: TnaTarget, expr: ir.Expr) -> bool:
    """Whether ``expr`` is ucast_egress_port."""
    cells = target.cells
    return "tm" in cells.bases and target.layout.static(expr) == cells.field("tm", "ucast_egress_port")


def _invalidate(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """A field without a value reads 0; the unicast port without one means no unicast copy."""
    field = argument(e, 0)
    if not lvalues.is_lvalue(field) or (field.type.slots != 1 and not isinstance(strip(field.type), Header)):
        raise Unsupported(e.pos, f"invalidate of {field.type} that is not a header or field")
    at = lvalues.lvalue(g, field)
    if isinstance(strip(field.type), Header):
        g.line(f"m[{at.address}] = 0")
    else:
        lvalues.write(g, at, str(UNSET_PORT if _port(target, field) else 0))
    return "None"


def _is_validated(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    field = argument(e, 0)
    if _port(target, field):
        return f"({g.value(field)} != {UNSET_PORT})"
    header = field
    while not isinstance(strip(header.type), Header) and isinstance(header, ir.Member):
        header = header.base
    if not isinstance(strip(header.type), Header) or not lvalues.is_lvalue(header):
        raise Unsupported(e.pos, "is_validated of what is neither a header, nor a field of one, nor the egress port")
    return f"m[{lvalues.address(g, header)}]"


def _size(g: Generator, e: ir.ExternCall, unit: int) -> str:
    del g
    return str(bits.width(argument(e, 0).type) // unit)
