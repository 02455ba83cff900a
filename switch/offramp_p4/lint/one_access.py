# SPDX-License-Identifier: Apache-2.0
"""The rule of hardware pipelines that a pass accesses a register at most once, checked on the IR.

A read and then a write at the same index count as one access, which is what a stateful ALU does. Indices are
compared as expressions: the check does not see a variable that changes between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

from offramp_p4 import ir
from offramp_p4.engine.walk import nodes
from offramp_p4.lint.diagnostic import RULES, Diagnostic
from offramp_p4.source import Pos
from offramp_p4.types import Type


@dataclass(frozen=True, slots=True)
class RegisterAccess:
    """One call of ``read`` or ``write``."""

    method: str
    index: object
    pos: Pos


Paths = dict[ir.ExternInstance, set[tuple[RegisterAccess, ...]]]
"""Sequences of accesses that some path makes, by register."""


@RULES.register("one-access")
def rule(program: ir.Program) -> Iterator[Diagnostic]:
    """Warnings ``register-access``: the rule's place is the second access."""
    for register, accesses in repeated(program).items():
        places = ", ".join(f"{a.method} at line {a.pos.line}" for a in accesses)
        message = f"register {register.name}: more than one access in a pass: {places}"
        yield Diagnostic(accesses[1].pos, "register-access", message)


def violations(program: ir.Program) -> list[str]:
    """A line for each register that some pass may access more than once."""
    return sorted(warning.message for warning in rule(program))


def repeated(program: ir.Program) -> dict[ir.ExternInstance, tuple[RegisterAccess, ...]]:
    """The shortest sequence of accesses in one pass, for each register that may be accessed more than once."""
    registers = {}
    for block in program.main.args.values():
        if isinstance(block, ir.ControlInstance):
            for register, sequences in _control(block, {}).items():
                bad = [s for s in sequences if not _is_one_access(s)]
                if bad:
                    registers[register] = min(bad, key=lambda s: (len(s), [a.pos.line for a in s]))
    return registers


def _is_one_access(sequence: tuple[RegisterAccess, ...]) -> bool:
    if len(sequence) == 2:
        first, second = sequence
        return (first.method, second.method) == ("read", "write") and first.index == second.index
    return len(sequence) < 2


def _control(control: ir.ControlInstance, paths: Paths) -> Paths:
    for statement in (*control.locals, control.body):
        paths = _statement(statement, paths)
    return paths


def _statement(statement: ir.Stmt | None, paths: Paths) -> Paths:
    match statement:
        case None:
            return paths
        case ir.Block(body=body):
            for inner in body:
                paths = _statement(inner, paths)
            return paths
        case ir.If(condition=condition, then=then, otherwise=otherwise):
            paths = _calls(condition, paths)
            return _either([_statement(then, paths), _statement(otherwise, paths)])
        case ir.SwitchAction(table=table, cases=cases):
            paths = _table(table, paths)
            return _either([paths, *(_statement(body, paths) for _, body in cases)])
        case ir.SwitchValue(subject=subject, cases=cases):
            paths = _calls(subject, paths)
            return _either([paths, *(_statement(body, paths) for _, body in cases)])
        case ir.ForLoop() | ir.ForIn():
            # A second turn is enough to show what a loop repeats.
            return _calls(statement, _calls(statement, paths))
        case _:
            return _calls(statement, paths)


def _calls(node: object, paths: Paths) -> Paths:
    for inner in nodes(node):
        if isinstance(inner, ir.Expr):
            paths = _call(inner, paths)
    return paths


def _call(node: ir.Expr, paths: Paths) -> Paths:
    match node:
        case ir.ApplyCall(target=ir.ControlInstance() as target):
            return _control(target, paths)
        case ir.TableApply(table=table):
            return _table(table, paths)
        case ir.ActionCall(action=action):
            return _statement(action.body, paths)
        case ir.FunctionCall(function=function):
            return _statement(function.body, paths)
        case ir.ExternCall(extern="register", target=ir.ExternInstance() as register):
            index = node.args[node.params.index("index")].expr
            access = RegisterAccess(node.method, _shape(index), node.pos)
            return {**paths, register: {(*s, access) for s in paths.get(register, {()})}}
    return paths


def _table(table: ir.MatchTable, paths: Paths) -> Paths:
    return _either([_statement(choice.action.body, paths) for choice in table.actions] or [paths])


def _either(branches: list[Paths]) -> Paths:
    registers = {register for branch in branches for register in branch}
    return {r: set().union(*(branch.get(r, {()}) for branch in branches)) for r in registers}


def _shape(node: object) -> object:
    """An expression without its positions in the source, as a value that can be compared."""
    if isinstance(node, ir.Var | Type):
        return id(node)
    if isinstance(node, list):
        return tuple(map(_shape, node))
    if is_dataclass(node) and not isinstance(node, type):
        parts = (_shape(getattr(node, f.name)) for f in fields(node) if f.name not in ("pos", "type"))
        return (type(node).__name__, *parts)
    return node
