# SPDX-License-Identifier: Apache-2.0
"""``==`` on values of several cells (P4-16 sections 8.17, 8.18, 8.20)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from offramp_p4.types import Header, Stack, Structure, Tuple, Type, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Generator

Equal = Callable[[Sequence[Any], Sequence[Any]], bool]


def equality(g: Generator, t: Type) -> str:
    """The name of a function that compares two values of ``t``."""
    t = strip(t)
    key = ("equality", t)
    if key not in g.memo:
        g.memo[key] = g.bind(equal(t), "equal")
    return g.memo[key]


def equal(t: Type) -> Equal:
    """The comparison: headers by validity and, if valid, fields; everything else component by component."""
    t = strip(t)
    if isinstance(t, Header):
        fields = _components([f.type for f in t.fields], t.offsets)
        return lambda a, b: bool(a[0]) == bool(b[0]) and (not a[0] or fields(a, b))
    if isinstance(t, Structure):
        return _components([f.type for f in t.fields], t.offsets)
    if isinstance(t, Tuple):
        return _components(list(t.types), t.offsets)
    if isinstance(t, Stack):
        step = t.element.slots
        return _components([t.element] * t.size, [t.first + i * step for i in range(t.size)])
    return lambda a, b: list(a) == list(b)


def _components(parts: Sequence[Type], offsets: Sequence[int]) -> Equal:
    compare = [(equal(p), at, at + p.slots) for p, at in zip(parts, offsets, strict=True)]
    return lambda a, b: all(same(a[i:j], b[i:j]) for same, i, j in compare)
