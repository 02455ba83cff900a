# SPDX-License-Identifier: Apache-2.0
"""A dissector for Wireshark and tshark, in Lua, from the parser of a program.

Its states are the parser's: each extracts headers and selects what comes next by their fields. Where the choice needs
what a capture does not have, such as a value set or an extern's result, the dissector says so and leaves the rest as
data. Numbers of more than 32 bits are compared as hexadecimal texts, as Lua's numbers differ between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.names import place
from offramp_p4.types import BOOL, Bits, Enum, Header, Newtype, Type, Varbit, strip

DEFAULT_TABLE: Final = "wtap_encap=1"
"""All frames of Ethernet."""
_NUMBER_BITS: Final = 32
_COMPARED: Final = {"==": "==", "!=": "~=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LIBRARY: Final = Path(__file__).with_name("dissector.lua")


class _Unknown(Exception):
    """What a capture does not say."""


def dissector(program: ir.Program, name: str, table: str = DEFAULT_TABLE, start: str = "start") -> str:
    """The text of the dissector.

    Args:
        program: for v1model, PSA or PNA.
        name: name of the protocol and prefix of its fields in display filters.
        table: dissector table and value under which Wireshark calls it, such as ``udp.port=5000``.
        start: parser state in which it begins.

    Raises:
        OfframpError: no parser of the program starts with the packet's first byte, it has no such state, or the table
            is not of this form.
    """
    parser = next((block for block in program.blocks if isinstance(block, ir.ParserInstance)), None)
    if parser is None or program.main.type_name in {"Switch", "MultiParserSwitch"}:
        raise OfframpError(f"{program.file}: expected a program for v1model, PSA or PNA")
    if start not in parser.states:
        raise OfframpError(f"parser {parser.name} has no state {start}: expected one of {', '.join(parser.states)}")
    key, equals, value = table.partition("=")
    if not equals or not re.fullmatch(r"[\w.]+", key) or not re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+|[\w./-]+", value):
        raise OfframpError(f"{table}: expected TABLE=VALUE, such as udp.port=5000")
    prefix = re.sub(r"\W+", "_", name.lower()).strip("_") or "p4"
    return "".join(f"{line}\n" for line in _text(program, parser, prefix, (key, value), start))


def _text(
    program: ir.Program, parser: ir.ParserInstance, prefix: str, table: tuple[str, str], start: str
) -> Iterator[str]:
    writer = _StateWriter(parser)
    bodies = {name: list(writer.state(state)) for name, state in parser.states.items()}
    yield f"-- Dissects packets of {Path(program.file).name}; written by: offramp switch dissector"
    yield f"local proto = Proto({_quoted(prefix)}, {_quoted(f'P4 program {prefix}')})"
    yield "local headers, states = {}, {}"
    for header in writer.headers.values():
        yield f"headers[{_quoted(header.name)}] = {{"
        for field in header.fields:
            yield f"  {_field(prefix, header, field.name, field.type)},"
        yield "}"
    yield _LIBRARY.read_text(encoding="utf-8").rstrip()
    for name, body in bodies.items():
        yield f"states[{_quoted(name)}] = function(c)"
        yield from (f"  {line}" for line in body)
        yield "end"
    key, value = table
    shown = value if re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", value) else _quoted(value)
    yield f"register({_quoted(key)}, {shown}, {_quoted(start)})"


def _field(prefix: str, header: Header, name: str, type_: Type) -> str:
    """A row of a header: name, bits, the field that Wireshark shows."""
    kind, width = strip(type_), _width(type_)
    path = f"{prefix}.{header.name.removesuffix('_t')}.{name}"
    words = name.lower()
    if isinstance(kind, Varbit) or width > 2 * _NUMBER_BITS:
        proto = "bytes"
    elif width == 48:
        proto = "ether"
    elif width == 32 and re.search(r"ip|addr|src|dst", words):
        proto = "ipv4"
    else:
        proto = "uint32" if width <= _NUMBER_BITS else "uint64"
    base = ", base.DEC_HEX" if proto.startswith("uint") else ""
    shown = f"ProtoField.{proto}({_quoted(path)}, {_quoted(name)}{base})"
    return f"{{ name = {_quoted(name)}, bits = {'nil' if isinstance(kind, Varbit) else width}, field = {shown} }}"


class _StateWriter:
    """Writes parser states as bodies of Lua functions, which return the state that follows.

    Attributes:
        headers: the headers that are extracted, by name.
    """

    def __init__(self, parser: ir.ParserInstance) -> None:
        self._parser = parser
        self.headers: dict[str, Header] = {}
        self._lost = _from_outside(parser)

    def state(self, state: ir.ParserState) -> Iterator[str]:
        """The body of one state."""
        try:
            for stmt in state.body:
                yield from self._statement(stmt)
            keys = [self._value(key) for key in state.select]
        except _Unknown as unknown:
            yield f"return stop(c, {_quoted(str(unknown))})"
            return
        for case in state.cases:
            try:
                test = self._test(case.keys, keys, state.select) if state.select else ""
            except _Unknown as unknown:
                yield f"do return stop(c, {_quoted(str(unknown))}) end"
                continue
            target = f"return {_quoted(case.target)}"
            yield f"if {test} then {target} end" if test else f"do {target} end"
        if state.cases:
            yield 'return "reject"' if state.select else ""

    def _statement(self, stmt: ir.Stmt) -> Iterator[str]:
        match stmt:
            case ir.Block(body=body):
                for inner in body:
                    yield from self._statement(inner)
            case ir.Eval(expr=ir.ExternCall() as call):
                yield from self._call(call)
            case ir.Assign(place=target, value=value):
                yield from self._assign(place(target), value)
            case ir.Declare(var=var, value=value):
                if value is not None:
                    yield from self._assign(var.name, value)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                yield f"if {self._value(condition)} then"
                yield from (f"  {line}" for line in self._statement(then))
                if otherwise is not None:
                    yield "else"
                    yield from (f"  {line}" for line in self._statement(otherwise))
                yield "end"
            case _:
                raise _Unknown("a statement that captures do not decide")

    def _assign(self, target: str, value: ir.Expr) -> Iterator[str]:
        try:
            yield f"c.values[{_quoted(target)}] = {self._value(value)}"
        except _Unknown:
            self._lost.add(target)  # whoever selects by it stops

    def _call(self, call: ir.ExternCall) -> Iterator[str]:
        args = [arg.expr for arg in call.args]
        if call.method == "extract" and args[0] is not None:
            header = strip(args[0].type)
            if not isinstance(header, Header):
                raise _Unknown("an extracted union")
            self.headers[header.name] = header
            varbit = "nil" if len(args) < 2 or args[1] is None else self._value(args[1])
            name = _quoted(place(args[0]))
            yield f"if not extract(c, {_quoted(header.name)}, {name}, {varbit}) then return 'reject' end"
        elif call.method == "advance" and args[0] is not None:
            yield f"c.at = c.at + {self._value(args[0])}"
        elif call.method == "verify" and args[0] is not None:
            yield f"if not ({self._value(args[0])}) then return 'reject' end"
        else:
            raise _Unknown(f"{call.method} of {call.extern}" if call.extern else call.method)

    def _test(self, keys: list[ir.Key], values: list[str], exprs: list[ir.Expr]) -> str:
        """Whether all keys match; empty for those that always do."""
        tests = []
        for key, value, expr in zip(keys, values, exprs, strict=False):
            match key:
                case ir.KeyAny():
                    continue
                case ir.KeyValue(value=wanted):
                    tests.append(f"{value} == {self._value(wanted)}")
                case ir.KeyRange(low=low, high=high):
                    tests.append(f"{value} >= {self._value(low)} and {value} <= {self._value(high)}")
                case ir.KeyMask(value=wanted, mask=mask) if _width(expr.type) <= _NUMBER_BITS:
                    tests.append(
                        f"band({value}, {self._value(mask)}) == band({self._value(wanted)}, {self._value(mask)})"
                    )
                case _:
                    raise _Unknown("a value set, or a mask of more than 32 bits")
        return " and ".join(tests)

    def _value(self, e: ir.Expr) -> str:
        """An expression in Lua: a number, a boolean, or a hexadecimal text for more than 32 bits."""
        width = _width(e.type)
        match e:
            case ir.Const(value=int() as value):
                if strip(e.type) == BOOL:
                    return "true" if value else "false"
                return str(value) if width <= _NUMBER_BITS else f'"{value:0{(width + 3) // 4}x}"'
            case ir.VarRef() | ir.Member() | ir.Element() | ir.StackLast():
                name = place(e)
                if name in self._lost or name.partition(".")[0] in self._lost or "…" in name:
                    raise _Unknown(name)
                return f"value(c, {_quoted(name)}, {width})"
            case ir.IsValid(base=base):
                return f"(c.valid[{_quoted(place(base))}] == true)"
            case ir.ExternCall(method="lookahead") if width > 0:
                return f"bits(c.buffer, c.at, {width})"
            case ir.Cast(operand=operand) if (
                strip(e.type) != BOOL and 0 < _width(operand.type) <= _NUMBER_BITS >= width
            ):
                return f"({self._value(operand)}) % {1 << width}"
            case ir.Slice(base=base, high=high, low=low) if _width(base.type) <= _NUMBER_BITS:
                return f"slice({self._value(base)}, {high}, {low})"
            case ir.Unary(op="!", operand=operand):
                return f"(not {self._value(operand)})"
            case ir.Binary():
                return self._binary(e, width)
        raise _Unknown("an expression that captures do not decide")

    def _binary(self, e: ir.Binary, width: int) -> str:
        left, right = self._value(e.left), self._value(e.right)
        if e.op in {"&&", "||"}:
            return f"({left} {'and' if e.op == '&&' else 'or'} {right})"
        if e.op in _COMPARED:
            return f"({left} {_COMPARED[e.op]} {right})"
        if max(width, _width(e.left.type)) <= _NUMBER_BITS:
            match e.op:
                case "+" | "-" | "*":
                    return f"({left} {e.op} {right}) % {1 << width}"
                case "&":
                    return f"band({left}, {right})"
                case "<<":
                    return f"({left} * 2 ^ {right}) % {1 << width}"
                case ">>":
                    return f"math.floor({left} / 2 ^ {right})"
                case "++":
                    return f"({left} * {1 << _width(e.right.type)} + {right})"
        raise _Unknown(f"{e.op} of more than 32 bits")


def _from_outside(parser: ir.ParserInstance) -> set[str]:
    """The parameters that come in with a packet but are not in it; users' metadata begin as zeros instead."""
    return {
        p.name for p in parser.params if p.direction == "in" or getattr(p.type, "name", "") == "standard_metadata_t"
    }


def _width(type_: Type) -> int:
    """Bits of a scalar; of a varbit its most, of other types 0."""
    kind = strip(type_)
    if isinstance(kind, Newtype):
        return _width(kind.base)
    if isinstance(kind, Bits | Varbit):
        return kind.width
    if isinstance(kind, Enum):
        return kind.base.width if kind.base is not None else _NUMBER_BITS
    return 1 if kind == BOOL else 0


def _quoted(text: str) -> str:
    """A text as a literal of Lua."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
