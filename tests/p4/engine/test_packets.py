# SPDX-License-Identifier: Apache-2.0
"""Extract, emit and look-ahead of random headers against a model that works on strings of binary digits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4 import ir
from offramp_p4.engine.faults import ParserFault
from offramp_p4.engine.layout import CURSOR, OUTPUT
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, PACKET, VOID, Bits, Header, StructField, Type, Varbit
from p4_ir import BIT8, BIT32, ERRORS, compile_body, const, ref, var

PACKET_VAR = ir.Var("packet", PACKET)


def header(*types: Type) -> Header:
    return Header("h_t", fields=[StructField(f"f{i}", t) for i, t in enumerate(types)])


def extern(method: str, *args: ir.Expr, direction: str = "in", type_args: tuple[Type, ...] = ()) -> ir.ExternCall:
    extern_type = "packet_out" if method == "emit" else "packet_in"
    given = [ir.Arg(direction if i == 0 else "in", a) for i, a in enumerate(args)]  # type: ignore[arg-type]
    t = type_args[0] if method == "lookahead" else VOID
    return ir.ExternCall(extern_type, method, PACKET_VAR, list(type_args), given, [""] * len(given), type=t)


def extract(place: ir.Expr, *size: ir.Expr) -> ir.Stmt:
    return ir.Eval(extern("extract", place, *size, direction="out", type_args=(place.type,)))


def emit(place: ir.Expr) -> ir.Stmt:
    return ir.Eval(extern("emit", place, type_args=(place.type,)))


def digits(data: bytes) -> str:
    return "".join(f"{byte:08b}" for byte in data)


@st.composite
def layouts(draw: st.DrawFn) -> list[Bits]:
    """Fields whose widths add up to whole bytes."""
    widths = st.sampled_from([1, 2, 3, 4, 7, 8, 9, 13, 16, 19, 24, 32, 40, 48, 56, 64, 65, 72, 128])
    fields = draw(st.lists(st.builds(Bits, widths, st.booleans()), min_size=1, max_size=12))
    pad = -sum(f.width for f in fields) % 8
    if pad:
        fields.insert(draw(st.integers(0, len(fields))), Bits(pad, draw(st.booleans())))
    return fields


@pytest.mark.full
@settings(max_examples=250, deadline=None, derandomize=True)
@given(layouts(), st.data())
def test_extract_and_emit(fields: list[Bits], data: st.DataObject) -> None:
    h = var("h", header(*fields))
    size = sum(f.width for f in fields) // 8
    lead, frame = data.draw(st.integers(0, 2)), data.draw(st.binary(min_size=size + 5, max_size=size + 5))
    first = var("first", header(Bits(8 * lead))) if lead else None
    body = ([extract(ref(first))] if first else []) + [extract(ref(h)), emit(ref(h))]
    runnable = compile_body(body, [PACKET_VAR, h] + ([first] if first else []))
    m = runnable.run({}, frame)
    text, expected, at = digits(frame), [1], 8 * lead
    for f in fields:
        value = int(text[at : at + f.width], 2)
        expected.append(value - (1 << f.width) if f.signed and text[at] == "1" else value)
        at += f.width
    assert runnable.cells(m, h) == expected
    assert m[CURSOR] == lead + size
    assert b"".join(m[OUTPUT]) == frame[lead : lead + size]


def test_a_packet_that_is_too_short_leaves_the_header_alone() -> None:
    h = var("h", header(BIT32))
    runnable = compile_body([extract(ref(h))], [PACKET_VAR, h])
    with pytest.raises(ParserFault) as fault:
        runnable.run({}, b"abc")
    assert ERRORS[fault.value.code] == "PacketTooShort"


def test_an_invalid_header_is_not_emitted() -> None:
    h = var("h", header(BIT32))
    runnable = compile_body([emit(ref(h))], [PACKET_VAR, h])
    assert runnable.run({h: [0, 7]})[OUTPUT] == []
    assert runnable.run({h: [1, 7]})[OUTPUT] == [b"\0\0\0\7"]


@pytest.mark.full
@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 80), st.binary(max_size=16))
def test_varbits(bits: int, frame: bytes) -> None:
    h, size = var("h", header(Bits(4), Varbit(64), Bits(12))), var("size", BIT32)
    runnable = compile_body([extract(ref(h), ref(size)), emit(ref(h))], [PACKET_VAR, h, size])
    total = 16 + bits
    wanted = "ParserInvalidArgument" if bits % 8 else "PacketTooShort" if total // 8 > len(frame) else ""
    wanted = wanted or ("HeaderTooShort" if bits > 64 else "")
    if wanted:
        with pytest.raises(ParserFault) as fault:
            runnable.run({size: bits}, frame)
        assert ERRORS[fault.value.code] == wanted
        return
    m = runnable.run({size: bits}, frame)
    text = digits(frame)
    middle = text[4 : 4 + bits]
    after = int(text[4 + bits : total], 2)
    assert runnable.cells(m, h) == [1, int(text[:4], 2), int(middle or "0", 2), bits, after]
    assert b"".join(m[OUTPUT]) == frame[: total // 8]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 40), st.booleans(), st.binary(min_size=5, max_size=6))
def test_lookahead_of_a_number(width: int, signed: bool, frame: bytes) -> None:
    result = var("r", Bits(width, signed))
    call = extern("lookahead", type_args=(result.type,))
    runnable = compile_body([ir.Assign(ref(result), call)], [PACKET_VAR, result])
    m = runnable.run({}, frame)
    value = int(digits(frame)[:width], 2)
    assert runnable.cells(m, result) == [value - (1 << width) if signed and value >> (width - 1) else value]
    assert m[CURSOR] == 0


def test_lookahead_of_a_header_makes_it_valid() -> None:
    h = var("h", header(Bits(4), Bits(12, signed=True), BOOL, Bits(7)))
    call = extern("lookahead", type_args=(h.type,))
    runnable = compile_body([ir.Assign(ref(h), call)], [PACKET_VAR, h])
    assert runnable.cells(runnable.run({}, b"\x1f\xfe\x85"), h) == [1, 1, -2, 1, 5]


def test_advance_moves_by_whole_bytes_within_the_packet() -> None:
    amount = var("n", BIT32)
    runnable = compile_body([ir.Eval(extern("advance", ref(amount)))], [PACKET_VAR, amount])
    assert runnable.run({amount: 24}, b"abc")[CURSOR] == 3
    for bits, error in [(12, "ParserInvalidArgument"), (32, "PacketTooShort"), (1 << 31, "PacketTooShort")]:
        with pytest.raises(ParserFault) as fault:
            runnable.run({amount: bits}, b"abc")
        assert ERRORS[fault.value.code] == error


def test_headers_of_odd_width_are_refused() -> None:
    h = var("h", header(Bits(9)))
    with pytest.raises(Unsupported, match="9 bits, not a multiple of 8"):
        compile_body([extract(ref(h))], [PACKET_VAR, h])
    two = var("two", header(Varbit(8), Varbit(8)))
    with pytest.raises(Unsupported, match="more than one varbit"):
        compile_body([extract(ref(two), const(8, BIT8))], [PACKET_VAR, two])
