# SPDX-License-Identifier: Apache-2.0
"""Where every variable of a program lives in the memory of one packet: as in the engine's layout, but in bytes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.native.shape import aligned, element_offset, offsets, shape
from offramp_p4.types import Stack, Structure, Tuple, Type, strip

Span = tuple[int, int]
"""Offset of the first byte, and of the byte after the last."""


def component_offset(e: ir.Member) -> int:
    """Bytes between the base of a struct, header, union or tuple and its component."""
    base = strip(e.base.type)
    assert isinstance(base, Structure | Tuple), base
    return offsets(base)[e.index]


class Layout:
    """Assigns offsets once: every variable has a fixed one, because P4 has no recursion.

    A control or parser that is applied at one place only, with arguments in places that do not overlap, works
    directly on its caller's memory: copying in and out would make no difference.

    Attributes:
        shared: blocks whose parameters are their caller's variables.
        size: bytes in use so far.
    """

    def __init__(self, program: ir.Program) -> None:
        self.size = 0
        self.shared: set[walk.Block] = set()
        self._base: dict[ir.Var, int] = {}
        calls = [call for block in walk.blocks(program.main) for call in walk.applies_in(block)]
        self._sites = Counter(call.target for call in calls)

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

    def place_block(self, block: walk.Block, bases: list[int | None]) -> None:
        """Place a block's parameters at ``bases`` (None: in room of their own), then the blocks it applies."""
        for param, base in zip(block.params, bases, strict=True):
            if base is None:
                self.base(param)
            else:
                self._base[param] = base
        for call in walk.applies_in(block):
            self._place_callee(call)

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
        """The bytes of a place that is known before run time, else None."""
        base = self.static(expr)
        return None if base is None else (base, base + shape(expr.type).size)

    def _place_callee(self, call: ir.ApplyCall) -> None:
        if call.target in self.shared:
            return
        bases: list[int | None] = [None] * len(call.args)
        if self._sites[call.target] == 1:
            spans = [self._argument_span(arg) for arg in call.args]
            if all(spans) and not _overlap([s for s in spans if s]):
                bases = [s[0] if s and s[1] > s[0] else None for s in spans]
                self.shared.add(call.target)
        self.place_block(call.target, bases)

    def _argument_span(self, arg: ir.Arg) -> Span | None:
        if arg.expr is None:
            return None
        return self.span(arg.expr) if shape(arg.expr.type).size else (0, 0)


def _overlap(spans: list[Span]) -> bool:
    spans = sorted(s for s in spans if s[1] > s[0])
    return any(start < end for (_, end), (start, _) in pairwise(spans))
