# SPDX-License-Identifier: Apache-2.0
"""Parsers: each state is a function that returns the next one (P4-16 section 13)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.faults import NO_ERROR
from offramp_p4.source import Unsupported

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Generator

MAX_STATES: Final = 65536
"""States that one packet may visit in a parser with loops, before error.ParserTimeout."""
_MAX_INLINE: Final = 10


def write_parser(g: Generator, parser: ir.ParserInstance, name: str) -> None:
    """Write the function of a parser and those of its states."""
    states = _States(g, parser)
    with g.function(name):
        g.reached(parser)
        for stmt in parser.locals:
            g.statement(stmt)
        g.line(f"state = {states.name('start')}")
        if may_repeat(parser):
            longest = max(g.work.of(state) for state in parser.states.values())
            with g.indented(f"for _ in range({MAX_STATES}):"):
                g.count(longest)
                g.line("state = state(m)")
                with g.indented("if state is None:"):
                    g.line("return")
            g.line(f"raise ParserFault({_code(g, 'ParserTimeout')})")
        else:
            with g.indented("while state is not None:"):
                g.line("state = state(m)")


class _States:
    """The states of one parser; those that only one transition leads to are written where it stands."""

    def __init__(self, g: Generator, parser: ir.ParserInstance) -> None:
        self.g, self.parser = g, parser
        self.arrivals = Counter(case.target for s in parser.states.values() for case in s.cases)
        self.names: dict[str, str] = {}
        self.depth = 0

    def name(self, state: str) -> str:
        """The name of the function of a state."""
        if state not in self.names:
            self.names[state] = self.g.name(f"state_{state}")
            outer, self.depth = self.depth, 0
            with self.g.function(self.names[state]):
                self._body(self.parser.states[state])
            self.depth = outer
        return self.names[state]

    def _body(self, state: ir.ParserState) -> None:
        self.g.reached(state)
        for stmt in state.body:
            self.g.statement(stmt)
        if not state.select:
            self.g.reached(state.cases[0])
            self._go(state.cases[0].target)
            return
        values = [(self.g.temporary(self.g.value(e), "key"), e) for e in state.select]
        for case in state.cases:
            test = self._test(values, case)
            names = [name for name, _ in values]
            if test is None:
                self.g.reached(case, names)
                self._go(case.target)
                return
            with self.g.indented(f"if {test}:"):
                self.g.reached(case, names)
                self._go(case.target)
        self.g.line(f"raise ParserFault({_code(self.g, 'NoMatch')})")

    def _go(self, target: str) -> None:
        if target == "accept":
            self.g.line("return None")
        elif target == "reject":
            self.g.line(f"raise ParserFault({NO_ERROR})")
        elif target != "start" and self.arrivals[target] == 1 and self.depth < _MAX_INLINE:
            self.depth += 1
            self._body(self.parser.states[target])
            self.depth -= 1
        else:
            self.g.line(f"return {self.name(target)}")

    def _test(self, values: list[tuple[str, ir.Expr]], case: ir.SelectCase) -> str | None:
        """Text of the condition of a case; None if it always holds."""
        if len(case.keys) == 1 and isinstance(case.keys[0], ir.KeyValueSet):
            return self._contains(case.keys[0], values)
        if len(case.keys) == 1 and isinstance(case.keys[0], ir.KeyAny):
            return None
        tests = [self._key(name, expr, key) for (name, expr), key in zip(values, case.keys, strict=True)]
        return " and ".join(t for t in tests if t) or None

    def _key(self, name: str, expr: ir.Expr, key: ir.Key) -> str:
        g = self.g
        if isinstance(key, ir.KeyAny):
            return ""
        if isinstance(key, ir.KeyValueSet):
            return self._contains(key, [(name, expr)])
        if isinstance(key, ir.KeyRange):
            return f"{g.value(key.low)} <= {name} <= {g.value(key.high)}"
        value = g.value(key.value)
        if isinstance(key, ir.KeyMask):
            mask = g.value(key.mask)
            return f"({name} ^ {value}) & {mask} == 0"
        return f"{name} == {value}"

    def _contains(self, key: ir.KeyValueSet, values: list[tuple[str, ir.Expr]]) -> str:
        state = self.g.target.value_sets.get(key.value_set)
        if state is None:
            raise Unsupported(key.value_set.pos, f"value set {key.value_set.name}")
        patterns = ", ".join(lvalues.pattern(name, expr.type) for name, expr in values)
        return f"{self.g.bind(state, 'value_set')}.contains({patterns})"


def may_repeat(parser: ir.ParserInstance) -> bool:
    """Whether a packet may visit a state again."""
    finished: set[str] = set()

    def loops(name: str, path: frozenset[str]) -> bool:
        if name in path:
            return True
        if name in finished or name not in parser.states:
            return False
        cyclic = any(loops(case.target, path | {name}) for case in parser.states[name].cases)
        finished.add(name)
        return cyclic

    return loops("start", frozenset())


def _code(g: Generator, error: str) -> int:
    return g.program.errors.index(error) if error in g.program.errors else NO_ERROR
