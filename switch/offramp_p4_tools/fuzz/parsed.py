# SPDX-License-Identifier: Apache-2.0
"""Packets that get far into a program: their headers follow random ways through the states of its first parser."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.state.random_control import PORTS
from offramp_p4.types import Header, Structure, Varbit, bit_width, strip

if TYPE_CHECKING:
    from offramp_p4_tools.fuzz.packets import Packet

_MOST_STATES: Final = 40
_VARBIT_BYTES: Final = 4
_Path = tuple[object, ...]


class _Span(NamedTuple):
    """Bits of the packet, from its beginning."""

    at: int
    width: int


def parsed_packets(program: ir.Program, rng: Random, count: int) -> list[Packet]:
    """Packets whose fields lead the parser along, with 0 to 60 bytes behind; one in ten is cut off somewhere."""
    parser = next((block for block in walk.blocks(program.main) if isinstance(block, ir.ParserInstance)), None)
    packets = []
    for _ in range(count):
        frame = _Way(rng).frame(parser) if parser is not None else b""
        frame += rng.randbytes(rng.randrange(61))
        packets.append((rng.randrange(PORTS), frame[: rng.randrange(len(frame) + 1)] if rng.random() < 0.1 else frame))
    return packets


class _Way:
    """One way through a parser, and the packet that takes it."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._bits = 0
        self._length = 0
        self._cursor = 0
        self._fields: dict[_Path, _Span] = {}
        self._next: dict[_Path, int] = {}
        self._names: dict[int, _Path] = {}
        self._states = 0

    def frame(self, parser: ir.ParserInstance) -> bytes:
        self._parse(parser)
        whole = -(-self._length // 8) * 8
        return (self._bits << (whole - self._length)).to_bytes(whole // 8, "big")

    def _parse(self, parser: ir.ParserInstance) -> None:
        name = "start"
        while name in parser.states and self._states < _MOST_STATES:
            self._states += 1
            state = parser.states[name]
            for statement in state.body:
                self._run(statement)
            case = self._rng.choice(state.cases)
            name = case.target
            for expr, key in zip(state.select, case.keys, strict=False):
                self._lead(expr, key)

    def _run(self, statement: ir.Stmt) -> None:
        if isinstance(statement, ir.Block):
            for each in statement.body:
                self._run(each)
        elif isinstance(statement, ir.Eval):
            call = statement.expr
            if isinstance(call, ir.ApplyCall) and isinstance(call.target, ir.ParserInstance):
                for var, arg in zip(call.target.params, call.args, strict=True):
                    self._names[id(var)] = (arg.expr is not None and self._path(arg.expr)) or (id(var),)
                self._parse(call.target)
            elif isinstance(call, ir.ExternCall) and call.method == "extract":
                self._extract(call.args[0].expr)
            elif isinstance(call, ir.ExternCall) and call.method == "advance":
                amount = call.args[0].expr
                self._pass(amount.value if isinstance(amount, ir.Const) and isinstance(amount.value, int) else 0)

    def _extract(self, place: ir.Expr | None) -> None:
        if place is None or not isinstance(place.type, Header):
            return
        path = self._path(place) or (id(place),)
        for index, field in enumerate(place.type.fields):
            width = _VARBIT_BYTES * 8 if isinstance(field.type, Varbit) else bit_width(field.type)
            self._fields[(*path, index)] = self._pass(width)
        if isinstance(place, ir.StackNext):
            self._next[path[:-1]] = self._next.get(path[:-1], 0) + 1

    def _pass(self, width: int) -> _Span:
        """Move on by some bits, which are new ones as far as none have been looked at."""
        span = _Span(self._cursor, width)
        self._cursor += width
        self._fill(self._cursor)
        return span

    def _fill(self, length: int) -> None:
        """Have at least ``length`` bits."""
        width = length - self._length
        if width > 0:
            value = self._rng.randrange(1 << (min(width, 2) if self._rng.random() < 0.5 else width))
            self._bits, self._length = self._bits << width | value, length

    def _lead(self, expr: ir.Expr, key: ir.Key) -> None:
        """Write into the packet what makes ``expr`` match ``key``, where that can be told."""
        wanted = _wanted(key, self._rng)
        span = self._span(expr)
        if wanted is None or span is None:
            return
        value, mask = wanted
        self._fill(span.at + span.width)
        shift, mask = self._length - span.at - span.width, mask & ((1 << span.width) - 1)
        self._bits = self._bits & ~(mask << shift) | (value & mask) << shift

    def _span(self, expr: ir.Expr) -> _Span | None:
        if isinstance(expr, ir.Cast):
            return self._span(expr.operand)
        if isinstance(expr, ir.Slice):
            span = self._span(expr.base)
            return span and _Span(span.at + span.width - expr.high - 1, expr.high - expr.low + 1)
        if isinstance(expr, ir.Binary) and expr.op == "++":
            parts = self._span(expr.left), self._span(expr.right)
            if parts[0] and parts[1] and parts[0].at + parts[0].width == parts[1].at:
                return _Span(parts[0].at, parts[0].width + parts[1].width)
            return None
        if isinstance(expr, ir.ExternCall) and expr.method == "lookahead":
            return _Span(self._cursor, bit_width(expr.type))
        if isinstance(expr, ir.Member) and isinstance(expr.base, ir.ExternCall):
            whole, base = self._span(expr.base), strip(expr.base.type)
            if whole is None or not isinstance(base, Structure):
                return None
            return _Span(whole.at + sum(bit_width(f.type) for f in base.fields[: expr.index]), bit_width(expr.type))
        path = self._path(expr)
        return self._fields.get(path) if path is not None else None

    def _path(self, expr: ir.Expr) -> _Path | None:
        if isinstance(expr, ir.VarRef):
            return self._names.get(id(expr.var), (id(expr.var),))
        if not isinstance(expr, ir.Member | ir.Element | ir.StackNext | ir.StackLast):
            return None
        path = self._path(expr.base)
        if path is None:
            return None
        if isinstance(expr, ir.Member):
            return (*path, expr.index)
        if isinstance(expr, ir.Element):
            return (*path, ("element", expr.index.value)) if isinstance(expr.index, ir.Const) else None
        return (*path, ("element", self._next.get(path, 0) - isinstance(expr, ir.StackLast)))


def _wanted(key: ir.Key, rng: Random) -> tuple[int, int] | None:
    """A value and the mask of the bits that matter."""
    if isinstance(key, ir.KeyValue) and isinstance(key.value, ir.Const):
        return int(key.value.value), -1
    if isinstance(key, ir.KeyMask) and isinstance(key.value, ir.Const) and isinstance(key.mask, ir.Const):
        return int(key.value.value), int(key.mask.value)
    if isinstance(key, ir.KeyRange) and isinstance(key.low, ir.Const) and isinstance(key.high, ir.Const):
        low, high = int(key.low.value), int(key.high.value)
        return (rng.randint(low, high), -1) if low <= high else None
    return None
