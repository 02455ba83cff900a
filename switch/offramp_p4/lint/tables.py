# SPDX-License-Identifier: Apache-2.0
"""Tables that leave something to chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.lint.diagnostic import RULES, Diagnostic
from offramp_p4.source import Unsupported
from offramp_p4.state import Any, Match, Range, TableState, Ternary
from offramp_p4.state.table import DEFAULT_SIZE


@RULES.register("tables")
def rule(program: ir.Program) -> Iterator[Diagnostic]:
    """Warnings ``table-size`` and ``entry-priority``."""
    applied = {id(n) for b in walk.blocks(program.main) for n in walk.nodes(b, into_declarations=True)}
    for table in program.tables:
        if id(table) not in applied:
            continue
        if table.size is None and table.keys and not table.const_entries:
            message = f"table {table.name} has no size: {DEFAULT_SIZE} entries are assumed"
            yield Diagnostic(table.pos, "table-size", message)
        yield from _priorities(table)


def _priorities(table: ir.MatchTable) -> Iterator[Diagnostic]:
    """Entries of the source that overlap without saying which wins."""
    try:
        state = TableState(table)
    except Unsupported:
        return  # refused when the program is run
    if not state.needs_priority or len(state) != len(table.entries):
        return
    pairs = zip(table.entries, state.entries, strict=True)
    for (first, left), (second, right) in combinations(pairs, 2):
        explicit = [e.priority is not None or "priority" in e.annotations for e in (first, second)]
        if not any(explicit) and all(map(_overlap, left.keys, right.keys)):
            message = f"overlaps the entry at line {first.pos.line}, and neither has a priority: the first wins"
            yield Diagnostic(second.pos, "entry-priority", f"this entry of table {table.name} {message}")


def _overlap(left: Match, right: Match) -> bool:
    if isinstance(left, Any) or isinstance(right, Any):
        return True
    if isinstance(left, Range) and isinstance(right, Range):
        return left.low <= right.high and right.low <= left.high
    if isinstance(left, Ternary) and isinstance(right, Ternary):
        return (left.value ^ right.value) & left.mask & right.mask == 0
    return left == right
