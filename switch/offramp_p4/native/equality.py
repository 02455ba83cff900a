# SPDX-License-Identifier: Apache-2.0
"""``==`` on values of several scalars (P4-16 sections 8.17, 8.18, 8.20)."""

from __future__ import annotations

from functools import reduce

from offramp_base.native.llvm import I8, I32, Value, const, ll
from offramp_p4.native.emitter import BOOL_TRUE, Emitter
from offramp_p4.native.shape import components, element_offset, is_scalar, offsets
from offramp_p4.types import Header, Stack, Structure, Tuple, Type, Varbit, strip


def equal(g: Emitter, t: Type, left: Value, right: Value) -> Value:
    """Whether the values at two addresses are equal: headers by validity and, if valid, fields."""
    t = strip(t)
    if is_scalar(t):
        return g.b.icmp_unsigned("==", g.load(left, t), g.load(right, t))
    if isinstance(t, Varbit):
        # Beyond the current width a varbit is zero, so that all of it can be compared at once.
        width = g.b.icmp_unsigned("==", g.b.load(left, typ=I32), g.b.load(right, typ=I32))
        bits = ll.IntType(8 * ((t.width + 7) // 8))
        values = (g.b.load(g.at(side, 4), typ=bits, align=1) for side in (left, right))
        return g.b.and_(width, g.b.icmp_unsigned("==", *values))
    if isinstance(t, Header):
        valid = [g.b.icmp_unsigned("!=", g.b.load(side, typ=I8), const(I8, 0)) for side in (left, right)]
        alike = g.b.icmp_unsigned("==", *valid)
        return g.b.and_(alike, g.b.or_(g.b.not_(valid[0]), _all(g, t, left, right)))
    return _all(g, t, left, right)


def _all(g: Emitter, t: Type, left: Value, right: Value) -> Value:
    if isinstance(t, Stack):
        parts: list[tuple[Type, int]] = [(t.element, element_offset(t, i)) for i in range(t.size)]
    else:
        assert isinstance(t, Structure | Tuple), t
        parts = list(zip(components(t), offsets(t), strict=True))
    same = [equal(g, part, g.at(left, at), g.at(right, at)) for part, at in parts]
    return reduce(g.b.and_, same, BOOL_TRUE)
