# SPDX-License-Identifier: Apache-2.0
"""Notes of what externs do that is not seen in the state they touch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp_p4 import ir, names
from offramp_p4.engine import lvalues, walk
from offramp_p4.engine.generator import Builder, Generator, is_scalar
from offramp_p4.types import Enum, Header, Stack, Struct, Type, Union, strip

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4.trace.recorder import Recorder

Size = Callable[[ir.ExternCall], int | None]
"""Gives the number of cells in the array that a call is about; None: it is about none."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Rules on the events that are noted of an architecture's externs.

    Attributes:
        size: size of arrays, whose cells note themselves; an index that is out of range is noted here.
        silent: whether a call's effects are noted where they show.
        emits: whether the headers that a deparser puts into the packet are noted.
    """

    size: Size
    silent: Callable[[ir.ExternCall], bool]
    emits: bool = False


def traced(
    builders: Mapping[tuple[str, str], Builder], notes: Notes, recorder: Recorder
) -> dict[tuple[str, str], Builder]:
    """The builders, wrapped so that they write notes."""
    return {key: _traced(builder, notes, recorder) for key, builder in builders.items()}


def _traced(build: Builder, notes: Notes, recorder: Recorder) -> Builder:
    def builder(g: Generator, e: ir.ExternCall) -> str:
        note = g.bind(recorder, "trace")
        if e.extern == "packet_in" and e.method == "extract" and e.args[0].expr is not None:
            return _extract(g, e, build, recorder)
        if notes.emits and e.extern == "packet_out" and e.args[0].expr is not None:
            _note_emitted(g, e.args[0].expr, note)
        size = notes.size(e)
        if size is not None:
            _note_out_of_range(g, e, size, note)
        elif not notes.silent(e):
            arguments = [f"{name}={text}" for name, text in _arguments(g, e)]
            g.line(f"{note}.add('call', {(f'{e.extern}.' if e.extern else '') + e.method!r}, {', '.join(arguments)})")
        return build(g, e)

    return builder


def _extract(g: Generator, e: ir.ExternCall, build: Builder, recorder: Recorder) -> str:
    place = e.args[0].expr
    assert place is not None
    at = g.temporary(str(lvalues.address(g, place)), "at")  # before the stack moves on
    result = build(g, e)
    header = strip(place.type)
    assert isinstance(header, Header)
    fields = [
        (f.name, offset, f.type.slots)
        for f, offset in zip(header.fields, header.offsets, strict=True)
        if "padding" not in f.annotations
    ]
    name = names.place(place)

    def extracted(m: Memory, start: int) -> None:
        values = {field: m[start + offset] if slots else None for field, offset, slots in fields}
        recorder.add("extract", name, fields=values)

    g.line(f"{g.bind(extracted, 'extracted')}(m, {at})")
    return result


def _note_emitted(g: Generator, expr: ir.Expr, note: str) -> None:
    """Write notes of the valid headers in what is emitted."""
    if not lvalues.is_lvalue(expr):
        return
    at = g.temporary(str(lvalues.address(g, expr)), "at")
    for name, offset in _headers(names.place(expr), expr.type, 0):
        with g.indented(f"if m[{at} + {offset}]:"):
            g.line(f"{note}.add('emit', {name!r})")


def _headers(name: str, t: Type, at: int) -> Iterator[tuple[str, int]]:
    """Names and cells of the headers in a value."""
    t = strip(t)
    if isinstance(t, Header):
        yield name, at
    elif isinstance(t, Struct | Union):
        for f, offset in zip(t.fields, t.offsets, strict=True):
            yield from _headers(f"{name}.{f.name}", f.type, at + offset)
    elif isinstance(t, Stack):
        for i in range(t.size):
            yield from _headers(f"{name}[{i}]", t.element, at + t.first + i * t.element.slots)


def _note_out_of_range(g: Generator, e: ir.ExternCall, size: int, note: str) -> None:
    assert isinstance(e.target, ir.ExternInstance)
    index = e.args[e.params.index("index")].expr if "index" in e.params else None
    if index is not None and _is_pure(index):
        text, name = g.temporary(g.value(index), "index"), e.target.name
        with g.indented(f"if {text} >= {size}:"):
            g.line(f"{note}.add('skipped', {name!r}, index={text})")


def _arguments(g: Generator, e: ir.ExternCall) -> list[tuple[str, str]]:
    """The text of arguments that can be evaluated once more without changing anything."""
    arguments = []
    for param, arg in zip(e.params, e.args, strict=True):
        expr = arg.expr
        if expr is None or arg.direction in {"out", "inout"} or not is_scalar(expr.type) or not _is_pure(expr):
            continue
        t = strip(expr.type)
        if isinstance(expr, ir.Const) and isinstance(t, Enum) and isinstance(expr.value, int):
            arguments.append((param, repr(t.member(expr.value))))
        else:
            arguments.append((param, g.value(expr)))
    return arguments


def _is_pure(expr: ir.Expr) -> bool:
    calls = ir.FunctionCall | ir.ExternCall | ir.TableApply | ir.ActionCall
    return not any(isinstance(node, calls) for node in walk.nodes(expr))
