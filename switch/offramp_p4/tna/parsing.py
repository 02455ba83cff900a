# SPDX-License-Identifier: Apache-2.0
"""Parser externs of TNA: the counter, the priority, port metadata."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine import bits, lvalues
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.layout import CURSOR, FRAME, LENGTH
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Header, Struct, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.target import TnaTarget

_COUNTER = Bits(8, signed=True)
STACK: Final = 4
"""Values that Tofino 2's parser counter keeps below the current one."""


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""

    def cell(e: ir.ExternCall) -> int:
        return target.cell(instance(e))

    return {
        ("ParserCounter", "set"): lambda g, e: _set(g, e, cell(e)),
        ("ParserCounter", "is_zero"): lambda _, e: f"(1 if m[{cell(e)}] == 0 else 0)",
        ("ParserCounter", "is_negative"): lambda _, e: f"(1 if m[{cell(e)}] < 0 else 0)",
        ("ParserCounter", "increment"): lambda g, e: _add(g, e, cell(e), "+"),
        ("ParserCounter", "decrement"): lambda g, e: _add(g, e, cell(e), "-"),
        ("ParserCounter", "push"): lambda g, e: _push(target, g, e),
        ("ParserCounter", "pop"): lambda g, e: _pop(target, g, e),
        ("ParserPriority", "set"): _set_priority,
        ("", "port_metadata_unpack"): lambda g, e: _unpack(target, g, e),
        ("", "verify"): _verify,
    }


def is_scaled(e: ir.ExternCall) -> bool:
    """Whether a call says how a field becomes the counter's value.

    Raises:
        Unsupported: a value is pushed that follows the one above it; which of the two does is not documented.
    """
    follows = e.args[e.params.index("update_with_top")].expr if "update_with_top" in e.params else None
    if follows is not None and not (isinstance(follows, ir.Const) and not follows.value):
        raise Unsupported(e.pos, "ParserCounter.push with update_with_top")
    return "max" in e.params


def _push(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """Put the counter on its stack, of whose values the lowest is lost if it is full, and set it."""
    counter, *below = _stack(target, e)
    for upper, lower in reversed(list(pairwise([counter, *below]))):
        g.line(f"m[{lower}] = m[{upper}]")
    return _set(g, e, counter)


def _pop(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """Take the counter's value from its stack: 0 if that is empty."""
    cells = _stack(target, e)
    for upper, lower in pairwise(cells):
        g.line(f"m[{upper}] = m[{lower}]")
    g.line(f"m[{cells[-1]}] = 0")
    return "None"


def _stack(target: TnaTarget, e: ir.ExternCall) -> list[int]:
    """The cells of the counter and of what is below it."""
    i = instance(e)
    return [target.cell(i), *(target.cell((i, depth)) for depth in range(STACK))]


def _set(g: Generator, e: ir.ExternCall, cell: int) -> str:
    field = argument(e, 0)
    scaled = is_scaled(e)
    value = g.value(field)
    if scaled:
        value = _scaled(g, e, field, value)
    g.line(f"m[{cell}] = {lvalues.from_pattern(value, _COUNTER)}")
    return "None"


def _scaled(g: Generator, e: ir.ExternCall, field: ir.Expr, value: str) -> str:
    """The field rotated right, masked, with a constant added; one above the maximum is a parser error."""
    largest, rotate, mask, add = (g.value(argument(e, i)) for i in range(1, 5))
    t = strip(argument(e, 3).type)
    if isinstance(t, Bits) and t.width == 3:  # Tofino 1 gives the number of bits, less one
        mask = f"((2 << {mask}) - 1)"
    width = bits.width(field.type)
    value = g.temporary(value, "field")
    with g.indented(f"if {value} > {largest}:"):
        g.line(f"raise ParserFault({lvalues.error_code(g, 'CounterRange', e)})")
    by = g.temporary(f"{rotate} % {width}", "by")
    turned = f"(({value} >> {by} | {value} << {width} - {by}) & {(1 << width) - 1})"
    return f"(({turned} & {mask}) + {add})"


def _add(g: Generator, e: ir.ExternCall, cell: int, sign: str) -> str:
    g.line(f"m[{cell}] = {lvalues.from_pattern(f'm[{cell}] {sign} {g.value(argument(e, 0))}', _COUNTER)}")
    return "None"


def _set_priority(g: Generator, e: ir.ExternCall) -> str:
    del g, e
    return "None"  # it decides what a congested input drops, and inputs here never are


def _unpack(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """The port metadata as a value of the type asked for, its first field in the first bits."""
    t, size = strip(e.type_args[0]), target.port_metadata_bytes
    width = bits.width(t)
    if not isinstance(t, Struct | Header) or width > 8 * size:
        raise Unsupported(e.pos, f"port metadata of type {t} ({width} bits; the chip has {8 * size})")
    start = g.temporary(f"m[{CURSOR}]", "start")
    with g.indented(f"if {start} + {size} > m[{LENGTH}]:"):
        g.line(f"raise ParserFault({lvalues.error_code(g, 'PacketTooShort', e)})")
    g.line(f"m[{CURSOR}] = {start} + {size}")
    value = f"int.from_bytes(m[{FRAME}][{start}:{start} + {size}], 'big') >> {8 * size - width}"
    return f"{g.bind(bits.parse, 'parse')}({g.bind(bits.kinds(t), 'fields')}, {value}, {width})"


def _verify(g: Generator, e: ir.ExternCall) -> str:
    del g
    raise Unsupported(e.pos, "verify in a Tofino parser, which has no errors of the program's own")
