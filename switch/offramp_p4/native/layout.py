# SPDX-License-Identifier: Apache-2.0
"""The place of every variable in the memory of one packet: as in the engine's layout, but in bytes."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.engine.placement import Span, VariablePlacement
from offramp_p4.native.shape import aligned, element_offset, offsets, shape
from offramp_p4.types import Stack, Structure, Tuple, Type, strip


def component_offset(e: ir.Member) -> int:
    """Bytes between the base of a struct, header, union or tuple and its component."""
    base = strip(e.base.type)
    assert isinstance(base, Structure | Tuple), base
    return offsets(base)[e.index]


class ByteLayout(VariablePlacement):
    """Assigns offsets, in bytes, once."""

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program, 0)

    def reserve(self, size: int, align: int = 8) -> int:
        """Room that belongs to no variable; its offset."""
        at = aligned(self.size, align)
        self.size = at + size
        return at

    def reserve_for(self, t: Type) -> int:
        """Room for a value of type ``t``; its offset."""
        s = shape(t)
        return self.reserve(s.size, s.align)

    def base(self, var: ir.Var) -> int:
        """Offset of ``var``."""
        if var not in self._base:
            self._base[var] = self.reserve_for(var.type)
        return self._base[var]

    def static(self, expr: ir.Expr) -> int | None:
        """Offset of a place that is known before run time, else None."""
        if isinstance(expr, ir.VarRef):
            return self.base(expr.var)
        if isinstance(expr, ir.Member):
            base = self.static(expr.base)
            return None if base is None else base + component_offset(expr)
        if isinstance(expr, ir.Element) and isinstance(expr.index, ir.Const):
            base, stack, index = self.static(expr.base), strip(expr.base.type), expr.index.value
            if base is not None and isinstance(stack, Stack) and isinstance(index, int):
                return base + element_offset(stack, index) if 0 <= index < stack.size else None
        return None

    def span(self, expr: ir.Expr) -> Span | None:
        """The bytes of an expression: None if they are not known before run time, (0, 0) if it has none."""
        size = shape(expr.type).size
        if not size:
            return 0, 0
        base = self.static(expr)
        return None if base is None else (base, base + size)
