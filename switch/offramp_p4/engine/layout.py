# SPDX-License-Identifier: Apache-2.0
"""Where every variable of a program lives in the flat memory of one packet."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.types import Stack, strip

Memory = list[Any]

# Cells that every program has.
FRAME: Final = 0  # the bytes that the parser reads
CURSOR: Final = 1  # how many of them it has consumed
LENGTH: Final = 2  # how many there are
OUTPUT: Final = 3  # the list of byte strings that the deparser has emitted
GROWTH: Final = 4  # bytes of headers made valid minus bytes made invalid
RESERVED: Final = 5


class Layout:
    """Assigns cells once: every variable has a fixed base, because P4 has no recursion.

    A control or parser that is applied at one place only, with arguments in places that do not overlap, works
    directly on its caller's cells: copying in and out would make no difference.

    Attributes:
        shared: blocks whose parameters are their caller's cells.
        size: cells in use so far.
        void: cells that stay zero, behind all others: what a stack's element out of range reads.
    """

    def __init__(self, program: ir.Program) -> None:
        self.size = RESERVED
        self.shared: set[walk.Block] = set()
        self._void_slots = 1
        self._base: dict[ir.Var, int] = {}
        calls = [call for block in walk.blocks(program.main) for call in walk.applies_in(block)]
        self._sites = Counter(call.target for call in calls)

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
        """Ask for at least so many cells of zeros."""
        self._void_slots = max(self._void_slots, cells)

    def place_block(self, block: walk.Block, bases: list[int | None]) -> None:
        """Place a block's parameters at ``bases`` (None: cells of their own), then the blocks it applies."""
        for param, base in zip(block.params, bases, strict=True):
            if base is None:
                self.base(param)
            else:
                self._base[param] = base
        for call in walk.applies_in(block):
            self._place_callee(call)

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

    def _place_callee(self, call: ir.ApplyCall) -> None:
        if call.target in self.shared:
            return
        bases: list[int | None] = [None] * len(call.args)
        if self._sites[call.target] == 1:
            spans = [self._span(arg) for arg in call.args]
            if all(spans) and not _overlap([s for s in spans if s]):
                bases = [s[0] if s and s[1] > s[0] else None for s in spans]
                self.shared.add(call.target)
        self.place_block(call.target, bases)

    def _span(self, arg: ir.Arg) -> tuple[int, int] | None:
        if arg.expr is None:
            return None
        base = self.static(arg.expr) if arg.expr.type.slots else 0
        return None if base is None else (base, base + arg.expr.type.slots)


def _overlap(spans: list[tuple[int, int]]) -> bool:
    spans = sorted(s for s in spans if s[1] > s[0])
    return any(start < end for (_, end), (start, _) in pairwise(spans))
