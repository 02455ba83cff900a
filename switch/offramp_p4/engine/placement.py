# SPDX-License-Identifier: Apache-2.0
"""Variables of a program that share memory: what the layouts of both engines have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from itertools import pairwise

from offramp_p4 import ir
from offramp_p4.engine import walk

Span = tuple[int, int]
"""The first unit of memory that something takes, and the one after its last."""


class VariablePlacement(ABC):
    """Gives every variable one base, because P4 has no recursion.

    A control or parser that is applied at one place only, with arguments in places that do not overlap, works
    directly on its caller's memory: copying in and out would make no difference.

    Attributes:
        shared: blocks whose parameters are their caller's variables.
        size: units of memory in use so far.
    """

    def __init__(self, program: ir.Program, size: int) -> None:
        self.size = size
        self.shared: set[walk.Block] = set()
        self._base: dict[ir.Var, int] = {}
        calls = [call for block in walk.blocks(program.main) for call in walk.applies_in(block)]
        self._sites = Counter(call.target for call in calls)

    @abstractmethod
    def base(self, var: ir.Var) -> int:
        """The first cell or byte of ``var``."""

    @abstractmethod
    def static(self, expr: ir.Expr) -> int | None:
        """The offset of an l-value, if it is known before run time; else None."""

    @abstractmethod
    def span(self, expr: ir.Expr) -> Span | None:
        """The memory of an expression: None if it is not known before run time, (0, 0) if it has none."""

    def place_block(self, block: walk.Block, bases: list[int | None]) -> None:
        """Place a block's parameters at ``bases`` (None: in memory of their own), then the blocks it applies."""
        for param, base in zip(block.params, bases, strict=True):
            if base is None:
                self.base(param)
            else:
                self._base[param] = base
        for call in walk.applies_in(block):
            self._place_callee(call)

    def _place_callee(self, call: ir.ApplyCall) -> None:
        if call.target in self.shared:
            return
        bases: list[int | None] = [None] * len(call.args)
        if self._sites[call.target] == 1:
            spans = [None if arg.expr is None else self.span(arg.expr) for arg in call.args]
            if all(spans) and not _overlap([s for s in spans if s]):
                bases = [s[0] if s and s[1] > s[0] else None for s in spans]
                self.shared.add(call.target)
        self.place_block(call.target, bases)


def _overlap(spans: list[Span]) -> bool:
    spans = sorted(s for s in spans if s[1] > s[0])
    return any(start < end for (_, end), (start, _) in pairwise(spans))
