# SPDX-License-Identifier: Apache-2.0
"""Programs whose deparser gives back what the parser has read, where nothing has changed the headers in between.

That holds if the parser reads nothing but the frame and writes nothing but headers, whole, at most once, and on each of
its ways in the order in which the deparser emits them all. Then a frame that recirculates with unchanged headers is
the one that came in, and to parse it gives the same headers again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.engine.parsers import may_repeat
from offramp_p4.engine.placement import Span
from offramp_p4.native.codec import leaves
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.shape import element_offset, offsets
from offramp_p4.types import Header, Stack, Structure, Type, Union, Varbit, strip


def gives_back(layout: ByteLayout, parser: ir.ParserInstance, deparser: ir.ControlInstance) -> bool:
    """Whether a program is one of these, if it :func:`restores_metadata` only."""
    emitted = _emitted(layout, deparser)
    return emitted is not None and _reads_in_order(layout, parser, emitted)


def restores_metadata(restored: Iterable[Span], metadata: Span) -> bool:
    """Whether what a packet that comes again has before it is parsed is in user metadata, which the parser leaves."""
    return all(metadata[0] <= at and end <= metadata[1] for at, end in restored)


def _emitted(layout: ByteLayout, deparser: ir.ControlInstance) -> list[int] | None:
    """Offsets of the headers that a deparser emits, in this order; None if it does more than that."""
    if deparser.locals:
        return None
    slots: list[int] = []
    for stmt in _statements(deparser.body):
        call = _call_of(stmt, "packet_out", "emit")
        place = None if call is None else call.args[0].expr
        base = None if place is None or not is_lvalue(place) else layout.static(place)
        if place is None or base is None:
            return None
        for at in _headers(place.type, base):
            if at is None:
                return None
            slots.append(at)
    return slots if len(set(slots)) == len(slots) else None


def _statements(block: ir.Block) -> Iterator[ir.Stmt]:
    for stmt in block.body:
        if isinstance(stmt, ir.Block):
            yield from _statements(stmt)
        else:
            yield stmt


def _call_of(stmt: ir.Stmt, extern: str, method: str) -> ir.ExternCall | None:
    """The call of a method with one argument that a statement is, if it is that."""
    call = stmt.expr if isinstance(stmt, ir.Eval) else None
    if isinstance(call, ir.ExternCall) and (call.extern, call.method, len(call.args)) == (extern, method, 1):
        return call
    return None


def _headers(t: Type, base: int) -> Iterator[int | None]:
    """Offsets of a value's headers; None for one that is not of whole bytes, or whose place others may take."""
    t = strip(t)
    if isinstance(t, Header):
        varbit = any(isinstance(leaf.type, Varbit) for leaf in leaves(t))
        yield None if varbit or t.fixed_width % 8 else base
    elif isinstance(t, Stack):
        for i in range(t.size):
            yield from _headers(t.element, base + element_offset(t, i))
    elif isinstance(t, Structure) and not isinstance(t, Union):
        for f, at in zip(t.fields, offsets(t), strict=True):
            yield from _headers(f.type, base + at)
    else:
        yield None


def _reads_in_order(layout: ByteLayout, parser: ir.ParserInstance, emitted: list[int]) -> bool:
    """Whether each way through the parser extracts headers in this order, and nothing else is done."""
    if parser.locals or may_repeat(parser):
        return False
    order = {at: i for i, at in enumerate(emitted)}
    todo, seen = [("start", -1)], set()
    while todo:
        name, last = todo.pop()
        state = parser.states.get(name)
        if state is None or (name, last) in seen:
            continue
        seen.add((name, last))
        for stmt in state.body:
            call = _call_of(stmt, "packet_in", "extract")
            place = None if call is None else call.args[0].expr
            base = None if place is None else layout.static(place)
            if base not in order or order[base] <= last:
                return False
            last = order[base]
        if not _looks_at_headers(parser, state):
            return False
        todo += [(case.target, last) for case in state.cases]
    return True


def _looks_at_headers(parser: ir.ParserInstance, state: ir.ParserState) -> bool:
    """Whether only headers, and bytes of the frame, decide which state follows."""
    packet, headers = parser.params[:2]
    for node in walk.nodes([*state.select, *(case.keys for case in state.cases)]):
        if isinstance(node, ir.VarRef) and node.var not in (packet, headers):
            return False
        if isinstance(node, ir.ExternCall) and (node.extern, node.method) == ("packet_in", "lookahead"):
            continue
        if isinstance(node, ir.ExternCall | ir.FunctionCall | ir.StackNext | ir.StackLast | ir.StackLastIndex):
            return False
    return True
