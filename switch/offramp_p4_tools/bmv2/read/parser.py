# SPDX-License-Identifier: Apache-2.0
"""The parsers of a document."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.types import ERROR, Bits, ExternType, Header, Stack, Struct, StructField, Type, Union, Varbit, strip
from offramp_p4_tools.bmv2.read.enums import call
from offramp_p4_tools.bmv2.read.expressions import unwrapped
from offramp_p4_tools.bmv2.read.layout import member
from offramp_p4_tools.bmv2.read.nodes import JsonNode
from offramp_p4_tools.bmv2.read.numbers import bits_of, convert, number

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.expressions import ExpressionReader
    from offramp_p4_tools.bmv2.read.primitives import Primitives

_ENDS: Final = frozenset({"start", "accept", "reject"})
MAX_ERROR: Final = 4096


class Errors:
    """The errors of a document: their numbers are what its expressions compare.

    Attributes:
        names: names by number.
        none: the number of NoError.
    """

    def __init__(self, document: JsonNode) -> None:
        names = {e[1].number(0, MAX_ERROR): e[0].text for e in document.each("errors")}
        core = (
            "NoError",
            "PacketTooShort",
            "NoMatch",
            "StackOutOfBounds",
            "HeaderTooShort",
            "ParserTimeout",
            "ParserInvalidArgument",
        )
        free = (i for i in range(MAX_ERROR + len(core) + 1) if i not in names)
        for name in core:
            if name not in names.values():
                names[next(free)] = name
        self.names = [names.get(i, f"error_{i}") for i in range(max(names) + 1)]
        self.none = self.names.index("NoError")

    def extend(self, number: int) -> None:
        """Name an error that the document uses but does not list, as p4c's for PSA do."""
        self.names += [f"error_{i}" for i in range(len(self.names), number + 1)]


