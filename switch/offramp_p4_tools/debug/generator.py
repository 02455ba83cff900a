# SPDX-License-Identifier: Apache-2.0
"""Code that can be held: the rules of the engine, with a call written before each statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.generator import Generator, GeneratorTarget, Place, Run
from offramp_p4_tools.debug.code import HERE, CallFrame, DebugCode, Kind, Location, LocationObserver

if TYPE_CHECKING:
    from offramp_p4.engine.layout import CellLayout
    from offramp_p4.source import Pos

_KINDS: dict[type, Kind] = {ir.MatchTable: "table", ir.Action: "action", ir.UserFunction: "function"}


class DebugGenerator(Generator):
    """Generates code that reports its position to an observer.

    Attributes:
        code: the code that it generates, with its locations.
    """

    def __init__(
        self, program: ir.Program, layout: CellLayout, target: GeneratorTarget, *, observer: LocationObserver
    ) -> None:
        super().__init__(program, layout, target)
        self.code = DebugCode(observer, program, layout, target)
        self._at = self.bind(self.code.at, "at")
        self._frame: CallFrame | None = None
        self._block: tuple[ir.Var, ...] = ()  # variables of the parser or control that is being written
        self._scope: tuple[ir.Var, ...] = ()
        self._frames: dict[object, CallFrame] = {}
        self._chained: dict[ir.Expr, Pos] = {}  # conditions of ``else if``
        parsers = [b for b in program.blocks if isinstance(b, ir.ParserInstance)]
        self._owners = {state: parser for parser in parsers for state in parser.states.values()}
        self._states = {case: state for state in self._owners for case in state.cases}

    def reached(self, node: Place, values: Sequence[str] = ()) -> None:
        """Begin a frame, or come to the end of a state."""
        del values
        if isinstance(node, ir.SelectCase):
            state = self._states[node]
            self._frame = self._frame_of(state)
            self._scope = self._block + _declared(state.body)
            self._hook(node.pos, entry=False)
            return
        self._frame = self._frame_of(node)
        if isinstance(node, ir.ParserInstance | ir.ControlInstance):
            self._block = (*node.params, *_declared(node.locals))
        own = tuple(node.params) if isinstance(node, ir.Action | ir.UserFunction) else ()
        self._scope = (() if isinstance(node, ir.UserFunction) else self._block) + own
        self._hook(node.pos, entry=True)

    def statement(self, stmt: ir.Stmt) -> None:
        """Write a statement, and the call before it."""
        if not isinstance(stmt, ir.Block):
            self._hook(stmt.pos, entry=False)
        if isinstance(stmt, ir.If):
            other = stmt.otherwise
            while isinstance(other, ir.If):
                self._chained[other.condition] = other.pos
                other = other.otherwise
        elif isinstance(stmt, ir.ForIn):
            self._scope = (*self._scope, stmt.var)
        outer = self._frame, self._scope
        super().statement(stmt)
        self._frame, self._scope = outer
        if isinstance(stmt, ir.Declare):
            self._scope = (*self._scope, stmt.var)

    def condition(self, expr: ir.Expr) -> str:
        """The condition of an ``else if`` is reached like a statement."""
        pos = self._chained.pop(expr, None)
        text = super().condition(expr)
        return text if pos is None else f"({HERE} := {self._at}(m, {self._location(pos, entry=False)})) and ({text})"

    def entry(self, block: walk.Block, run: Run) -> Run:
        """Hear how a block ends."""
        return self.code.observed(block, run)

    @contextmanager
    def function(self, name: str, params: str = "m", *, returns_code: bool = False) -> Iterator[None]:
        """Write a function, whose frame and scope are its own."""
        outer = self._frame, self._block, self._scope
        with super().function(name, params, returns_code=returns_code):
            yield
        self._frame, self._block, self._scope = outer

    def _frame_of(self, node: ir.ParserState | ir.MatchTable | ir.Action | ir.UserFunction | walk.Block) -> CallFrame:
        if node not in self._frames:
            if isinstance(node, ir.ParserState):
                frame = CallFrame("state", f"{self._owners[node].name}.{node.name}", node)
            elif isinstance(node, ir.ParserInstance):
                frame = CallFrame("parser", node.name, node)
            else:
                frame = CallFrame(_KINDS.get(type(node), "control"), node.name, node)
            self._frames[node] = frame
        return self._frames[node]

    def _hook(self, pos: Pos, *, entry: bool) -> None:
        self.line(f"{HERE} = {self._at}(m, {self._location(pos, entry=entry)})")

    def _location(self, pos: Pos, *, entry: bool) -> int:
        assert self._frame is not None
        self.code.locations.append(Location(pos, self._frame, entry, self._scope))
        return len(self.code.locations) - 1


def _declared(stmts: Sequence[ir.Stmt]) -> tuple[ir.Var, ...]:
    return tuple(stmt.var for stmt in stmts if isinstance(stmt, ir.Declare))
