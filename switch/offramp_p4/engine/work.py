# SPDX-License-Identifier: Apache-2.0
"""Number of statements that a packet runs: what is known at compile time, and what loops must count as they go."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.engine.walk import contained
from offramp_p4.types import Stack, Tuple, Type, strip

PASS_STEPS: Final = 64
"""Steps that a pass through ingress, and a copy, count as."""
_CEILING: Final = 1 << 62
_KNOWN_STEPS: Final = 1 << 12
"""A loop that certainly takes no more than this many steps is not counted as it runs."""
_ELSEWHERE: Final = (ir.Var, Type, ir.ExternInstance, ir.ValueSet)


class StatementBound:
    """The most statements that running a node executes.

    A loop with few, known rounds counts with all of them; any other counts at run time.
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, node: Any) -> int:
        """Statements of a declaration (function, action, table, parser, control) or a statement, calls included."""
        if node not in self._known:
            self._known[node] = 0
            self._known[node] = min(_CEILING, self._count(self._inside(node)))
        return self._known[node]

    def counts(self, loop: ir.ForLoop | ir.ForIn) -> bool:
        """Whether the rounds of a loop must be counted as it runs."""
        rounds = _rounds(loop)
        return rounds is None or rounds * self.round(loop) > _KNOWN_STEPS

    def round(self, loop: ir.ForLoop | ir.ForIn) -> int:
        """The steps of one round."""
        around = [loop.condition, loop.update] if isinstance(loop, ir.ForLoop) else []
        return 1 + self._count([loop.body, *around])

    def _count(self, todo: list[Any]) -> int:
        total = 0
        while todo:
            node = todo.pop()
            match _ROLES.get(type(node)) or _learn(type(node)):
                case _Role.ELSEWHERE:
                    continue
                case _Role.DECLARATION:
                    total += self.of(node)
                    continue
                case _Role.LOOP:
                    total += 1 if self.counts(node) else (_rounds(node) or 0) * self.round(node)
                    todo += [node.init] if isinstance(node, ir.ForLoop) else [node.low, node.high]
                    continue
                case _Role.STATEMENT:
                    total += 1
            todo += contained(node)
        return total

    def _inside(self, node: Any) -> list[Any]:
        if isinstance(node, ir.MatchTable):
            return [[key.expr for key in node.keys], [choice.action for choice in [node.default.action, *node.actions]]]
        return list(contained(node))


class _Role(Enum):
    """The role of a node in the count."""

    OTHER = auto()
    STATEMENT = auto()
    LOOP = auto()
    DECLARATION = auto()
    ELSEWHERE = auto()


def _learn(kind: type) -> _Role:
    role = _ROLES[kind] = _role(kind)
    return role


def _role(kind: type) -> _Role:
    if issubclass(kind, _ELSEWHERE):
        return _Role.ELSEWHERE
    if issubclass(kind, ir.MatchTable | ir.Action | ir.UserFunction | ir.ParserInstance | ir.ControlInstance):
        return _Role.DECLARATION
    if issubclass(kind, ir.ForLoop | ir.ForIn):
        return _Role.LOOP
    return _Role.STATEMENT if issubclass(kind, ir.Stmt | ir.ParserState) else _Role.OTHER


_ROLES: Final[dict[type, _Role]] = {}


def _rounds(loop: ir.ForLoop | ir.ForIn) -> int | None:
    """Number of rounds that a loop makes; None if that is known at run time only."""
    if isinstance(loop, ir.ForLoop):
        return None
    if loop.high is not None:
        if isinstance(loop.low, ir.Const) and isinstance(loop.high, ir.Const):
            return max(0, int(loop.high.value) - int(loop.low.value) + 1)
        return None
    over = strip(loop.low.type)
    if isinstance(over, Stack):
        return over.size
    return len(over.types) if isinstance(over, Tuple) else None
