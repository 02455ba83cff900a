# SPDX-License-Identifier: Apache-2.0
"""The externs of core.p4: ``packet_in``, ``packet_out`` and ``verify``."""

from __future__ import annotations

from typing import Final

from offramp_base.native.llvm import I1, Value, const, i64
from offramp_base.native.records import offset
from offramp_p4 import ir, names
from offramp_p4.engine.core import argument
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.native import codec, lvalues
from offramp_p4.native.emitter import BOOL_TRUE, AggregateBuilder, Builder, Emitter
from offramp_p4.native.runtime.buffers import room
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CURSOR, LENGTH
from offramp_p4.native.shape import bits_of, element_offset, offsets, value_type
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Header, Stack, Structure, Type, Varbit, strip


def field(g: Emitter, name: str) -> Value:
    """The value of a field of the packet's memory, as a word."""
    at, size = g.library.fields[name]
    return g.resize(g.load_number(g.cell(at), 8 * size), 64)


def set_field(g: Emitter, name: str, word: Value) -> None:
    """Set a field of the packet's memory to a word."""
    at, size = g.library.fields[name]
    g.store_number(g.resize(word, 8 * size), g.cell(at), 8 * size)


def _whole_bytes(e: ir.Expr, header: Type) -> Header:
    header = strip(header)
    if not isinstance(header, Header):
        raise Unsupported(e.pos, f"{header} where a header is needed")
    varbits = sum(isinstance(f.type, Varbit) for f in codec.leaves(header))
    if varbits > 1:
        raise Unsupported(e.pos, f"header {header} with more than one varbit field")
    if header.fixed_width % 8 and (not header.flexible or varbits):
        raise Unsupported(e.pos, f"header {header} of {header.fixed_width} bits, not a multiple of 8")
    return header


def _has_varbit(header: Header) -> bool:
    return any(isinstance(f.type, Varbit) for f in codec.leaves(header))


def reserve(g: Emitter, e: ir.ExternCall, size: Value) -> tuple[Value, Value]:
    """Write the check that ``size`` more bytes are there; returns the first's address, and where they end."""
    start = field(g, CURSOR.name)
    end = g.b.add(start, size)
    lvalues.fault(g, g.b.icmp_unsigned(">", end, field(g, LENGTH.name)), lvalues.error_code(g, "PacketTooShort", e))
    return g.at(g.pointer(SwitchMemory.frame), start), end


