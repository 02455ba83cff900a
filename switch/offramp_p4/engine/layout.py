# SPDX-License-Identifier: Apache-2.0
"""The place of every variable of a program in the flat memory of one packet."""

from __future__ import annotations

from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.placement import Span, VariablePlacement
from offramp_p4.types import Stack, strip

Memory = list[Any]

# Cells that every program has.
FRAME: Final = 0  # the bytes that the parser reads
CURSOR: Final = 1  # how many of them it has consumed
LENGTH: Final = 2  # how many there are
OUTPUT: Final = 3  # the list of byte strings that the deparser has emitted
GROWTH: Final = 4  # bytes of headers made valid minus bytes made invalid
RESERVED: Final = 5


class CellLayout(VariablePlacement):
    """Assigns cells once.

    Attributes:
        void: cells that stay zero, behind all others: what a stack's element out of range reads.
    """

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program, RESERVED)
        self._void_slots = 1

    @property
    def void(self) -> int:
        """First of the cells that stay zero; known once everything is placed."""
        return self.size

    def base(self, var: ir.Var) -> int:
        """First cell of ``var``."""
        if var not in self._base:
            self._base[var] = self.reserve(var.type.slots)
        return self._base[var]

    def reserve(self, cells: int = 1) -> int:
        """Cells that belong to no variable."""
        at, self.size = self.size, self.size + cells
        return at

    def need_void(self, cells: int) -> None:
        """Reserve at least this many cells of zeros."""
        self._void_slots = max(self._void_slots, cells)

    def place_params(self, params: list[ir.Var]) -> int:
        """Give the parameters adjacent cells, in order; returns the first."""
        for param in params:
            self.base(param)
        return self.base(params[0]) if params else self.size

    def static(self, expr: ir.Expr) -> int | None:
        """First cell of a place that is known before run time, else None."""
        if isinstance(expr, ir.VarRef):
            return self.base(expr.var)
        if isinstance(expr, ir.Member):
            base = self.static(expr.base)
            return None if base is None else base + walk.offset(expr)
        if isinstance(expr, ir.Element) and isinstance(expr.index, ir.Const):
            base, stack, index = self.static(expr.base), strip(expr.base.type), expr.index.value
            if base is not None and isinstance(stack, Stack) and isinstance(index, int):
                return base + stack.first + index * stack.element.slots if 0 <= index < stack.size else None
        return None

    def template(self) -> Memory:
        """Memory for a fresh packet: all zero, all headers invalid."""
        return [0] * (self.size + self._void_slots)

    def span(self, expr: ir.Expr) -> Span | None:
        """The cells of an expression: None if they are not known before run time, (0, 0) if it has none."""
        if not expr.type.slots:
            return 0, 0
        base = self.static(expr)
        return None if base is None else (base, base + expr.type.slots)
