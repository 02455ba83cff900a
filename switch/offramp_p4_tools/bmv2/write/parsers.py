# SPDX-License-Identifier: Apache-2.0
"""Parsers: a P4 state becomes a state of bmv2, or several if it branches, loops or applies another parser."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, product
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import NOWHERE, Unsupported
from offramp_p4.types import BOOL, ERROR, Bits, Header, bit_width, strip
from offramp_p4_tools.bmv2.write.code import END, BasicBlock, Branch, Jump, Label, Primitive, Select, blocks
from offramp_p4_tools.bmv2.write.expressions import digits, hexstr, is_place
from offramp_p4_tools.bmv2.write.places import FieldAt, HeaderAt, Json, Place, StackAt, UnionAt, ValueGroup, bits_of
from offramp_p4_tools.bmv2.write.statements import StatementWriter

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.document import Document

_OPERATIONS: Final = {"extract", "extract_VL", "verify", "advance", "set"}
_MAX_RANGE_CASES: Final = 4096


def write_parser(
    document: Document,
    parser: ir.ParserInstance,
    name: str,
    number: int,
    before: Callable[[StatementWriter], None] | None = None,
) -> Json:
    """The JSON of a parser; ``before`` writes the statements that come first."""
    s = ParserStatements(document)
    if before is not None:
        before(s)
    s.inlined(parser, [])
    code_blocks = blocks(s.code)
    names = s.state_names(list(code_blocks))
    states = [_state(s, block, names, i) for i, block in enumerate(code_blocks.values())]
    first = names[next(iter(code_blocks))] if code_blocks else None
    return {"name": name, "id": number, "init_state": first, "parse_states": states}


def _state(s: ParserStatements, block: BasicBlock, names: dict[Label, str | None], number: int) -> Json:
    keys: list[Json] = []
    end = block.end
    if isinstance(end, Branch):
        test = s.document.places.temporary(BOOL, "tmp")
        assert isinstance(test, FieldAt)
        value = {
            "type": "expression",
            "value": {"type": "expression", "value": {"op": "b2d", "left": None, "right": end.condition}},
        }
        block.body.append(Primitive("assign", [test.json, value], end.pos))
        keys = [test.json]
        transitions = [(_transition("hexstr", "0x01"), block.then), (_transition("default", None), end.otherwise)]
    elif isinstance(end, Select):
        keys, transitions = end.keys, end.transitions
    else:
        assert isinstance(end, Jump)
        transitions = [(_transition("default", None), end.label)]
    return {
        "name": names[block.label],
        "id": number,
        "parser_ops": [_operation(p) for p in block.body if isinstance(p, Primitive)],
        "transitions": [{**value, "next_state": names[label]} for value, label in transitions],
        "transition_key": keys,
    }


def _operation(p: Primitive) -> Json:
    if p.op in _OPERATIONS:
        return {"op": p.op, "parameters": p.parameters}
    if p.op == "assign" and p.parameters[0]["type"] == "field":
        return {"op": "set", "parameters": p.parameters}
    return {"op": "primitive", "parameters": [{"op": p.op, "parameters": p.parameters}]}


def _transition(kind: str, value: str | None, mask: str | None = None) -> Json:
    return {"type": kind, "value": value, "mask": mask}


class ParserStatements(StatementWriter):
    """Statements of states, with the externs of ``packet_in``."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._named: dict[Label, str] = {}
        self._applied: list[str] = []

    def state_names(self, labels: list[Label]) -> dict[Label, str | None]:
        """A name for each state; END has none."""
        out: dict[Label, str | None] = {END: None}
        taken: set[str] = set()
        numbers = count()
        for position, label in enumerate(labels):
            name = "start" if position == 0 else self._named.get(label) or f"state_{next(numbers)}"
            while name in taken or (position and name == "start"):
                name = f"{self._named.get(label, 'state')}_{next(numbers)}"
            taken.add(name)
            out[label] = name
        return out

    def inlined(self, target: ir.ParserInstance | ir.ControlInstance, copies: list[tuple[ir.Expr, ir.Var]]) -> None:
        """Write the states of a parser that is applied; the code continues after them."""
        if not isinstance(target, ir.ParserInstance):
            super().inlined(target, copies)
            return
        for stmt in target.locals:
            self.run(stmt)
        accepted = self.code.label()
        labels = {name: self.code.label() for name in target.states}
        prefix = "".join(f"{name}_" for name in self._applied)
        self._named |= {label: prefix + name for name, label in labels.items()}
        labels |= {"accept": accepted, "reject": END}
        self._applied.append(target.name.rpartition(".")[2])
        self.code.jump(labels["start"])
        for name, state in target.states.items():
            self.code.mark(labels[name])
            for stmt in state.body:
                self.run(stmt)
            self._go(state, labels)
        self._applied.pop()
        self.code.mark(accepted)
        self._copy_out(copies)

    # --- transitions ----------------------------------------------------------------------------------------

    def _go(self, state: ir.ParserState, labels: dict[str, Label]) -> None:
        if not state.select:
            self.code.jump(labels[state.cases[0].target])
            return
        keys = [self._key(e) for e in state.select]
        transitions: list[tuple[Json, Label]] = []
        for case in state.cases:
            transitions += [(value, labels[case.target]) for value in self._values(case, state.select)]
            if transitions[-1][0]["type"] == "default":
                self.code.add(Select(keys, transitions))
                return
        no_match = self.code.label()
        self._named[no_match] = f"{state.name}_no_match"
        transitions.append((_transition("default", None), no_match))
        self.code.add(Select(keys, transitions))
        self.code.mark(no_match)
        self.code.add(Primitive("verify", [{"type": "bool", "value": False}, self._error("NoMatch", state)], state.pos))
        self.code.jump(END)

    def _error(self, name: str, at: ir.ParserState) -> Json:
        errors = self.document.program.errors
        if name not in errors:
            raise Unsupported(at.pos, f"a program without error.{name}")
        return hexstr(errors.index(name))

    def _key(self, e: ir.Expr) -> Json:
        if isinstance(e, ir.Member) and isinstance(e.base, ir.StackLast):
            stack, header = self.expressions.place(e.base.base), strip(e.base.type)
            if isinstance(stack, StackAt) and isinstance(header, Header):
                return {"type": "stack_field", "value": [stack.name, header.fields[e.index].name]}
        place = self.expressions.place(e) if is_place(e) else None
        if not isinstance(place, FieldAt):
            place = self.expressions.place(self.saved(self.pure(e)))
        assert isinstance(place, FieldAt)
        return place.json

    def _values(self, case: ir.SelectCase, select: list[ir.Expr]) -> list[Json]:
        """The transitions of a case: more than one where a range needs several masks."""
        if isinstance(case.keys[0], ir.KeyValueSet) and len(case.keys) == 1:
            return [_transition("parse_vset", case.keys[0].value_set.name)]
        if len(case.keys) == 1 and isinstance(case.keys[0], ir.KeyAny):
            return [_transition("default", None)]
        each = [_ternaries(key, bits_of(e.type), case) for key, e in zip(case.keys, select, strict=True)]
        if not any(mask for options in each for _, mask in options):
            return [_transition("default", None)]
        out: list[Json] = []
        for choice in product(*each):
            value = mask = size = 0
            exact = True
            for (v, m), e in zip(choice, select, strict=True):
                bits = bits_of(e.type)
                octets = (bits.width + 7) // 8
                value, mask, size = value << 8 * octets | v, mask << 8 * octets | m, size + octets
                exact = exact and m == bits.mask
            out.append(_transition("hexstr", digits(value, size), None if exact else digits(mask, size)))
            if len(out) > _MAX_RANGE_CASES:
                raise Unsupported(case.pos, "this many ranges in one case, in bmv2's JSON")
        return out

    # --- packet_in --------------------------------------------------------------------------------------------

    def call(self, e: ir.Expr) -> ir.Expr | None:
        """Write a call."""
        if isinstance(e, ir.ExternCall) and (e.extern == "packet_in" or (e.extern, e.method) == ("", "verify")):
            return {
                "extract": self._extract,
                "lookahead": self._lookahead,
                "advance": self._advance,
                "length": self._length,
                "verify": self._verify,
            }[e.method](e)
        return super().call(e)

    def _extract(self, e: ir.ExternCall) -> None:
        place = e.args[0].expr
        if place is None:
            width = bit_width(e.type_args[0])
            self.code.add(Primitive("advance", [hexstr(width)], e.pos))
            return
        target: Json
        if isinstance(place, ir.StackNext):
            target = {"type": "stack", "value": self._stack(place.base).name}
        elif isinstance(place, ir.Member) and isinstance(place.base, ir.StackNext):
            union = self._stack(place.base.base)
            member = union.elements[0]
            assert isinstance(member, UnionAt)
            target = {"type": "union_stack", "value": [union.name, member.type.fields[place.index].name]}
        else:
            at = self.expressions.place(place)
            if not isinstance(at, HeaderAt) or at.name is None:
                raise Unsupported(e.pos, "extract into a header that is known at run time only, in bmv2's JSON")
            target = {"type": "regular", "value": at.name}
        if len(e.args) == 2:
            size = self.expressions.value(self.pure(argument(e, 1)))
            self.code.add(Primitive("extract_VL", [target, {"type": "expression", "value": size}], e.pos))
        else:
            self.code.add(Primitive("extract", [target], e.pos))

    def _stack(self, e: ir.Expr) -> StackAt:
        stack = self.expressions.place(e)
        assert isinstance(stack, StackAt)
        return stack

    def _lookahead(self, e: ir.ExternCall) -> ir.Expr:
        """Look ahead; several fields are read in one piece, because bmv2 does not notice if a later one is missing."""
        t = e.type_args[0]
        width = bit_width(t)
        result, whole = self.variable(t, "lookahead", e.pos), self.variable(Bits(width), "lookahead", e.pos)
        place = self.expressions.place(result)
        into = place if isinstance(place, FieldAt) else self.expressions.place(whole)
        assert isinstance(into, FieldAt)
        self.code.add(Primitive("set", [into.json, {"type": "lookahead", "value": [0, width]}], e.pos))
        if into is not place:
            self._take(place, whole, width, e)
        return result

    def _take(self, place: Place, whole: ir.Expr, left: int, e: ir.ExternCall) -> int:
        """Fill a place from the highest of the ``left`` bits of ``whole``; returns the number of bits left after it."""
        if isinstance(place, FieldAt):
            width = bits_of(place.type).width
            part = ir.Slice(whole, left - 1, left - width, type=Bits(width), pos=e.pos)
            self.store(place, ir.Cast(part, type=place.type, pos=e.pos), e.pos)
            return left - width
        if isinstance(place, HeaderAt):
            self.primitive("add_header", place.json, pos=e.pos)
            parts: list[Place] = [place.member(i) for i in range(len(place.type.fields))]
        elif isinstance(place, ValueGroup):
            parts = list(place.parts)
        else:
            raise Unsupported(e.pos, f"lookahead of {e.type_args[0]} in bmv2's JSON")
        for inner in parts:
            left = self._take(inner, whole, left, e)
        return left

    def _advance(self, e: ir.ExternCall) -> None:
        self.primitive("advance", self.expressions.value(self.pure(argument(e, 0))), pos=e.pos)

    def _length(self, e: ir.ExternCall) -> ir.Expr:
        var = ir.Var("length", Bits(32))
        self.document.variables.bind(var, self.document.packet_length(e.pos))
        return ir.VarRef(var, type=Bits(32), pos=e.pos)

    def _verify(self, e: ir.ExternCall) -> None:
        test, error = self.pure(argument(e, 0)), self.pure(argument(e, 1))
        assert strip(error.type) == ERROR
        self.code.add(Primitive("verify", [self.expressions.boolean(test), self.expressions.value(error)], e.pos))


