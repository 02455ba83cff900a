# SPDX-License-Identifier: Apache-2.0
"""Tofino's rule that a pass accesses a register, and applies a table, at most once; checked when a program is loaded.

A selector's memory with its members' bits is a register, which applying its tables reads.

A register lives in one stage, and a packet passes a stage once. Accesses in branches that exclude each other are
one access, as in p4c's Tofino back end; conditions are not compared. Ingress and egress share the physical stages:
a register that both use is two accesses as well.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.walk import nodes
from offramp_p4.source import P4Error, Pos
from offramp_p4.tna.register_calls import ACTIONS
from offramp_p4.tna.register_of import memory_of_selector, register_of

if TYPE_CHECKING:
    from offramp_p4.tna.blocks import Pipe

Thing = ir.ExternInstance | ir.MatchTable
Seen = dict[Thing, Pos]
"""Objects that some path to here has accessed, and where."""

_REGISTERS = ("Register", "DirectRegister")
_ACCESSES = ("execute", "execute_log", "read", "write")


def check(pipe: Pipe) -> None:
    """Check one pipe.

    Raises:
        P4Error: at the second access, naming the first.
    """
    before = accesses(pipe.ingress.control)
    stateful = {*before, *accesses(pipe.egress.control)}
    _AccessWalk(stateful).control(pipe.ingress.control, {})
    _AccessWalk(stateful).control(pipe.egress.control, before)


def accesses(control: ir.ControlInstance) -> Seen:
    """Every register that a control accesses, also on paths that end early, with one place each."""
    first: Seen = {}
    for node in nodes(control, into_declarations=True):
        if isinstance(node, ir.ExternCall) and (register := _register(node)) is not None:
            first.setdefault(register, node.pos)
        elif isinstance(node, ir.ApplyCall) and isinstance(node.target, ir.ControlInstance):
            first = {**accesses(node.target), **first}
    return first


class _AccessWalk:
    """Follows every path at once. A state of None is a path that has ended.

    ``stateful`` is the memory that the program's own calls access: that of other selectors is none of a register.
    """

    def __init__(self, stateful: AbstractSet[Thing]) -> None:
        self._stateful = stateful
        self._returned: list[Seen] = []  # at the ends of the innermost body that a `return` has reached

    def control(self, control: ir.ControlInstance, seen: Seen) -> Seen | None:
        """The accesses after a control."""
        return self._body([*control.locals, control.body], seen)

    def _body(self, body: list[ir.Stmt], seen: Seen) -> Seen | None:
        """A body that ``return`` leaves; ``exit`` leaves its callers too."""
        outer, self._returned = self._returned, []
        after: Seen | None = seen
        for statement in body:
            after = self._statement(statement, after)
        after = _either([after, *self._returned])
        self._returned = outer
        return after

    def _statement(self, statement: ir.Stmt | None, seen: Seen | None) -> Seen | None:
        if seen is None or statement is None:
            return seen
        match statement:
            case ir.Block(body=body):
                for inner in body:
                    seen = self._statement(inner, seen)
                return seen
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                seen = self._calls(condition, seen)
                return _either([self._statement(then, seen), self._statement(otherwise, seen)])
            case ir.SwitchAction(table=table, cases=cases):
                seen = self._apply(table, seen, statement.pos)
                return _either([seen, *(self._statement(body, seen) for _, body in cases)])
            case ir.SwitchValue(subject=subject, cases=cases):
                seen = self._calls(subject, seen)
                return _either([seen, *(self._statement(body, seen) for _, body in cases)])
            case ir.ForLoop() | ir.ForIn():
                return self._calls(statement, self._calls(statement, seen))  # a second turn shows what repeats
            case ir.Exit():
                return None
            case ir.Return():
                seen = self._calls(statement, seen)
                self._returned += [seen] if seen is not None else []
                return None
        return self._calls(statement, seen)

    def _calls(self, node: object, seen: Seen | None) -> Seen | None:
        for inner in nodes(node):
            if isinstance(inner, ir.Expr) and seen is not None:
                seen = self._call(inner, seen)
        return seen

    def _call(self, node: ir.Expr, seen: Seen) -> Seen | None:
        match node:
            case ir.ApplyCall(target=ir.ControlInstance() as target):
                return self.control(target, seen)
            case ir.TableApply(table=table):
                return self._apply(table, seen, node.pos)
            case ir.ActionCall(action=action):
                return self._body([action.body], seen)
            case ir.FunctionCall(function=function):
                return self._body([function.body], seen)
            case ir.ExternCall():
                register = _register(node)
                return seen if register is None else _access(register, seen, node.pos)
        return seen

    def _apply(self, table: ir.MatchTable, seen: Seen, pos: Pos) -> Seen | None:
        seen = _access(table, seen, pos)
        selector = table.properties.get("implementation")
        if isinstance(selector, ir.ExternInstance) and selector.extern == "ActionSelector":
            memory = memory_of_selector(selector)
            if memory in self._stateful:
                seen = _access(memory, seen, pos)
        actions = {choice.action: None for choice in [*table.actions, table.default.action]}
        return _either([self._body([action.body], seen) for action in actions])


def _register(call: ir.ExternCall) -> ir.ExternInstance | None:
    """The register that a call accesses."""
    if not isinstance(call.target, ir.ExternInstance) or call.method not in _ACCESSES:
        return None
    if call.extern in ACTIONS:
        return register_of(call.target)
    return call.target if call.extern in _REGISTERS else None


def _access(thing: Thing, seen: Seen, pos: Pos) -> Seen:
    if thing in seen:
        kind, what = ("table", "apply") if isinstance(thing, ir.MatchTable) else ("register", "access")
        if isinstance(thing, ir.ExternInstance) and thing.extern == "ActionSelector":
            kind = "the memory of selector"
        raise P4Error(
            pos, f"a pass may {what} {kind} {thing.name} twice (first at {seen[thing]}); Tofino can do it only once"
        )
    return {**seen, thing: pos}


def _either(branches: list[Seen | None]) -> Seen | None:
    """The accesses of any branch; None when every branch has ended."""
    open_branches = [b for b in branches if b is not None]
    if not open_branches:
        return None
    return {thing: pos for branch in reversed(open_branches) for thing, pos in branch.items()}
