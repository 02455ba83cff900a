# SPDX-License-Identifier: Apache-2.0
"""Notes of what externs do that is not seen in the state they touch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir, names
from offramp_p4.engine import lvalues, walk
from offramp_p4.engine.generator import Builder, Generator, is_scalar
from offramp_p4.types import Enum, Header, strip

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4.trace.recorder import Recorder
    from offramp_p4.v1model.objects import Objects

# Their effects are noted where they show.
_SILENT: Final = frozenset({"emit", "extract", "lookahead", "length", "read", "write", "count", "execute_meter"})
_ARRAYS: Final = frozenset({"register", "counter", "meter", "Register", "Counter", "Meter"})
_SEEN_NOWHERE: Final = frozenset({"DirectCounter", "DirectMeter", "Random"})


def traced(
    builders: Mapping[tuple[str, str], Builder], objects: Objects, recorder: Recorder
) -> dict[tuple[str, str], Builder]:
    """The same builders, writing notes."""
    return {key: _traced(builder, objects, recorder) for key, builder in builders.items()}


def _traced(build: Builder, objects: Objects, recorder: Recorder) -> Builder:
    def builder(g: Generator, e: ir.ExternCall) -> str:
        note = g.bind(recorder, "trace")
        if e.method == "extract" and e.args[0].expr is not None:
            return _extract(g, e, build, recorder)
        if e.extern in _ARRAYS:
            _note_out_of_range(g, e, objects, note)
        elif e.method not in _SILENT or e.extern in _SEEN_NOWHERE:
            given = [f"{name}={text}" for name, text in _arguments(g, e)]
            g.line(f"{note}.add('call', {(f'{e.extern}.' if e.extern else '') + e.method!r}, {', '.join(given)})")
        return build(g, e)

    return builder


def _extract(g: Generator, e: ir.ExternCall, build: Builder, recorder: Recorder) -> str:
    place = e.args[0].expr
    assert place is not None
    at = g.temporary(str(lvalues.address(g, place)), "at")  # before the stack moves on
    result = build(g, e)
    header = strip(place.type)
    assert isinstance(header, Header)
    fields = [(f.name, offset, f.type.slots) for f, offset in zip(header.fields, header.offsets, strict=True)]
    name = names.place(place)

    def extracted(m: Memory, start: int) -> None:
        values = {field: m[start + offset] if slots else None for field, offset, slots in fields}
        recorder.add("extract", name, fields=values)

    g.line(f"{g.bind(extracted, 'extracted')}(m, {at})")
    return result


def _note_out_of_range(g: Generator, e: ir.ExternCall, objects: Objects, note: str) -> None:
    assert isinstance(e.target, ir.ExternInstance)
    index = e.args[e.params.index("index")].expr
    if index is not None and _is_pure(index):
        text, name = g.temporary(g.value(index), "index"), e.target.name
        with g.indented(f"if {text} >= {objects.of[e.target].size}:"):
            g.line(f"{note}.add('skipped', {name!r}, index={text})")


def _arguments(g: Generator, e: ir.ExternCall) -> list[tuple[str, str]]:
    """The text of arguments that can be evaluated once more without changing anything."""
    found = []
    for param, arg in zip(e.params, e.args, strict=True):
        expr = arg.expr
        if expr is None or arg.direction in {"out", "inout"} or not is_scalar(expr.type) or not _is_pure(expr):
            continue
        t = strip(expr.type)
        if isinstance(expr, ir.Const) and isinstance(t, Enum) and isinstance(expr.value, int):
            found.append((param, repr(t.member(expr.value))))
        else:
            found.append((param, g.value(expr)))
    return found


def _is_pure(expr: ir.Expr) -> bool:
    calls = ir.FunctionCall | ir.ExternCall | ir.TableApply | ir.ActionCall
    return not any(isinstance(node, calls) for node in walk.nodes(expr))
