# SPDX-License-Identifier: Apache-2.0
"""Calls of functions, actions, parsers and controls, with copy-in and copy-out (P4-16 section 6.8)."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_p4 import ir
from offramp_p4.engine import lvalues, walk
from offramp_p4.engine.bits import scalar_bits
from offramp_p4.engine.generator import Generator, expression, is_scalar, zeros
from offramp_p4.engine.headers import header_op
from offramp_p4.source import Unsupported
from offramp_p4.types import VOID, Type


@dataclass(frozen=True, slots=True)
class CopyOut:
    """The copy to an ``out`` or ``inout`` argument at the end of a call."""

    target: lvalues.LValue
    whole: Type | None
    param: ir.Var

    def emit(self, g: Generator) -> None:
        """Write the lines that copy the value out."""
        lvalues.write(g, self.target, lvalues.load(g.layout.base(self.param), self.param.type), self.whole)


def copy_in(g: Generator, params: list[ir.Var], args: list[ir.Arg]) -> list[CopyOut]:
    """Write the lines that set the parameters, which lie side by side; returns what to copy out later.

    All arguments are evaluated before any parameter changes: an argument may call the same function.
    """
    values: list[str] = []
    out: list[CopyOut] = []
    for param, arg in zip(params, args, strict=True):
        if not param.type.slots:
            continue
        if arg.expr is None or not arg.expr.type.slots:
            values.append(zeros(param.type.slots))
        elif arg.direction in {"out", "inout"}:
            at = lvalues.lvalue(g, arg.expr)
            value = zeros(param.type.slots)
            if arg.direction == "inout":
                value = lvalues.read(at) if is_scalar(param.type) else f"*{lvalues.read(at)}"
            values.append(value)
            out.append(CopyOut(at, lvalues.sliced_cell(arg.expr), param))
        else:
            values.append(g.cells(arg.expr))
    slots = sum(p.type.slots for p in params)
    base = g.layout.place_params(params)
    if slots == 1 and len(values) == 1 and not values[0].startswith("*"):
        g.line(f"m[{base}] = {values[0]}")
    elif slots:
        g.line(f"m[{base}:{base + slots}] = ({', '.join(values)},)")
    return out


def run(g: Generator, call: str, out: list[CopyOut], *, exits: bool, faults: bool = False) -> None:
    """Write a call and its copies out, which also happen when the callee exits or a parser in it fails."""
    if faults and out:
        with g.indented("try:"):
            g.line(call)
        with g.indented("finally:"):
            for copy in out:
                copy.emit(g)
        return
    code = g.temporary(call, "code") if exits else ""
    if not exits:
        g.line(call)
    for copy in out:
        copy.emit(g)
    if exits:
        with g.indented(f"if {code}:"):
            g.line("return 1")


def invoke(g: Generator, e: ir.Expr) -> str:
    """Write the lines of a call; returns the text of its result."""
    if isinstance(e, ir.FunctionCall):
        return _call_function(g, e)
    if isinstance(e, ir.ExternCall):
        builder = g.target.externs.get((e.extern, e.method))
        if builder is None:
            raise Unsupported(e.pos, f"extern {e.extern}.{e.method}" if e.extern else f"extern {e.method}")
        return builder(g, e)
    if isinstance(e, ir.ActionCall):
        out = copy_in(g, e.action.params, e.args)
        run(g, f"{action(g, e.action)}(m)", out, exits=walk.may_exit(e.action))
    elif isinstance(e, ir.ApplyCall):
        _apply(g, e)
    elif isinstance(e, ir.HeaderOp):
        header_op(g, e)
    else:
        raise Unsupported(e.pos, f"{type(e).__name__} as a call")
    return "None"


@expression(ir.FunctionCall, ir.ExternCall)
def _call_in_expression(g: Generator, e: ir.Expr) -> str:
    return g.inline(lambda: invoke(g, e))


def _call_function(g: Generator, e: ir.FunctionCall) -> str:
    out = copy_in(g, e.function.params, e.args)
    call = f"{function(g, e.function)}(m)"
    if not out:
        return call
    result = g.temporary(call, "result")
    for copy in out:
        copy.emit(g)
    return result


def function(g: Generator, f: ir.UserFunction) -> str:
    """The name of the Python function of a P4 function."""
    if f not in g.memo:
        g.memo[f] = g.name(_identifier(f.name))
        with g.function(g.memo[f]):
            g.reached(f)
            g.statement(f.body)
            if f.returns != VOID:
                g.line(f"return {'0' if is_scalar(f.returns) else f'({zeros(f.returns.slots)},)'}")
    return g.memo[f]


def action(g: Generator, a: ir.Action) -> str:
    """The name of the Python function of an action's body; its parameters have been set before."""
    if a not in g.memo:
        g.memo[a] = g.name(_identifier(a.name))
        with g.function(g.memo[a], returns_code=True):
            g.reached(a)
            g.statement(a.body)
    return g.memo[a]


def table_action(g: Generator, t: ir.TableAction) -> str:
    """The name of the Python function ``(m, d)`` that runs an action for a table, with action data ``d``."""
    if t in g.memo:
        return g.memo[t]
    g.memo[t] = g.name(_identifier(t.action.name))
    g.layout.place_params(t.action.params)
    with g.function(g.memo[t], "m, d", returns_code=True):
        out = copy_in(g, t.action.params[: len(t.bound)], t.bound)
        _set_data(g, t)
        if out:
            run(g, f"{action(g, t.action)}(m)", out, exits=walk.may_exit(t.action))
        else:
            g.reached(t.action)
            g.statement(t.action.body)
    return g.memo[t]


def _set_data(g: Generator, t: ir.TableAction) -> None:
    params = t.data_params
    if not params:
        return
    if not all(is_scalar(p.type) for p in params):
        raise Unsupported(t.action.pos, f"action {t.action.name}: action data that is not a scalar")
    base = g.layout.base(params[0])
    if any(scalar_bits(p.type).signed for p in params):
        for i, p in enumerate(params):
            g.line(f"m[{base + i}] = {lvalues.from_pattern(f'd[{i}]', p.type)}")
    else:
        g.line(f"m[{base}:{base + len(params)}] = d")


def _apply(g: Generator, e: ir.ApplyCall) -> None:
    name, exits = block(g, e.target), walk.may_exit(e.target)
    faults = isinstance(e.target, ir.ParserInstance)
    if e.target not in g.layout.shared:
        run(g, f"{name}(m)", copy_in(g, e.target.params, e.args), exits=exits, faults=faults)
        return
    for param in e.target.params:
        if param.direction == "out" and param.type.slots:
            base = g.layout.base(param)
            g.line(f"m[{base}:{base + param.type.slots}] = ({zeros(param.type.slots)},)")
    run(g, f"{name}(m)", [], exits=exits)


def block(g: Generator, b: walk.Block) -> str:
    """The name of the Python function of a parser or control; its parameters have been set before."""
    if b not in g.memo:
        g.memo[b] = g.name(_identifier(b.name))
        if isinstance(b, ir.ParserInstance):
            from offramp_p4.engine.parsers import write_parser  # a parser's states call back into here

            write_parser(g, b, g.memo[b])
        else:
            with g.function(g.memo[b], returns_code=True):
                g.reached(b)
                for stmt in b.locals:
                    g.statement(stmt)
                g.statement(b.body)
    return g.memo[b]


def _identifier(name: str) -> str:
    return "p4_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
