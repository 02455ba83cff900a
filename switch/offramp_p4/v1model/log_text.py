# SPDX-License-Identifier: Apache-2.0
"""The text of ``log_msg`` with a hole for each number: headers and structs are written as bmv2 prints them."""

from __future__ import annotations

import re
from typing import Final

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.engine.generator import is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Stack, Structure, Tuple, strip

_HOLE: Final = re.compile(r"\{[^}]*\}")
_UNKNOWN: Final = "?"
"""Stands for a varbit."""


def message_of(e: ir.ExternCall) -> str:
    """The text that a call of ``log_msg`` gives.

    Raises:
        Unsupported: it is not a constant.
    """
    message = argument(e, 0)
    if not isinstance(message, ir.Const) or not isinstance(message.value, str):
        raise Unsupported(e.pos, "log_msg of a text that is not a constant")
    return message.value


def spread(message: str, data: ir.Expr | None) -> tuple[str, list[ir.Expr]]:
    """A message whose holes are for one scalar each, and those scalars: ``{}`` of a header becomes ``(a:{},b:{})``.

    Raises:
        Unsupported: what fills a hole is the result of a call, and no scalar.
    """
    left = iter([] if data is None else _filling(data))
    scalars: list[ir.Expr] = []

    def filled(hole: re.Match[str]) -> str:
        part = next(left, None)
        return hole.group() if part is None else _text(part, scalars)

    return _HOLE.sub(filled, message), scalars


def _filling(data: ir.Expr) -> list[ir.Expr]:
    """What fills the holes, in order: the parts of a list, tuple or struct, or the only value."""
    if isinstance(data, ir.Compose):
        return data.parts
    return [data] if is_scalar(data.type) else [part for _, part in _parts(data)]


def _text(e: ir.Expr, scalars: list[ir.Expr]) -> str:
    if is_scalar(e.type):
        scalars.append(e)
        return "{}"
    if isinstance(strip(e.type), Structure | Tuple | Stack):
        return "(" + ",".join(name + _text(part, scalars) for name, part in _parts(e)) + ")"
    return _UNKNOWN


def _parts(e: ir.Expr) -> list[tuple[str, ir.Expr]]:
    """The fields of a struct, header or union with ``name:``, or the parts of a tuple or stack."""
    t = strip(e.type)
    if isinstance(t, Structure):
        names = [f"{field.name}:" for field in t.fields]
        if isinstance(e, ir.Compose):
            return list(zip(names, e.parts, strict=True))
        place = _place(e)
        members = (ir.Member(place, i, type=field.type, pos=e.pos) for i, field in enumerate(t.fields))
        return list(zip(names, members, strict=True))
    if isinstance(e, ir.Compose):
        return [("", part) for part in e.parts]
    place = _place(e)
    if isinstance(t, Stack):
        numbers = (ir.Const(i, type=Bits(32), pos=e.pos) for i in range(t.size))
        return [("", ir.Element(place, number, type=t.element, pos=e.pos)) for number in numbers]
    assert isinstance(t, Tuple)
    return [("", ir.Member(place, i, type=part, pos=e.pos)) for i, part in enumerate(t.types)]


def _place(e: ir.Expr) -> ir.Expr:
    root = e
    while isinstance(root, ir.Member | ir.Element):
        root = root.base
    if not isinstance(root, ir.VarRef):
        raise Unsupported(e.pos, f"log_msg of a {e.type} that is not stored; assign it to a variable first")
    return e