def _ternaries(key: ir.Key, bits: Bits, case: ir.SelectCase) -> list[tuple[int, int]]:
    """Values and masks that together match what a key matches."""
    if isinstance(key, ir.KeyAny):
        return [(0, 0)]
    if isinstance(key, ir.KeyValueSet):
        raise Unsupported(case.pos, "a value set beside other keys, in bmv2's JSON")
    if isinstance(key, ir.KeyRange):
        if bits.signed:
            raise Unsupported(case.pos, "a range of signed numbers in a select, in bmv2's JSON")
        return prefixes(_constant(key.low, bits, case), _constant(key.high, bits, case), bits.width)
    mask = _constant(key.mask, bits, case) if isinstance(key, ir.KeyMask) else bits.mask
    return [(_constant(key.value, bits, case) & mask, mask)]


def _constant(e: ir.Expr, bits: Bits, case: ir.SelectCase) -> int:
    if not isinstance(e, ir.Const) or not isinstance(e.value, int):
        raise Unsupported(
            e.pos if e.pos != NOWHERE else case.pos, "a select case that is not a constant, in bmv2's JSON"
        )
    return e.value & bits.mask


def prefixes(low: int, high: int, width: int) -> list[tuple[int, int]]:
    """The fewest values with prefix masks that match ``low`` to ``high``; none if that range is empty."""
    out: list[tuple[int, int]] = []
    while low <= high:
        size = low & -low or 1 << width
        while size > high - low + 1:
            size >>= 1
        out.append((low, ((1 << width) - 1) & ~(size - 1)))
        low += size
    return out
