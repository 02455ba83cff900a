# SPDX-License-Identifier: Apache-2.0
"""Dependencies between logical tables (RMT: Bosshart et al., SIGCOMM 2013, section 3; Jose et al., NSDI 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp_p4.tna.resources.fields import VariableField
    from offramp_p4.tna.resources.graph import LogicalTable


@dataclass(frozen=True, slots=True)
class TableDependency:
    """``before`` must stand ``stages`` (0 or 1) in front of ``after``; ``cause`` says why in words."""

    before: LogicalTable
    after: LogicalTable
    stages: int
    kind: str
    cause: str


def dependencies(tables: Sequence[LogicalTable]) -> list[TableDependency]:
    """All dependencies between tables of one gress, given in program order."""
    ordered = []
    for i, after in enumerate(tables):
        for before in tables[:i]:
            dependency = _between(before, after)
            if dependency is not None:
                ordered.append(dependency)
    return ordered


def _between(a: LogicalTable, b: LogicalTable) -> TableDependency | None:
    if a.excludes(b):
        return None
    written = a.writes_before(b)
    if shared := written & (b.matches | b.conditions):
        return TableDependency(a, b, 1, "match", _named(shared, "matches on"))
    if shared := written & b.reads:
        return TableDependency(a, b, 1, "action", _named(shared, "computes with"))
    if shared := written & b.writes:
        return TableDependency(a, b, 1, "action", _named(shared, "also writes"))
    if a in b.decided_by:
        return TableDependency(a, b, 0, "control", "runs by its result")
    if (a.matches | a.reads) & b.writes:
        return TableDependency(a, b, 0, "reverse", "writes what it reads")
    return None


def _named(fields: set[VariableField], verb: str) -> str:
    names = sorted(f.name for f in fields)
    return f"{verb} {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
