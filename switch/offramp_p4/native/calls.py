# SPDX-License-Identifier: Apache-2.0
"""Calls of functions, actions, parsers and controls, with copy-in and copy-out (P4-16 section 6.8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from typing import Final

from offramp_base.native.llvm import I32, Value, const
from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.parsers import may_repeat
from offramp_p4.native import lvalues
from offramp_p4.native.emitter import Emitter, aggregate, value
from offramp_p4.native.headers import header_op
from offramp_p4.native.parsers import write_parser
from offramp_p4.native.runtime.program import CHECK_FAILED, DONE
from offramp_p4.native.shape import bits_of, is_scalar, shape
from offramp_p4.source import Unsupported
from offramp_p4.types import VOID, Type


class Ends(Flag):
    """Ways in which running a node may end, other than by reaching its end."""

    NORMAL = 0
    EXIT = auto()
    FAULT = auto()
    CHECK = auto()


_CHECKS: Final = frozenset({("", "assert"), ("", "assume")})


def ends(g: Emitter, node: object) -> Ends:
    """The ways in which running ``node``, and what it calls, may end."""
    key = ("ends", node)
    if key not in g.memo:
        g.memo[key] = ways = Ends.NORMAL
        for inner in walk.nodes(node, into_declarations=True):
            if isinstance(inner, ir.Exit):
                ways |= Ends.EXIT
            elif isinstance(inner, ir.ForLoop | ir.ForIn):
                ways |= Ends.CHECK if g.work.counts(inner) else Ends.NORMAL
            elif isinstance(inner, ir.StackNext | ir.StackLast):
                ways |= Ends.FAULT
            elif isinstance(inner, ir.ExternCall):
                which = (inner.extern, inner.method)
                ways |= Ends.CHECK if which in _CHECKS else Ends.FAULT if which in g.target.faults else Ends.NORMAL
            elif isinstance(inner, ir.ApplyCall):
                ways |= ends(g, inner.target)
        if isinstance(node, ir.ParserInstance) and may_repeat(node):
            ways |= Ends.CHECK
        g.memo[key] = ways
    result: Ends = g.memo[key]
    return result


@dataclass(frozen=True, slots=True)
class NativeCopyOut:
    """The copy to an ``out`` or ``inout`` argument at the end of a call."""

    target: lvalues.MemoryLValue
    param: ir.Var

    def write(self, g: Emitter) -> None:
        """Write the copy."""
        lvalues.write_copy(g, self.target, g.cell(g.layout.base(self.param)))


def copy_in(g: Emitter, params: list[ir.Var], args: list[ir.Arg]) -> list[NativeCopyOut]:
    """Set the parameters; returns what to copy out later.

    All arguments are evaluated before any parameter changes: an argument may call the same function.
    """
    out: list[NativeCopyOut] = []
    values: list[tuple[ir.Var, Value | None]] = []
    for param, arg in zip(params, args, strict=True):
        if not shape(param.type).size:
            continue
        if arg.expr is None or not shape(arg.expr.type).size:
            values.append((param, None))
        elif arg.direction in {"out", "inout"}:
            at = lvalues.lvalue(g, arg.expr)
            values.append((param, _current(g, at, param.type) if arg.direction == "inout" else None))
            out.append(NativeCopyOut(at, param))
        elif is_scalar(param.type):
            values.append((param, g.value(arg.expr)))
        else:
            values.append((param, g.temporary(arg.expr)))
    for param, expr in values:
        into = g.cell(g.layout.base(param))
        if expr is None:
            g.clear(into, shape(param.type).size)
        elif is_scalar(param.type):
            g.store(_fitted(g, expr, param.type), into, param.type)
        else:
            g.copy_value(into, expr, param.type)
    return out


def _fitted(g: Emitter, number: Value, t: Type) -> Value:
    bits = bits_of(t)
    assert bits is not None
    return g.resize(number, bits.width, signed=bits.signed)


def _current(g: Emitter, at: lvalues.MemoryLValue, t: Type) -> Value:
    if is_scalar(t):
        return lvalues.read(g, at)
    copy = g.room(t)
    g.copy(copy, at.address, shape(t).size)
    return copy


def run(g: Emitter, callee: Value, out: list[NativeCopyOut], how: Ends, *args: Value, parser: bool = False) -> None:
    """Write a call and its copies out, which also happen when the callee exits or a parser in it fails.

    A failed check, and an error of the parser met in a function, end everything at once.
    """
    code = g.b.call(callee, [g.context, g.memory, *args])
    at_once = how & (Ends.CHECK if parser else Ends.CHECK | Ends.FAULT)
    if at_once and out:
        limit = CHECK_FAILED if parser else CHECK_FAILED - 1
        g.leave_if(g.b.icmp_unsigned(">=", code, const(I32, limit)), code)
    for copy in out:
        copy.write(g)
    if how:
        g.leave_if(g.b.icmp_unsigned("!=", code, const(I32, DONE)), code)


def invoke(g: Emitter, e: ir.Expr) -> Value:
    """Write a call whose result, if it has one, is a scalar."""
    if isinstance(e, ir.FunctionCall):
        return _call_function(g, e)
    if isinstance(e, ir.ExternCall):
        builder = g.target.externs.get((e.extern, e.method))
        if builder is None:
            raise _unknown(e)
        return builder(g, e)
    if isinstance(e, ir.ActionCall):
        if g.log is not None:
            g.log.called(g, e.action)
        out = copy_in(g, e.action.params, e.args)
        run(g, action(g, e.action), out, ends(g, e.action))
    elif isinstance(e, ir.ApplyCall):
        _apply(g, e)
    elif isinstance(e, ir.HeaderOp):
        header_op(g, e)
    else:
        raise Unsupported(e.pos, f"{type(e).__name__} as a call")
    return None


def _unknown(e: ir.ExternCall) -> Unsupported:
    return Unsupported(e.pos, f"extern {e.extern}.{e.method}" if e.extern else f"extern {e.method}")


@value(ir.FunctionCall, ir.ExternCall)
def _call_in_expression(g: Emitter, e: ir.Expr) -> Value:
    return invoke(g, e)


@aggregate(ir.ExternCall)
def _extern_into(g: Emitter, e: ir.ExternCall, into: Value) -> None:
    builder = g.target.aggregates.get((e.extern, e.method))
    if builder is None:
        raise _unknown(e)
    builder(g, e, into)


@aggregate(ir.FunctionCall)
def _function_into(g: Emitter, e: ir.FunctionCall, into: Value) -> None:
    result = _call(g, e)
    assert result is not None
    g.copy(into, g.cell(result), shape(e.type).size)


def _call_function(g: Emitter, e: ir.FunctionCall) -> Value:
    result = _call(g, e)
    if result is None or not is_scalar(e.type):
        return None
    return g.load(g.cell(result), e.type)


def _call(g: Emitter, e: ir.FunctionCall) -> int | None:
    """Write the call of a function; returns the offset of its result."""
    out = copy_in(g, e.function.params, e.args)
    callee, result = function(g, e.function)
    run(g, callee, out, ends(g, e.function))
    return result


def function(g: Emitter, f: ir.UserFunction) -> tuple[Value, int | None]:
    """The LLVM function of a P4 function, and the offset of its result."""
    if f not in g.memo:
        result = None if f.returns == VOID else g.layout.reserve_for(f.returns)
        with g.function(f.name) as llvm:
            g.f.result = result
            g.statement(f.body)
            if result is not None and not g.b.block.is_terminated:
                g.clear(g.cell(result), shape(f.returns).size)
        g.memo[f] = (llvm, result)
    known: tuple[Value, int | None] = g.memo[f]
    return known


def action(g: Emitter, a: ir.Action) -> Value:
    """The LLVM function of an action's body; its parameters have been set before."""
    if a not in g.memo:
        with g.function(a.name, exits=True) as llvm:
            g.statement(a.body)
        g.memo[a] = llvm
    return g.memo[a]


def _apply(g: Emitter, e: ir.ApplyCall) -> None:
    callee, how = block(g, e.target), ends(g, e.target)
    if e.target not in g.layout.shared:
        run(g, callee, copy_in(g, e.target.params, e.args), how, parser=isinstance(e.target, ir.ParserInstance))
        return
    for param in e.target.params:
        if param.direction == "out":
            g.note_write(param)
            g.clear(g.cell(g.layout.base(param)), shape(param.type).size)
    run(g, callee, [], how)


def block(g: Emitter, b: walk.Block) -> Value:
    """The LLVM function of a parser or control; its parameters have been set before."""
    if b not in g.memo:
        if isinstance(b, ir.ParserInstance):
            g.memo[b] = write_parser(g, b)
        else:
            with g.function(b.name, exits=True) as llvm:
                for stmt in b.locals:
                    g.statement(stmt)
                g.statement(b.body)
            g.memo[b] = llvm
    return g.memo[b]
