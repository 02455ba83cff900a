# SPDX-License-Identifier: Apache-2.0
"""The second, instrumented version of a program's code: the rules of the engine, with notes written around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp_p4 import ir
from offramp_p4.engine.generator import Generator, GeneratorTarget, Place
from offramp_p4.trace.proxies import proxies

if TYPE_CHECKING:
    from offramp_p4.engine.layout import CellLayout, Memory
    from offramp_p4.trace.recorder import Recorder
    from offramp_p4.trace.target import TracedTarget

Action = Callable[["Memory", tuple[int, ...]], object]


class TracingGenerator(Generator):
    """Generates code that works on proxies of the state and reports to a recorder."""

    def __init__(self, program: ir.Program, layout: CellLayout, target: GeneratorTarget) -> None:
        super().__init__(program, layout, target)
        traced: TracedTarget = target  # type: ignore[assignment]
        self.recorder = traced.recorder
        self.note = self.bind(self.recorder, "trace")
        self._proxies = proxies(traced.objects, self.recorder)
        self._branches: dict[ir.Stmt, tuple[ir.If, bool]] = {}
        lines = self.recorder.lines
        self._line_counts = None if lines is None else self.bind(lines, "lines")

    def bind(self, thing: object, hint: str) -> str:
        """A global name for a run-time object, or for its proxy."""
        proxy = self._proxies.get(id(thing)) if hasattr(self, "_proxies") else None
        return super().bind(thing if proxy is None else proxy, hint)

    def bind_late(self, table: dict[str, Any], key: str, function: str) -> None:
        """Have the events of a table's action lie within that of the table."""
        super().bind_late(_NestedActions(table, self.recorder), key, function)

    def reached(self, node: Place, values: Sequence[str] = ()) -> None:
        """Note a parser state, or where it goes."""
        if isinstance(node, ir.ParserState):
            self.line(f"{self.note}.add('state', {node.name!r})")
        elif isinstance(node, ir.SelectCase):
            self.line(f"{self.note}.add('select', {node.target!r}, values=[{', '.join(values)}])")

    def statement(self, stmt: ir.Stmt) -> None:
        """Write a statement, and notes of branches and calls."""
        taken = self._branches.get(stmt)
        if taken is not None:
            self._note_branch(*taken)
        if self._line_counts is not None and stmt.pos.line and not isinstance(stmt, ir.Block):
            self._count(stmt)
        level = ""
        if isinstance(stmt, ir.If):
            if self.recorder.full:
                stmt = _with_else(stmt)
            self._expect_branches(stmt)
        elif isinstance(stmt, ir.Eval) and isinstance(stmt.expr, ir.ApplyCall | ir.ActionCall):
            call = stmt.expr
            kind, name = (
                ("action", call.action.name) if isinstance(call, ir.ActionCall) else ("block", call.target.name)
            )
            level = self.temporary(f"{self.note}.enter({self.note}.add({kind!r}, {name!r}))", "level")
        super().statement(stmt)
        if level:
            self.line(f"{self.note}.leave({level})")

    def _count(self, stmt: ir.Stmt) -> None:
        """Count the runs of a statement's line."""
        assert self.recorder.lines is not None
        place = stmt.pos.file, stmt.pos.line
        self.recorder.lines.setdefault(place, 0)
        self.line(f"{self._line_counts}[{place!r}] += 1")

    def _expect_branches(self, stmt: ir.If) -> None:
        node: ir.Stmt | None = stmt
        while isinstance(node, ir.If):
            self._branches[node.then] = (node, True)
            if node.otherwise is not None and not isinstance(node.otherwise, ir.If):
                self._branches[node.otherwise] = (node, False)
            node = node.otherwise

    def _note_branch(self, stmt: ir.If, taken: bool) -> None:
        place = f"{Path(stmt.pos.file).name}:{stmt.pos.line}"
        self.line(f"{self.note}.add('branch', {place!r}, taken={taken})")


def _with_else(stmt: ir.If) -> ir.If:
    """An ``if`` of which every outcome is a branch, whatever its ``else`` is."""
    inner = [] if stmt.otherwise is None else [stmt.otherwise]
    return replace(stmt, otherwise=ir.Block(inner, pos=stmt.pos))


class _NestedActions(dict[str, Any]):
    """Actions by name, each made to write its events into the one noted just before it."""

    def __init__(self, table: dict[str, Any], recorder: Recorder) -> None:
        super().__init__()
        self._table, self._recorder = table, recorder

    def __setitem__(self, name: str, run: Action) -> None:
        recorder = self._recorder

        def traced(m: Memory, data: tuple[int, ...]) -> object:
            level = recorder.enter(recorder.last)
            try:
                return run(m, data)
            finally:
                recorder.leave(level)

        self._table[name] = traced
