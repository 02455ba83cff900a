# SPDX-License-Identifier: Apache-2.0
"""Field lists: the metadata that copies preserve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.native.llvm import Value, const
from offramp_p4 import ir
from offramp_p4.engine.placement import Span
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.shape import offsets, shape
from offramp_p4.types import Structure, Type, strip


def field_lists(metadata: Type, base: int) -> dict[int, list[Span]]:
    """The bytes of user metadata that ``@field_list(n)`` marks, by n."""
    lists: dict[int, list[Span]] = {}
    t = strip(metadata)
    if not isinstance(t, Structure):
        return lists
    for f, start in zip(t.fields, offsets(t), strict=True):
        at = base + start
        marks = f.annotations.get("field_list")
        for number in marks.args if marks else ():
            if not isinstance(number, int):
                raise OfframpError(f"{t}.{f.name}: @field_list({number}) is not a number")
            lists.setdefault(number, []).append((at, at + shape(f.type).size))
        for number, spans in field_lists(f.type, at).items():
            lists.setdefault(number, []).extend(spans)
    return lists


def spans(layout: ByteLayout, data: ir.Expr) -> list[Span]:
    """The bytes of the places in ``data`` (of ``clone3`` and its kin); what is not a fixed place is not kept."""
    merged = []
    for part in data.parts if isinstance(data, ir.Compose) else [data]:
        if isinstance(part, ir.Compose):
            merged += spans(layout, part)
        elif (span := layout.span(part)) is not None:
            merged.append(span)
    return merged


def by_list(g: Emitter, lists: dict[int, list[Span]], number: Value, write: Callable[[list[Span]], Any]) -> None:
    """Write what is done for the field list with a number; nothing for unknown ones."""
    end = g.block("end")
    switch = g.b.switch(number, end)
    for known, kept in lists.items():
        case = g.block("list")
        switch.add_case(const(number.type, known), case)
        g.b.position_at_end(case)
        write(kept)
        g.jump(end)
    g.b.position_at_end(end)
