# SPDX-License-Identifier: Apache-2.0
"""Headers, unions and stacks as values: composition, validity, ``push_front`` and ``pop_front``."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.generator import Generator, condition, expression, zeros
from offramp_p4.engine.layout import GROWTH
from offramp_p4.source import Unsupported
from offramp_p4.types import Header, Stack, Type, Union, Varbit, strip


@expression(ir.Compose)
def _compose(g: Generator, e: ir.Compose) -> str:
    t = strip(e.type)
    lead = ["1"] if isinstance(t, Header) else ["0"] * t.first if isinstance(t, Stack) else []
    parts = lead + [g.cells(p) for p in e.parts]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


@expression(ir.InvalidHeader)
def _invalid(g: Generator, e: ir.InvalidHeader) -> str:
    del g
    return f"({zeros(e.type.slots)},)"


@condition(ir.IsValid)
def _is_valid(g: Generator, e: ir.IsValid) -> str:
    t = strip(e.base.type)
    if isinstance(t, Union):
        value = g.name("u")
        tests = " or ".join(f"{value}[{at}]" for at in t.offsets)
        return f"(({value} := {g.value(e.base)}) and ({tests}))"
    if lvalues.is_lvalue(e.base):
        return f"m[{lvalues.address(g, e.base)}]"
    return f"{g.value(e.base)}[0]"


def byte_count(header: Header, at: lvalues.Address) -> str:
    """Text of the bytes that the header at ``at`` takes in a packet."""
    varbits = [
        f"m[{lvalues.plus(at, offset + 1)}]"
        for f, offset in zip(header.fields, header.offsets, strict=True)
        if isinstance(strip(f.type), Varbit)
    ]
    if varbits:
        return f"(({header.fixed_width} + {' + '.join(varbits)}) // 8)"
    return str(header.fixed_width // 8)


def header_op(g: Generator, e: ir.HeaderOp) -> None:
    """Write the lines of ``setValid``, ``setInvalid``, ``push_front`` or ``pop_front``."""
    at, t = lvalues.lvalue(g, e.base), strip(e.base.type)
    if isinstance(at.address, str):
        with g.indented(f"if {at.address} < VOID:"):
            _header_op(g, e, at, t)
    else:
        _header_op(g, e, at, t)


def _header_op(g: Generator, e: ir.HeaderOp, at: lvalues.LValue, t: Type) -> None:
    where = at.address
    if isinstance(t, Stack):
        _shift(g, e, where, t)
    elif not isinstance(t, Header):
        raise Unsupported(e.pos, f"{e.op} on {t}")
    elif e.op == "setValid":
        # As in bmv2, a header that becomes valid has all fields 0; a Tofino leaves them unchanged.
        with g.indented(f"if not m[{where}]:"):
            if g.target.clears_headers:
                g.line(f"m[{where}:{lvalues.plus(where, t.slots)}] = (1, {zeros(t.slots - 1)})")
            else:
                g.line(f"m[{where}] = 1")
            g.line(f"m[{GROWTH}] += {byte_count(t, where)}")
            lvalues.drop_rivals(g, at)
    else:
        with g.indented(f"if m[{where}]:"):
            g.line(f"m[{where}] = 0")
            g.line(f"m[{GROWTH}] -= {byte_count(t, where)}")


def _shift(g: Generator, e: ir.HeaderOp, where: lvalues.Address, t: Stack) -> None:
    size, count = t.element.slots, min(e.count, t.size)
    first, end = lvalues.plus(where, 1), lvalues.plus(where, t.slots)
    zero = f"[0] * {count * size}"
    if e.op == "push_front":
        g.line(f"m[{first}:{end}] = {zero} + m[{first}:{lvalues.plus(where, t.slots - count * size)}]")
        g.line(f"m[{where}] = min({t.size}, m[{where}] + {count})")
    else:
        g.line(f"m[{first}:{end}] = m[{lvalues.plus(first, count * size)}:{end}] + {zero}")
        g.line(f"m[{where}] = max(0, m[{where}] - {count})")
