# SPDX-License-Identifier: Apache-2.0
"""``out`` parameters that some path leaves without a value (P4-16 section 6.8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.lint.diagnostic import RULES, Diagnostic
from offramp_p4.lint.unused import is_users
from offramp_p4.types import Bits, Enum, Type, _Simple, strip

Assigned = frozenset[ir.Var]


@RULES.register("assigned")
def rule(program: ir.Program) -> Iterator[Diagnostic]:
    """Warnings ``uninitialised-out``. Headers are not meant: they start invalid."""
    for function in program.functions:
        yield from _check(function.name, function.params, [function.body])
    for action in program.actions:
        yield from _check(action.name, action.params, [action.body])
    for block in walk.blocks(program.main):
        if isinstance(block, ir.ControlInstance):
            yield from _check(block.name, block.params, [*block.locals, block.body])


def _check(name: str, params: list[ir.Var], body: list[ir.Stmt]) -> Iterator[Diagnostic]:
    wanted = [p for p in params if p.direction == "out" and _is_scalar(p.type) and is_users(p.pos)]
    if not wanted:
        return
    paths = _Paths()
    end = paths.run(body, frozenset())
    ends = [*paths.returns, *([] if end is None else [end])]
    for param in wanted:
        if any(param not in assigned for assigned in ends):
            yield Diagnostic(param.pos, "uninitialised-out", f"{name} may end without a value for {param.name}")


def _is_scalar(t: Type) -> bool:
    return isinstance(strip(t), Bits | Enum | _Simple)


@dataclass(slots=True)
class _Paths:
    """Definite assignment; ``returns`` holds what is assigned at each return. None stands for no path at all."""

    returns: list[Assigned] = field(default_factory=list)

    def run(self, body: list[ir.Stmt], assigned: Assigned) -> Assigned | None:
        """The variables assigned at the end of a list of statements; None if no path reaches it."""
        now: Assigned | None = assigned
        for stmt in body:
            if now is None:
                return None
            now = self._statement(stmt, now)
        return now

    def _statement(self, stmt: ir.Stmt, now: Assigned) -> Assigned | None:
        match stmt:
            case ir.Block(body=body):
                return self.run(body, now)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                now = _written(condition, now)
                other = now if otherwise is None else self._statement(otherwise, now)
                return _meet([self._statement(then, now), other])
            case ir.SwitchValue(cases=cases) | ir.SwitchAction(cases=cases):
                ends = [self._statement(body, now) for _, body in cases]
                return _meet(ends if any(labels is None for labels, _ in cases) else [*ends, now])
            case ir.ForLoop(body=body) | ir.ForIn(body=body):
                self._statement(body, now)  # for its returns
                return now
            case ir.Return(value=value):
                self.returns.append(now if value is None else _written(value, now))
                return None
            case ir.Exit():
                return None
            case ir.Assign(place=place, value=value):
                now = _written(value, now)
                return now | {place.var} if isinstance(place, ir.VarRef) else now
        return _written(stmt, now)


def _written(node: object, now: Assigned) -> Assigned:
    """The variables assigned after the calls in ``node``, those of their ``out`` and ``inout`` arguments included."""
    args = (n for n in walk.nodes(node) if isinstance(n, ir.Arg) and n.direction in {"out", "inout"})
    return now | {a.expr.var for a in args if isinstance(a.expr, ir.VarRef)}


def _meet(ends: list[Assigned | None]) -> Assigned | None:
    live = [end for end in ends if end is not None]
    return frozenset.intersection(*live) if live else None
