# SPDX-License-Identifier: Apache-2.0
"""Graphs and jumps as structured statements.

bmv2's controls are graphs of tables and conditionals, its actions lists with jumps. A graph without cycles becomes
nested statements, branches ending where their paths meet; where that would repeat too much, and where an action
jumps back, a variable says which step is next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from offramp_p4 import ir
from offramp_p4.types import BOOL, Bits
from offramp_p4_tools.bmv2.graphs import ordered

NEXT: Final = Bits(32)
_REPEATS: Final = 4
"""Most statements that a flow may become, as a multiple of its graph."""

Build = Callable[[Sequence[ir.Stmt]], list[ir.Stmt]]


@dataclass(eq=False, slots=True)
class FlowStep:
    """Statements, then a branch to the step of one of ``ways``; None is the end.

    ``build`` takes a statement for each of ``ways`` and makes the branch between them of these.
    """

    body: list[ir.Stmt]
    ways: list[str | None]
    build: Build | None = None


@dataclass(slots=True)
class FlowGraph:
    """Steps by name, and their order as structured statements."""

    steps: dict[str, FlowStep] = field(default_factory=dict)

    def cycle(self, start: str | None) -> str | None:
        """A step that is reached again, or None."""
        return ordered({name: step.ways for name, step in self.steps.items()}, start)[1]

    def statements(self, start: str | None) -> list[ir.Stmt]:
        """The statements of the flow from ``start`` on."""
        if start is None:
            return []
        order, cycle = ordered({name: step.ways for name, step in self.steps.items()}, start)
        if cycle is not None:
            return self._stepped(start, list(self.steps), loops=True)
        nested = _NestedStatements(self.steps, order)
        try:
            return nested.statements(start, None)
        except _TooLongError:
            return self._stepped(start, order, loops=False)

    def _stepped(self, start: str, order: list[str], *, loops: bool) -> list[ir.Stmt]:
        """The statements from ``start`` as a loop over a variable that holds the next step; 0 is the end."""
        numbers: dict[str | None, int] = {None: 0, **{name: i for i, name in enumerate(order, 1)}}
        variable = ir.VarRef(ir.Var("next", NEXT), type=NEXT)

        def go(name: str | None) -> ir.Stmt:
            return ir.Assign(variable, ir.Const(numbers[name], type=NEXT))

        body: list[ir.Stmt] = []
        for name in order:
            step = self.steps[name]
            inner = list(step.body)
            inner += [go(step.ways[0])] if step.build is None else step.build([go(way) for way in step.ways])
            here = ir.Binary("==", variable, ir.Const(numbers[name], type=NEXT), type=BOOL)
            body.append(ir.If(here, ir.Block(inner), None))
        declare = ir.Declare(variable.var, ir.Const(numbers[start], type=NEXT))
        if not loops:
            return [declare, *body]
        again = ir.Binary("!=", variable, ir.Const(0, type=NEXT), type=BOOL)
        return [declare, ir.ForLoop([], again, [], ir.Block(body))]


class _TooLongError(Exception):
    pass


class _NestedStatements:
    """Statements of a graph without cycles."""

    def __init__(self, steps: dict[str, FlowStep], order: list[str]) -> None:
        self._steps = steps
        self._left = _REPEATS * len(order) + 16
        self._rank = {name: i for i, name in enumerate(order)}
        self._joins: dict[str, str | None] = {}
        for name in reversed(order):
            ways = list(dict.fromkeys(steps[name].ways))
            join = ways[0]
            for way in ways[1:]:
                join = self._meet(join, way)
            self._joins[name] = join

    def _meet(self, a: str | None, b: str | None) -> str | None:
        """The first step that every path from ``a`` and every path from ``b`` comes through."""
        while a != b:
            if a is None or b is None:
                return None
            if self._rank[a] < self._rank[b]:
                a = self._joins[a]
            else:
                b = self._joins[b]
        return a

    def statements(self, name: str | None, stop: str | None) -> list[ir.Stmt]:
        """The statements from ``name`` up to ``stop``."""
        out: list[ir.Stmt] = []
        while name is not None and name != stop:
            self._left -= 1
            if self._left < 0:
                raise _TooLongError
            step, join = self._steps[name], self._joins[name]
            out += step.body
            if step.build is not None and len(set(step.ways)) > 1:
                out += step.build([ir.Block(self.statements(way, join)) for way in step.ways])
            elif step.build is not None:
                out += step.build([ir.Block([]) for _ in step.ways])
            name = join
        return out


def branch(condition: ir.Expr) -> Build:
    """An ``if`` between two ways."""

    def build(ways: Sequence[ir.Stmt]) -> list[ir.Stmt]:
        then, otherwise = ways
        empty = isinstance(otherwise, ir.Block) and not otherwise.body
        return [ir.If(condition, then, None if empty else otherwise)]

    return build