def _extract(g: Emitter, e: ir.ExternCall) -> Value:
    place = e.args[0].expr
    if place is None:
        header = _whole_bytes(e, e.type_args[0])
        _, end = reserve(g, e, i64((header.fixed_width + 7) // 8))
        set_field(g, CURSOR.name, end)
        return None
    header = _whole_bytes(e, place.type)
    if len(e.args) == 2:
        _extract_variable(g, e, place, header)
    elif _has_varbit(header):
        raise Unsupported(e.pos, f"extract of {header}, which has a varbit, without its size")
    else:
        _extract_fixed(g, e, place, header)
    if g.log is not None:
        g.log.extracted(g, names.place(place))
    _advance_stack(g, place)
    return None


def _extract_fixed(g: Emitter, e: ir.ExternCall, place: ir.Expr, header: Header) -> None:
    at = lvalues.lvalue(g, place)
    source, end = reserve(g, e, i64((header.fixed_width + 7) // 8))

    def write() -> None:
        codec.unpack(g, list(codec.leaves(header)), source, at.address)
        lvalues.drop_rivals(g, at)

    if at.inside is None:
        write()
    else:
        with g.when(at.inside):
            write()
    set_field(g, CURSOR.name, end)


def _extract_variable(g: Emitter, e: ir.ExternCall, place: ir.Expr, header: Header) -> None:
    fields = list(codec.leaves(header))
    limit = max((f.type.width for f in fields if isinstance(f.type, Varbit)), default=0)
    at, bits = lvalues.lvalue(g, place), g.word_of(argument(e, 1))
    too_long, invalid = (lvalues.error_code(g, name, e) for name in ("HeaderTooShort", "ParserInvalidArgument"))
    # In the order of the specification (section 13.8.2) and of bmv2.
    lvalues.fault(g, g.b.icmp_unsigned("!=", g.b.and_(bits, i64(7)), i64(0)), invalid)
    source, end = reserve(g, e, g.b.lshr(g.b.add(bits, i64(header.fixed_width)), i64(3)))
    lvalues.fault(g, g.b.icmp_unsigned(">", bits, i64(limit)), too_long)
    codec.read_fields(g, fields, source, at.address, bits)
    set_field(g, CURSOR.name, end)
    lvalues.drop_rivals(g, at)


def _advance_stack(g: Emitter, place: ir.Expr) -> None:
    while isinstance(place, ir.Member):
        place = place.base
    if isinstance(place, ir.StackNext):
        base = lvalues.locate(g, place.base)[0]
        count = lvalues.count_of(g, base)
        g.store_number(g.b.add(count, const(count.type, 1)), base, 32)


def _looked_at(g: Emitter, e: ir.ExternCall) -> tuple[Value, list[codec.ValueLeaf], int]:
    """The address of the bytes that a lookahead reads, its fields, and its bits."""
    fields = list(codec.leaves(e.type_args[0]))
    if any(isinstance(f.type, Varbit) for f in fields):
        raise Unsupported(e.pos, f"lookahead of {e.type_args[0]}, which has a varbit")
    width = codec.max_bits(fields)
    return reserve(g, e, i64((width + 7) // 8))[0], fields, width


def _lookahead(g: Emitter, e: ir.ExternCall) -> Value:
    t = strip(e.type_args[0])
    source, _, width = _looked_at(g, e)
    if not width:
        return g.zero(t)
    size = (width + 7) // 8
    whole = codec.load_bytes(g, source, size)
    return g.resize(g.b.lshr(whole, const(whole.type, 8 * size - width)), value_type(t).width)


def _lookahead_into(g: Emitter, e: ir.ExternCall, into: Value) -> None:
    source, fields, _ = _looked_at(g, e)
    codec.unpack(g, fields, source, into)


def _advance(g: Emitter, e: ir.ExternCall) -> Value:
    amount = g.word_of(argument(e, 0))
    # As in bmv2, which moves by whole bytes only.
    odd = g.b.icmp_unsigned("!=", g.b.and_(amount, i64(7)), i64(0))
    lvalues.fault(g, odd, lvalues.error_code(g, "ParserInvalidArgument", e))
    _, end = reserve(g, e, g.b.lshr(amount, i64(3)))
    set_field(g, CURSOR.name, end)
    return None


def _length(g: Emitter, e: ir.ExternCall) -> Value:
    bits = bits_of(e.type)
    assert bits is not None
    return g.resize(field(g, LENGTH.name), bits.width)


def _verify(g: Emitter, e: ir.ExternCall) -> Value:
    check = g.value(argument(e, 0))
    failed = g.b.not_(check)
    with g.when(failed, likely=False):
        lvalues.fault(g, BOOL_TRUE, g.value(argument(e, 1)))
    return None


def _emit(g: Emitter, e: ir.ExternCall) -> Value:
    data = argument(e, 0)
    if not data.type.slots:
        return None
    at = lvalues.locate(g, data)[0] if is_lvalue(data) else g.temporary(data)
    _emit_at(g, e, at, data.type, names.place(data))
    return None


def _emit_at(g: Emitter, e: ir.ExternCall, at: Value, t: Type, name: str) -> None:
    t = strip(t)
    if isinstance(t, Header):
        header = _whole_bytes(e, t)
        with g.when(lvalues.is_valid(g, at)):
            if g.log is not None:
                g.log.emitted(g, name)
            _emit_header(g, header, at)
    elif isinstance(t, Structure):
        for f, offset in zip(t.fields, offsets(t), strict=True):
            _emit_at(g, e, g.at(at, offset), f.type, f"{name}.{f.name}")
    elif isinstance(t, Stack):
        for i in range(t.size):
            _emit_at(g, e, g.at(at, element_offset(t, i)), t.element, f"{name}[{i}]")
    else:
        raise Unsupported(e.pos, f"emit of {t}, which is not a header")


def _emit_header(g: Emitter, header: Header, at: Value) -> None:
    fields = list(codec.leaves(header))
    used = g.word(SwitchMemory.out.used)
    most = (codec.max_bits(fields) + 7) // 8
    address = g.call(room, g.context, offset(SwitchMemory.out), used, most)
    into = g.b.inttoptr(address, g.memory.type)
    if _has_varbit(header):
        writer = codec.BitWriter(g, into)
        writer.fields(fields, at)
        size = writer.finish()
    else:
        size = i64(codec.pack(g, codec.numbers_at(g, fields, at), into))
    end = g.b.add(used, size)
    g.tags.mark(g.b.store(end, g.word_address(SwitchMemory.out.used)), "Words")


def _static_assert(g: Emitter, e: ir.ExternCall) -> Value:
    del g
    if e.type != BOOL:
        raise Unsupported(e.pos, "static_assert that is not bool")
    return const(I1, 1)


BUILDERS: Final[dict[tuple[str, str], Builder]] = {
    ("packet_in", "extract"): _extract,
    ("packet_in", "lookahead"): _lookahead,
    ("packet_in", "advance"): _advance,
    ("packet_in", "length"): _length,
    ("packet_out", "emit"): _emit,
    ("", "verify"): _verify,
    ("", "static_assert"): _static_assert,
}
AGGREGATES: Final[dict[tuple[str, str], AggregateBuilder]] = {("packet_in", "lookahead"): _lookahead_into}
FAULTS: Final = frozenset(
    {("packet_in", "extract"), ("packet_in", "lookahead"), ("packet_in", "advance"), ("", "verify")}
)
"""Externs that may end the parser with an error."""