class ParserReader:
    """Reads parsers."""

    def __init__(
        self, document: JsonNode, primitives: Primitives, value_sets: Mapping[str, ir.ValueSet], errors: Errors
    ) -> None:
        self.document, self.value_sets, self.errors = document, value_sets, errors
        self.primitives = primitives
        self.x: ExpressionReader = primitives.x
        self.packet = ir.Var("packet", ExternType("packet_in"))
        self._shapes: dict[str, set[tuple[int, ...]]] = {}
        self.x.packet = self.packet
        self._find_shapes()
        self.x.packet = None

    def read(
        self, name: str, node: JsonNode | None, params: list[ir.Var], before: Sequence[ir.Stmt] = ()
    ) -> ir.ParserInstance:
        """The parser ``node``, which runs ``before`` first; without one every packet is accepted.

        Args:
            name: name of the parser.
            node: its place in the document, or None.
            params: its parameters behind the packet.
            before: statements in front of its first state.
        """
        states: dict[str, ir.ParserState] = {}
        start = "accept"
        self.x.packet = self.packet
        if node is not None:
            known = {s["name"].text for s in node["parse_states"]}
            names = {word: _free(word, known) if word in _ENDS else word for word in known}
            for s in node["parse_states"]:
                if names[s["name"].text] in states:
                    s["name"].fail(f"state '{s['name'].text[:80]}' is there twice")
                states[names[s["name"].text]] = self._state(s, names)
            if "init_state" in node:
                start = self._target(node["init_state"], names)
        self.x.packet = None
        states["start"] = ir.ParserState("start", list(before), [], [ir.SelectCase([], start)])
        return ir.ParserInstance(name, name, [self.packet, *params], [], states)

    def _find_shapes(self) -> None:
        """Find the widths of the keys that each value set is compared with; they may differ from state to state."""
        states = (state for parser in self.document.each("parsers") for state in parser.each("parse_states"))
        for state in states:
            names = {t["value"].text for t in state.each("transitions") if _is_value_set(t)}
            if names:
                widths = tuple(bits_of(self._key(key)).width for key in state.each("transition_key"))
                for name in names:
                    self._shapes.setdefault(name, set()).add(widths)

    def _target(self, node: JsonNode, names: dict[str, str]) -> str:
        if node.value is None:
            return "accept"
        return names.get(node.text) or node.fail(f"there is no state '{node.text[:80]}'")

    def _state(self, node: JsonNode, names: dict[str, str]) -> ir.ParserState:
        body: list[ir.Stmt] = []
        for op in node.each("parser_ops"):
            self.x.before = []
            statements = self._operation(op)
            body += [*self.x.before, *statements]
        keys = [self._key(k) for k in node.each("transition_key")]
        sets = [t["value"].text for t in node.each("transitions") if _is_value_set(t)]
        joined = len(keys) > 1 and any(len(self._shapes[name]) > 1 for name in sets)
        cases: list[ir.SelectCase] = []
        for t in node.each("transitions"):
            target = self._target(t["next_state"], names) if "next_state" in t else "accept"
            cases.append(ir.SelectCase(self._case(t, keys, joined=joined), target))
            if isinstance(cases[-1].keys[0], ir.KeyAny) and len(cases[-1].keys) == 1:
                break
        else:
            cases.append(ir.SelectCase([ir.KeyAny()], "accept"))
        if not keys:
            return ir.ParserState(names[node["name"].text], body, [], [ir.SelectCase([], cases[-1].target)])
        return ir.ParserState(names[node["name"].text], body, [reduce(_concatenated, keys)] if joined else keys, cases)

    def _key(self, node: JsonNode) -> ir.Expr:
        e = self.x.exact(node)
        return convert(e, Bits(bits_of(e).width))

    def _case(self, t: JsonNode, keys: list[ir.Expr], *, joined: bool) -> list[ir.Key]:
        """The keys of a transition: one for all keys of the state together where they are ``joined``."""
        word = t["type"].text if "type" in t else "default" if t["value"].value == "default" else "hexstr"
        if word == "default" or not keys:
            return [ir.KeyAny()]
        if word == "parse_vset":
            return [ir.KeyValueSet(self._value_set(t, keys))]
        if word != "hexstr":
            t["type"].fail(f"'{word[:80]}': expected default, hexstr or parse_vset")
        value, mask = t["value"].hex, t["mask"].hex if "mask" in t else None
        parts: list[tuple[Bits, int, int]] = []
        for bits in reversed([bits_of(key) for key in keys]):
            octets = (bits.width + 7) // 8
            parts.append((bits, value & bits.mask, bits.mask if mask is None else mask & bits.mask))
            value >>= 8 * octets
            mask = None if mask is None else mask >> 8 * octets
        if value:
            t["value"].fail("longer than the keys of its state")
        if joined:
            whole, wanted, relevant = 0, 0, 0
            for bits, part, masked in parts:
                wanted, relevant, whole = wanted | part << whole, relevant | masked << whole, whole + bits.width
            parts = [(Bits(whole), wanted, relevant)]
        out = [_key_of(*part) for part in reversed(parts)]
        return out if len(out) > 1 or not isinstance(out[0], ir.KeyAny) else [ir.KeyAny()]

    def _value_set(self, t: JsonNode, keys: list[ir.Expr]) -> ir.ValueSet:
        name = t["value"].text
        value_set = self.value_sets.get(name) or t["value"].fail(f"there is no parse value set '{name[:80]}'")
        if "mask" in t and t["mask"].hex != (1 << t["mask"].hex.bit_length()) - 1:
            t["mask"].fail("a mask on a parse value set is not supported")
        widths = [bits_of(key) for key in keys]
        width = value_set.element.width if isinstance(value_set.element, Bits) else None
        if width is not None and width != sum(w.width for w in widths):
            t["value"].fail(
                f"'{name[:80]}' has values of {width} bits, the keys of its state {sum(w.width for w in widths)}"
            )
        if len(widths) > 1 and width is not None and len(self._shapes[name]) == 1:
            value_set.element = Struct(name, fields=[StructField(f"f{i}", w) for i, w in enumerate(widths)])
            value_set.match_kinds = ["exact"] * len(widths)
        return value_set

    # --- operations ---------------------------------------------------------------------------------------------

    def _operation(self, op: JsonNode) -> list[ir.Stmt]:
        word = op["op"].choice("extract", "extract_VL", "set", "verify", "shift", "advance", "primitive")
        p = op["parameters"]
        if word in {"extract", "extract_VL"}:
            return self._extract(p, variable=word == "extract_VL")
        if word == "set":
            return self.primitives.assign(p)
        if word == "verify":
            return self._verify(p)
        if word == "primitive":
            return self.primitives.statements(p[0])
        amount = number(8 * p[0].number(0, 1 << 16), Bits(32)) if word == "shift" else self.x.unsigned(p[0], 32)
        return [call("advance", ("in", amount), of=self.packet, extern="packet_in", types=[])]

    def _extract(self, p: JsonNode, *, variable: bool) -> list[ir.Stmt]:
        word = p[0]["type"].choice("regular", "stack", "union_stack")
        place: ir.Expr
        if word == "regular":
            place = self.x.layout.header(p[0]["value"])
        else:
            names = p[0]["value"] if word == "union_stack" else JsonNode([p[0]["value"].value], p[0].path)
            place = self._next(names)
        t = strip(place.type)
        if not isinstance(t, Header) or variable != any(isinstance(f.type, Varbit) for f in t.fields):
            p[0].fail(f"{t} cannot be extracted {'with' if variable else 'without'} a length")
        more: list[tuple[ir.Direction, ir.Expr]] = [("in", self.x.unsigned(p[1], 32))] if variable else []
        types: list[Type] = [t]
        return [call("extract", ("out", place), *more, of=self.packet, extern="packet_in", types=types)]

    def _next(self, names: JsonNode) -> ir.Expr:
        stack = self.x.layout.stack(names[0])
        t = strip(stack.type)
        assert isinstance(t, Stack)
        place: ir.Expr = ir.StackNext(stack, type=t.element)
        if len(names) > 1:
            union = strip(t.element)
            if not isinstance(union, Union) or names[1].text not in union.index:
                names[1].fail(f"there is no '{names[1].text[:80]}' in {union}")
            place = member(place, union.index[names[1].text])
        return place

    def _verify(self, p: JsonNode) -> list[ir.Stmt]:
        code = self.x.exact(unwrapped(p[1]))
        if not isinstance(code, ir.Const) or not 0 <= int(code.value) <= MAX_ERROR:
            p[1].fail("expected the number of an error")
        self.errors.extend(int(code.value))
        return [call("verify", ("in", self.x.boolean(p[0])), ("in", ir.Const(code.value, type=ERROR)))]


def _free(word: str, taken: Collection[str]) -> str:
    """A name like ``word`` that is free."""
    while word in taken:
        word += "_"
    return word


def _is_value_set(transition: JsonNode) -> bool:
    return "type" in transition and transition["type"].text == "parse_vset"


def _concatenated(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary("++", left, right, type=Bits(bits_of(left).width + bits_of(right).width))


def _key_of(bits: Bits, value: int, mask: int) -> ir.Key:
    wanted = ir.Const(value, type=bits)
    if mask == bits.mask:
        return ir.KeyValue(wanted)
    return ir.KeyMask(wanted, ir.Const(mask, type=bits)) if mask else ir.KeyAny()
