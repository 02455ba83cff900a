# SPDX-License-Identifier: Apache-2.0
"""Random parsers: selects over values, masks, ranges and defaults, stacks, varbits, look-ahead, verify."""

from __future__ import annotations

from typing import Final

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import condition, expression
from offramp_p4_tools.fuzz.externs import Lines
from offramp_p4_tools.fuzz.scope import ReachableNames
from offramp_p4_tools.fuzz.shapes import Shapes
from offramp_p4_tools.fuzz.statements import StatementGenerator

_SUB = [
    "parser Sub(packet_in packet, out h1_t h) {",
    "state start {", "packet.extract(h);", "transition select(packet.lookahead<bit<8>>()) {",
    "8w0x80 &&& 8w0x80: more;", "default: accept;", "}", "}",
    "state more {", "packet.advance(8);", "transition accept;", "}", "}",
]  # fmt: skip


V1MODEL: Final = "parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std)"


def write_parser(
    statements: StatementGenerator,
    scope: ReachableNames,
    shapes: Shapes,
    head: str = V1MODEL,
    lead: str = "",
    *,
    verifies: bool = True,
    objects: str = "",
) -> tuple[Lines, list[int]]:
    """The parser, and the values that its selects look for in bytes.

    ``head`` names it and its parameters, ``lead`` comes before the first header; ``verifies``: it may call ``verify``;
    ``objects`` are declared in it.
    """
    return _Parser(statements, scope, shapes, head, lead, verifies, objects).write()


class _Parser:
    def __init__(
        self,
        statements: StatementGenerator,
        scope: ReachableNames,
        shapes: Shapes,
        head: str,
        lead: str,
        verifies: bool,
        objects: str,
    ) -> None:
        self.head, self.lead, self.verifies, self.objects = head, lead, verifies, objects
        self.statements, self.scope, self.shapes, self.rng = statements, scope, shapes, scope.rng
        scope.in_parser, scope.headers, scope.stacks = True, [], []
        # A packet goes through the states in this order, each at most once but for the stack's.
        self.states = ["one", "two", "stack"]
        self.states += ["variable"] if shapes.has_varbit else []
        self.states += ["either_0", "either_1"] if shapes.has_union else []
        self.rng.shuffle(self.states)
        self.hints: list[int] = []
        self.uses_sub = self.rng.random() < 0.4

    def write(self) -> tuple[Lines, list[int]]:
        head, sub = f"{self.head} {{", self.statements.name("Sub")
        lines = [_SUB[0].replace("Sub", sub), *_SUB[1:], head] if self.uses_sub else [head]
        lines += [f"{sub}() sub;"] if self.uses_sub else []
        lines += [self.objects] if self.objects else []
        lines += ["value_set<bit<8>>(4) few;", "value_set<seen_t>(4) pairs;"]
        lines += [*self._state("start", f"{self.lead}packet.extract(hdr.h0);", self.states)]
        for at, name in enumerate(self.states):
            later = self.states[at + 1 :]
            lines += self._state(name, self._extract(name), later)
        return [*lines, "}"], self.hints

    def _extract(self, name: str) -> str:
        return {
            "one": "packet.extract(hdr.h1);",
            "two": "sub.apply(packet, hdr.h2);"
            if self.uses_sub
            else self.rng.choice(("packet.extract(hdr.h2);", "packet.extract<h1_t>(_);")),
            "stack": "packet.extract(hdr.items.next);",
            "variable": "packet.extract(hdr.var, (bit<32>)packet.lookahead<bit<8>>()[2:0] * 8);",
            "either_0": "packet.extract(hdr.either.u0);",
            "either_1": "packet.extract(hdr.either.u1);",
        }[name]

    def _state(self, name: str, extract: str, later: list[str]) -> Lines:
        lines = [f"state {name} {{", extract]
        if self.rng.random() < 0.4:
            lines += self.statements.block(self.scope, 2, 0)
        if self.verifies and self.rng.random() < 0.2:
            lines.append(f"verify({condition(self.scope)}, error.{self.rng.choice(('Odd', 'NoMatch'))});")
        if self.rng.random() < 0.15:
            lines.append("packet.advance(8);")
        if name == "stack":
            lines += ["transition select(hdr.items.last.more) {", f"{self._value()}: stack;"]
            return [*lines, f"default: {self._target(later)};", "}", "}"]
        if not later or self.rng.random() < 0.1:
            return [*lines, f"transition {self._target(later)};", "}"]
        return [*lines, *self._select(later), "}"]

    def _select(self, later: list[str]) -> Lines:
        key = self.rng.choice(("hdr.h0.kind", "hdr.h0.next", "packet.lookahead<bit<8>>()"))
        second = self.rng.random() < 0.3
        other = expression(self.scope, Bits(4), 1)
        lines = [f"transition select({key}{', ' + other if second else ''}) {{"]
        for _ in range(self.rng.randint(1, 4)):
            case = self._case()
            from_set = self.rng.random() < 0.2
            if from_set and not (second and self.scope.portable):
                case = "pairs" if second else "few"
            elif second:
                case = f"({case}, {self.rng.choice(('_', '4w3', '4w8 &&& 4w12', '4w2..4w9'))})"
            lines.append(f"{case}: {self._target(later)};")
        if self.rng.random() < 0.8:
            lines.append(f"default: {self._target(later)};")
        return [*lines, "}"]

    def _case(self) -> str:
        value = self._value()
        mask = self.rng.randrange(256)
        if self.scope.portable:  # bmv2 never takes a case with bits outside of its mask
            mask |= self.hints[-1]
        return self.rng.choice((value, value, f"{value} &&& 8w{mask}", f"8w0 .. {value}"))

    def _value(self) -> str:
        value = self.rng.choice((self.rng.randrange(4), self.rng.randrange(256)))
        self.hints.append(value)
        return f"8w{value}"

    def _target(self, later: list[str]) -> str:
        if self.rng.random() < 0.05:
            return "reject"
        return self.rng.choice(later) if later and self.rng.random() < 0.8 else "accept"
