# SPDX-License-Identifier: Apache-2.0
"""The externs of core.p4: ``packet_in``, ``packet_out`` and ``verify``."""

from __future__ import annotations

from typing import Final

from offramp_p4 import ir
from offramp_p4.engine import bits, lvalues
from offramp_p4.engine.codec import fixed_codec
from offramp_p4.engine.generator import Builder, Generator, is_scalar, zeros
from offramp_p4.engine.layout import CURSOR, FRAME, LENGTH, OUTPUT
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Header, Stack, Structure, Type, Varbit, strip


def argument(e: ir.ExternCall, index: int) -> ir.Expr:
    """An argument that must be given."""
    expr = e.args[index].expr
    if expr is None:
        raise Unsupported(e.pos, f"{e.method} without its argument {e.params[index] or index}")
    return expr


def instance(e: ir.ExternCall) -> ir.ExternInstance:
    """The extern object that a method is called on."""
    if not isinstance(e.target, ir.ExternInstance):
        raise Unsupported(e.pos, f"{e.extern}.{e.method} of an object that is not known when the program is loaded")
    return e.target


def _whole_bytes(e: ir.Expr, header: Type) -> Header:
    header = strip(header)
    if not isinstance(header, Header):
        raise Unsupported(e.pos, f"{header} where a header is needed")
    varbits = sum(isinstance(k, Varbit) for k in bits.kinds(header))
    if varbits > 1:
        raise Unsupported(e.pos, f"header {header} with more than one varbit field")
    if header.fixed_width % 8 and not header.flexible:
        raise Unsupported(e.pos, f"header {header} of {header.fixed_width} bits, not a multiple of 8")
    return header


def _reserve(g: Generator, e: ir.ExternCall, size: str) -> tuple[str, str]:
    """Write the check that ``size`` more bytes are there; returns names of their start and end."""
    start = g.temporary(f"m[{CURSOR}]", "start")
    end = g.temporary(f"{start} + {size}", "end")
    with g.indented(f"if {end} > m[{LENGTH}]:"):
        g.line(f"raise ParserFault({lvalues.error_code(g, 'PacketTooShort', e)})")
    return start, end


