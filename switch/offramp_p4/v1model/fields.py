# SPDX-License-Identifier: Apache-2.0
"""Lists of fields of metadata that copies preserve."""

from __future__ import annotations

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.engine.generator import Generator
from offramp_p4.types import Structure, Type, strip

Span = tuple[int, int]
"""First cell and the cell after the last."""


def field_lists(metadata: Type, base: int) -> dict[int, list[Span]]:
    """The cells of user metadata that ``@field_list(n)`` marks, by n."""
    lists: dict[int, list[Span]] = {}
    t = strip(metadata)
    if not isinstance(t, Structure):
        return lists
    for f, offset in zip(t.fields, t.offsets, strict=True):
        at = base + offset
        marks = f.annotations.get("field_list")
        for number in marks.args if marks else ():
            if not isinstance(number, int):
                raise OfframpError(f"{t}.{f.name}: @field_list({number}) is not a number")
            lists.setdefault(number, []).append((at, at + f.type.slots))
        for number, spans in field_lists(f.type, at).items():
            lists.setdefault(number, []).extend(spans)
    return lists


def spans(g: Generator, data: ir.Expr) -> list[Span]:
    """The cells of the places in ``data`` (of ``clone3`` and its kin); what is not a fixed place is not kept."""
    merged = []
    for part in data.parts if isinstance(data, ir.Compose) else [data]:
        if isinstance(part, ir.Compose):
            merged += spans(g, part)
        elif (at := g.layout.static(part)) is not None:
            merged.append((at, at + part.type.slots))
    return merged
