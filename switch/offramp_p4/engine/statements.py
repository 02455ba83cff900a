# SPDX-License-Identifier: Apache-2.0
"""Statements (P4-16 section 12)."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.engine import lvalues, tables
from offramp_p4.engine.calls import invoke
from offramp_p4.engine.generator import Generator, is_scalar, statement, zeros
from offramp_p4.source import Unsupported
from offramp_p4.types import Stack, Tuple, strip

_CALLS = ir.FunctionCall | ir.ExternCall


@statement(ir.Assign)
def _assign(g: Generator, s: ir.Assign) -> None:
    target = lvalues.lvalue(g, s.place)
    # Compound assignments have the same node on both sides.
    known: dict[ir.Expr, lvalues.Address] = {}
    if isinstance(target.address, str):
        known[lvalues.unsliced(s.place)] = target.address
    outer, g.addresses = g.addresses, known
    value = invoke(g, s.value) if isinstance(s.value, _CALLS) else g.value(s.value)
    g.addresses = outer
    lvalues.write(g, target, value, lvalues.sliced_cell(s.place))


@statement(ir.Declare)
def _declare(g: Generator, s: ir.Declare) -> None:
    t, base = s.var.type, g.layout.base(s.var)
    if not t.slots:
        return
    if s.value is not None:
        value = invoke(g, s.value) if isinstance(s.value, _CALLS) else g.value(s.value)
    else:
        value = "0" if is_scalar(t) else f"({zeros(t.slots)},)"
    g.line(f"m[{base}] = {value}" if is_scalar(t) else f"m[{base}:{base + t.slots}] = {value}")


@statement(ir.Eval)
def _eval(g: Generator, s: ir.Eval) -> None:
    if isinstance(s.expr, ir.TableApply):
        tables.apply(g, s.expr.table)
        return
    result = invoke(g, s.expr)
    if "(" in result:
        g.line(result)


@statement(ir.Block)
def _block(g: Generator, s: ir.Block) -> None:
    for inner in s.body:
        g.statement(inner)
        if isinstance(inner, ir.Return | ir.Exit | ir.Break | ir.Continue):
            break


@statement(ir.If)
def _if(g: Generator, s: ir.If) -> None:
    head = "if"
    node: ir.Stmt | None = s
    while isinstance(node, ir.If):
        with g.indented(f"{head} {g.condition(node.condition)}:"):
            g.statement(node.then)
        head, node = "elif", node.otherwise
    if node is not None:
        with g.indented("else:"):
            g.statement(node)


@statement(ir.SwitchAction)
def _switch_action(g: Generator, s: ir.SwitchAction) -> None:
    ran = g.temporary(tables.call(g, s.table, "action_run"), "ran")
    labels = [None if c is None else [repr(a.name) for a in c] for c, _ in s.cases]
    _cases(g, ran, labels, [body for _, body in s.cases])


@statement(ir.SwitchValue)
def _switch_value(g: Generator, s: ir.SwitchValue) -> None:
    subject = g.temporary(g.value(s.subject), "subject")
    labels = [None if c is None else [g.value(label) for label in c] for c, _ in s.cases]
    _cases(g, subject, labels, [body for _, body in s.cases])


def _cases(g: Generator, subject: str, labels: list[list[str] | None], bodies: list[ir.Stmt]) -> None:
    head, default = "if", None
    for label, body in zip(labels, bodies, strict=True):
        if label is None:
            default = body
            continue
        test = f"{subject} == {label[0]}" if len(label) == 1 else f"{subject} in ({', '.join(label)},)"
        with g.indented(f"{head} {test}:"):
            g.statement(body)
        head = "elif"
    if default is not None and head == "if":
        g.statement(default)
    elif default is not None:
        with g.indented("else:"):
            g.statement(default)


@statement(ir.ForLoop)
def _for(g: Generator, s: ir.ForLoop) -> None:
    for stmt in s.init:
        g.statement(stmt)
    with g.indented(f"while {g.condition(s.condition)}:"):
        g.count(g.work.round(s))
        g.loops.append(s.update)
        g.statement(s.body)
        g.loops.pop()
        for stmt in s.update:
            g.statement(stmt)


@statement(ir.ForIn)
def _for_in(g: Generator, s: ir.ForIn) -> None:
    base, t, item = g.layout.base(s.var), s.var.type, g.name("item")
    collection = strip(s.low.type)
    if s.high is not None:
        values = f"range({g.value(s.low)}, {g.value(s.high)} + 1)"
    elif isinstance(collection, Stack):
        step, stack = collection.element.slots, g.temporary(g.value(s.low), "stack")
        parts = f"({stack}[i : i + {step}] for i in range({collection.first}, {collection.slots}, {step}))"
        values = stack if is_scalar(t) else parts
    elif isinstance(collection, Tuple):
        cells = g.temporary(g.value(s.low), "list")
        values = (
            cells if is_scalar(t) else f"({cells}[i : i + {t.slots}] for i in range(0, {collection.slots}, {t.slots}))"
        )
    else:
        raise Unsupported(s.pos, f"a for loop over {collection}")
    with g.indented(f"for {item} in {values}:"):
        if g.work.counts(s):
            g.count(g.work.round(s))
        g.line(f"m[{base}] = {item}" if is_scalar(t) else f"m[{base}:{base + t.slots}] = {item}")
        g.loops.append([])
        g.statement(s.body)
        g.loops.pop()


@statement(ir.Break)
def _break(g: Generator, s: ir.Break) -> None:
    del s
    g.line("break")


@statement(ir.Continue)
def _continue(g: Generator, s: ir.Continue) -> None:
    del s
    for stmt in g.loops[-1]:
        g.statement(stmt)
    g.line("continue")


@statement(ir.Return)
def _return(g: Generator, s: ir.Return) -> None:
    g.line("return" if s.value is None else f"return {g.value(s.value)}")


@statement(ir.Exit)
def _exit(g: Generator, s: ir.Exit) -> None:
    if not g.returns_code:
        raise Unsupported(s.pos, "exit in a function or parser")
    g.line("return 1")