def _extract(g: Generator, e: ir.ExternCall) -> str:
    place = e.args[0].expr
    if place is None:
        header = _whole_bytes(e, e.type_args[0])
        _, end = _reserve(g, e, str((header.fixed_width + 7) // 8))
        g.line(f"m[{CURSOR}] = {end}")
        return "None"
    header = _whole_bytes(e, place.type)
    if len(e.args) == 2:
        _extract_variable(g, e, place, header)
    elif any(isinstance(k, Varbit) for k in bits.kinds(header)):
        raise Unsupported(e.pos, f"extract of {header}, which has a varbit, without its size")
    else:
        _extract_fixed(g, e, place, header)
    _advance_stack(g, place)
    return "None"


def _extract_fixed(g: Generator, e: ir.ExternCall, place: ir.Expr, header: Header) -> None:
    codec = fixed_codec(header)
    at = lvalues.lvalue(g, place)
    start, end = _reserve(g, e, str(codec.size))
    unpack = f"{g.bind(codec.format.unpack_from, 'unpack')}(m[{FRAME}], {start})"
    first, last = at.address, lvalues.plus(at.address, header.slots)
    if codec.plain:
        g.line(f"m[{first}] = 1")
        g.line(f"m[{lvalues.plus(first, 1)}:{last}] = {unpack}")
    else:
        items, fields = codec.unpacked()
        g.line(f"{', '.join(items)}, = {unpack}")
        g.line(f"m[{first}:{last}] = (1, {', '.join(fields)})")
    g.line(f"m[{CURSOR}] = {end}")
    _forget_outside(g, at, header)
    lvalues.drop_rivals(g, at)


def _extract_variable(g: Generator, e: ir.ExternCall, place: ir.Expr, header: Header) -> None:
    errors = (lvalues.error_code(g, n, e) for n in ("PacketTooShort", "HeaderTooShort", "ParserInvalidArgument"))
    at = lvalues.lvalue(g, place)
    extract = g.bind(bits.variable_extract(header, *errors), "extract")
    g.line(f"{extract}(m, {at.address}, {g.value(argument(e, 1))})")
    _forget_outside(g, at, header)
    lvalues.drop_rivals(g, at)


def _forget_outside(g: Generator, at: lvalues.LValue, header: Header) -> None:
    """Write the line that clears what was extracted to an element out of range, which reads as zero."""
    if isinstance(at.address, str):
        with g.indented(f"if {at.address} >= VOID:"):
            g.line(f"m[{at.address}:{lvalues.plus(at.address, header.slots)}] = ({zeros(header.slots)},)")


def _advance_stack(g: Generator, place: ir.Expr) -> None:
    while isinstance(place, ir.Member):
        place = place.base
    if isinstance(place, ir.StackNext):
        g.line(f"m[{lvalues.address(g, place.base)}] += 1")


def _lookahead(g: Generator, e: ir.ExternCall) -> str:
    t = strip(e.type_args[0])
    if any(isinstance(k, Varbit) for k in bits.kinds(t)):
        raise Unsupported(e.pos, f"lookahead of {t}, which has a varbit")
    width = bits.width(t)
    size = (width + 7) // 8
    start, end = _reserve(g, e, str(size))
    value = f"int.from_bytes(m[{FRAME}][{start}:{end}], 'big')"
    if 8 * size - width:
        value = f"({value} >> {8 * size - width})"
    if is_scalar(t):
        return lvalues.from_pattern(value, t)
    return f"{g.bind(bits.parse, 'parse')}({g.bind(bits.kinds(t), 'fields')}, {value}, {width})"


def _advance(g: Generator, e: ir.ExternCall) -> str:
    amount = g.temporary(g.value(argument(e, 0)), "bits")
    with g.indented(f"if {amount} & 7:"):  # as in bmv2, which moves by whole bytes only
        g.line(f"raise ParserFault({lvalues.error_code(g, 'ParserInvalidArgument', e)})")
    _, end = _reserve(g, e, f"({amount} >> 3)")
    g.line(f"m[{CURSOR}] = {end}")
    return "None"


def _length(g: Generator, e: ir.ExternCall) -> str:
    del g, e
    return f"m[{LENGTH}]"


def _verify(g: Generator, e: ir.ExternCall) -> str:
    check = g.condition(argument(e, 0))
    with g.indented(f"if not {check}:"):
        g.line(f"raise ParserFault({g.value(argument(e, 1))})")
    return "None"


def _emit(g: Generator, e: ir.ExternCall) -> str:
    data = argument(e, 0)
    if lvalues.is_lvalue(data):
        at = lvalues.address(g, data)
        if isinstance(at, str):
            at = g.temporary(at, "at")
        _emit_at(g, e, at, data.type, "m")
    elif data.type.slots:
        _emit_at(g, e, 0, data.type, g.temporary(g.value(data), "data"))
    return "None"


def _emit_at(g: Generator, e: ir.ExternCall, at: lvalues.Address, t: Type, memory: str) -> None:
    t = strip(t)
    if isinstance(t, Header):
        header = _whole_bytes(e, t)
        with g.indented(f"if {memory}[{at}]:"):
            g.line(f"m[{OUTPUT}].append({_packed(g, header, at, memory)})")
    elif isinstance(t, Structure):
        for f, offset in zip(t.fields, t.offsets, strict=True):
            _emit_at(g, e, lvalues.plus(at, offset), f.type, memory)
    elif isinstance(t, Stack):
        for i in range(t.size):
            _emit_at(g, e, lvalues.plus(at, 1 + i * t.element.slots), t.element, memory)
    else:
        raise Unsupported(e.pos, f"emit of {t}, which is not a header")


def _packed(g: Generator, header: Header, at: lvalues.Address, memory: str) -> str:
    end = lvalues.plus(at, header.slots)
    if any(isinstance(k, Varbit) for k in bits.kinds(header)):
        return f"{g.bind(bits.emitted(header), 'pack')}({memory}[{at}:{end}])"
    codec = fixed_codec(header)
    pack = g.bind(codec.format.pack, "pack")
    if codec.plain:
        return f"{pack}(*{memory}[{lvalues.plus(at, 1)}:{end}])"
    return f"{pack}({', '.join(codec.packed(lambda i: f'{memory}[{lvalues.plus(at, 1 + i)}]'))})"


def _static_assert(g: Generator, e: ir.ExternCall) -> str:
    del g
    if e.type != BOOL:
        raise Unsupported(e.pos, "static_assert that is not bool")
    return "1"


BUILDERS: Final[dict[tuple[str, str], Builder]] = {
    ("packet_in", "extract"): _extract,
    ("packet_in", "lookahead"): _lookahead,
    ("packet_in", "advance"): _advance,
    ("packet_in", "length"): _length,
    ("packet_out", "emit"): _emit,
    ("", "verify"): _verify,
    ("", "static_assert"): _static_assert,
}
