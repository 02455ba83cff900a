# SPDX-License-Identifier: Apache-2.0
"""Statements (P4-16 section 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from offramp_base.native.llvm import I32, I64, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.lvalues import unsliced
from offramp_p4.native import lvalues, tables, wide
from offramp_p4.native.calls import invoke
from offramp_p4.native.emitter import Emitter, statement
from offramp_p4.native.runtime.program import DONE, EXITED
from offramp_p4.native.shape import bits_of, components, element_offset, is_scalar, offsets, shape
from offramp_p4.source import Unsupported
from offramp_p4.types import Stack, Tuple, strip


@statement(ir.Assign)
def _assign(g: Emitter, s: ir.Assign) -> None:
    if not shape(s.place.type).size:
        return
    target = lvalues.lvalue(g, s.place)
    # Compound assignments have the same node on both sides.
    node = unsliced(s.place)
    outer, g.f.addresses = g.f.addresses, {node: (target.address, target.inside)}
    if is_scalar(s.place.type):
        number = g.value(s.value) if isinstance(s.place, ir.Slice) else wide.value(g, s.value)
        g.f.addresses = outer
        lvalues.write(g, target, number)
    else:
        copy = g.temporary(s.value)
        g.f.addresses = outer
        lvalues.write_copy(g, target, copy)


@statement(ir.Declare)
def _declare(g: Emitter, s: ir.Declare) -> None:
    at = g.cell(g.layout.base(s.var))
    if s.value is not None and is_scalar(s.var.type) and shape(s.var.type).size:
        g.store(wide.value(g, s.value), at, s.var.type)
    elif s.value is not None and shape(s.var.type).size:
        g.into(s.value, at)
    else:
        g.clear(at, shape(s.var.type).size)


@statement(ir.Eval)
def _eval(g: Emitter, s: ir.Eval) -> None:
    if isinstance(s.expr, ir.TableApply):
        tables.apply(g, s.expr.table)
    elif isinstance(s.expr, ir.FunctionCall | ir.ExternCall) and shape(s.expr.type).size and not is_scalar(s.expr.type):
        g.temporary(s.expr)
    else:
        invoke(g, s.expr)


@statement(ir.Block)
def _block(g: Emitter, s: ir.Block) -> None:
    for inner in s.body:
        if g.b.block.is_terminated:
            return
        g.statement(inner)


@statement(ir.If)
def _if(g: Emitter, s: ir.If) -> None:
    otherwise = s.otherwise
    if g.log is not None:
        g.choose(g.value(s.condition), lambda: _logged(g, s, s.then), lambda: _logged(g, s, otherwise))
    elif otherwise is None:
        with g.when(g.value(s.condition)):
            g.statement(s.then)
    else:
        g.choose(g.value(s.condition), lambda: g.statement(s.then), lambda: g.statement(otherwise))


def _logged(g: Emitter, s: ir.If, arm: ir.Stmt | None) -> None:
    assert g.log is not None
    g.log.branch(g, s, arm is s.then)
    if arm is not None:
        g.statement(arm)


@statement(ir.SwitchAction)
def _switch_action(g: Emitter, s: ir.SwitchAction) -> None:
    ran = tables.call(g, s.table).ran

    def test(a: ir.Action) -> Value:
        return g.b.icmp_unsigned("==", ran, const(I32, g.target.actions[a.name].number))

    tests = [None if c is None else [partial(test, a) for a in c] for c, _ in s.cases]
    _cases(g, tests, [body for _, body in s.cases])


@statement(ir.SwitchValue)
def _switch_value(g: Emitter, s: ir.SwitchValue) -> None:
    subject = g.value(s.subject)

    def test(label: ir.Const) -> Value:
        return g.b.icmp_unsigned("==", subject, g.resize(g.value(label), subject.type.width))

    tests = [None if c is None else [partial(test, label) for label in c] for c, _ in s.cases]
    _cases(g, tests, [body for _, body in s.cases])


def _cases(g: Emitter, tests: Sequence[Sequence[Callable[[], Value]] | None], bodies: list[ir.Stmt]) -> None:
    """The first case that has a true test; else the one without tests."""
    end, default = g.block("end"), None
    for test, body in zip(tests, bodies, strict=True):
        if test is None:
            default = body
        elif test:
            case, more = g.block("case"), g.block("more")
            g.b.cbranch(reduce(g.b.or_, [t() for t in test]), case, more)
            g.b.position_at_end(case)
            g.statement(body)
            g.jump(end)
            g.b.position_at_end(more)
    if default is not None:
        g.statement(default)
    g.jump(end)
    g.b.position_at_end(end)


@statement(ir.ForLoop)
def _for(g: Emitter, s: ir.ForLoop) -> None:
    for stmt in s.init:
        g.statement(stmt)

    def update() -> None:
        for stmt in s.update:
            g.statement(stmt)

    _loop(g, s, lambda: g.value(s.condition), lambda: g.statement(s.body), update)


def _loop(
    g: Emitter,
    s: ir.ForLoop | ir.ForIn,
    test: Callable[[], Value],
    body: Callable[[], None],
    update: Callable[[], None],
) -> None:
    head, inside, more, end = (g.block(name) for name in ("head", "loop", "more", "end"))
    g.b.branch(head)
    g.b.position_at_end(head)
    g.b.cbranch(test(), inside, end)
    g.f.loops.append((more, end))
    g.b.position_at_end(inside)
    if g.work.counts(s):
        g.count(g.work.round(s))
    body()
    g.jump(more)
    g.f.loops.pop()
    g.b.position_at_end(more)
    update()
    g.jump(head)
    g.b.position_at_end(end)


@statement(ir.ForIn)
def _for_in(g: Emitter, s: ir.ForIn) -> None:
    if s.high is not None:
        _for_range(g, s, s.high)
        return
    t, variable = strip(s.low.type), g.cell(g.layout.base(s.var))
    if isinstance(t, Stack):
        count, first, step = t.size, element_offset(t, 0), shape(t.element).size
    elif isinstance(t, Tuple) and len(set(components(t))) <= 1:
        places_ = (*offsets(t), shape(t).size)
        count, first, step = len(components(t)), 0, places_[1] if components(t) else 0
    else:
        raise Unsupported(s.pos, f"a for loop over {t}")
    if not count:
        return
    values, i = g.temporary(s.low), g.allocate(I64)
    g.b.store(i64(0), i)

    def body() -> None:
        at = g.b.add(g.b.mul(g.b.load(i, typ=I64), i64(step)), i64(first))
        g.copy(variable, g.at(values, at), shape(s.var.type).size)
        g.statement(s.body)

    def update() -> None:
        g.b.store(g.b.add(g.b.load(i, typ=I64), i64(1)), i)

    _loop(g, s, lambda: g.b.icmp_unsigned("<", g.b.load(i, typ=I64), i64(count)), body, update)


def _for_range(g: Emitter, s: ir.ForIn, last: ir.Expr) -> None:
    """Loop from ``low`` to ``high``; counted with one bit more, since the last value may be the type's greatest."""
    bits = bits_of(s.var.type)
    assert bits is not None
    wide = bits.width + 1
    low = g.resize(g.value(s.low), bits.width, signed=bits.signed)
    high = g.resize(g.value(last), bits.width, signed=bits.signed)
    low, high = (g.resize(v, wide, signed=bits.signed) for v in (low, high))
    i = g.allocate(low.type)
    g.b.store(low, i)
    at_most = g.b.icmp_signed if bits.signed else g.b.icmp_unsigned

    def body() -> None:
        g.store(g.resize(g.b.load(i, typ=low.type), bits.width), g.cell(g.layout.base(s.var)), s.var.type)
        g.statement(s.body)

    def update() -> None:
        g.b.store(g.b.add(g.b.load(i, typ=low.type), const(low.type, 1)), i)

    _loop(g, s, lambda: at_most("<=", g.b.load(i, typ=low.type), high), body, update)


@statement(ir.Break)
def _break(g: Emitter, s: ir.Break) -> None:
    del s
    g.b.branch(g.f.loops[-1][1])


@statement(ir.Continue)
def _continue(g: Emitter, s: ir.Continue) -> None:
    del s
    g.b.branch(g.f.loops[-1][0])


@statement(ir.Return)
def _return(g: Emitter, s: ir.Return) -> None:
    if s.value is not None and g.f.result is not None:
        if is_scalar(s.value.type):
            g.into(s.value, g.cell(g.f.result))
        else:
            g.copy(g.cell(g.f.result), g.temporary(s.value), shape(s.value.type).size)
    g.leave(DONE)


@statement(ir.Exit)
def _exit(g: Emitter, s: ir.Exit) -> None:
    if not g.f.may_exit:
        raise Unsupported(s.pos, "exit in a function or parser")
    g.leave(EXITED)
