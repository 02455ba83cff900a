# SPDX-License-Identifier: Apache-2.0
"""Logical tables into stages: the longest chain first, each table in the first stage that it may and can go to.

Tables that share a register go to one stage. A table's entries may spill into the next stages; registers,
counters and meters cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_p4.tna.resources.memory import MemoryBlocks, blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp_p4 import ir
    from offramp_p4.tna.resources.chip import ChipLimits
    from offramp_p4.tna.resources.dependencies import TableDependency
    from offramp_p4.tna.resources.fields import Fields, VariableField
    from offramp_p4.tna.resources.graph import LogicalTable


@dataclass(slots=True)
class StageUsage:
    """Tables of a stage and the resources that they use."""

    tables: list[LogicalTable] = field(default_factory=list)
    stateful: set[ir.ExternInstance] = field(default_factory=set)
    counters: set[ir.ExternInstance] = field(default_factory=set)
    srams: int = 0
    tcams: int = 0
    map_rams: int = 0
    gateways: int = 0
    exact: set[VariableField] = field(default_factory=set)
    ternary: set[VariableField] = field(default_factory=set)
    indices: set[Fields] = field(default_factory=set)

    @property
    def hash_units(self) -> int:
        """Slices of 16 bits."""
        return sum(-(-sum(f.bits for f in index) // 16) for index in self.indices)


@dataclass(slots=True)
class PlacedTable:
    """The place of a table: its first and last stage, the stage its dependencies allow, and what held it back."""

    first: int
    last: int
    earliest: int
    limit: str = ""


@dataclass(slots=True)
class TablePlacement:
    """The outcome; ``oversized`` are tables that no stage can hold, with what they need."""

    stages: list[StageUsage]
    where: dict[LogicalTable, PlacedTable]
    oversized: list[tuple[LogicalTable, str]]


def place(tables: Sequence[LogicalTable], needs: Sequence[TableDependency], chip: ChipLimits) -> TablePlacement:
    """Place all tables; as many stages as it takes."""
    return _Placer(tables, needs, chip).run()


class _Placer:
    def __init__(self, tables: Sequence[LogicalTable], needs: Sequence[TableDependency], chip: ChipLimits) -> None:
        self.tables, self.chip = tables, chip
        self.before: dict[LogicalTable, list[TableDependency]] = {t: [] for t in tables}
        for need in needs:
            self.before[need.after].append(need)
        self.height = _heights(tables, needs)
        self.order = {t: i for i, t in enumerate(tables)}
        self.out = TablePlacement([], {}, [])

    def run(self) -> TablePlacement:
        left = _clusters(self.tables)
        while left:
            ready = [c for c in left if all(n.before in self.out.where or n.before in c for n in self._needs(c))]
            # Tables that share a register may stand in each other's way; then the first in the program goes first.
            chosen = min(ready or left, key=lambda c: (-max(self.height[t] for t in c), self.order[c[0]]))
            left.remove(chosen)
            self._place(chosen)
        return self.out

    def _needs(self, cluster: list[LogicalTable]) -> list[TableDependency]:
        return [n for t in cluster for n in self.before[t]]

    def _place(self, cluster: list[LogicalTable]) -> None:
        where = self.out.where
        earliest = max((where[n.before].last + n.stages for n in self._needs(cluster) if n.before in where), default=0)
        need = sum((blocks(t) for t in cluster[:1]), MemoryBlocks())
        for t in cluster[1:]:
            need += _entries_only(t)
        limit, at = "", earliest
        too_large = self._refusal(StageUsage(), cluster, need)
        if too_large:
            self.out.oversized.append((cluster[0], too_large))
        while not too_large and (reason := self._refusal(self._stage(at), cluster, need)):
            limit, at = limit or reason, at + 1
        last = self._fill(at, cluster, need)
        for t in cluster:
            where[t] = PlacedTable(at, last, earliest, limit if at > earliest else "")

    def _stage(self, at: int) -> StageUsage:
        while len(self.out.stages) <= at:
            self.out.stages.append(StageUsage())
        return self.out.stages[at]

    def _refusal(self, stage: StageUsage, cluster: list[LogicalTable], need: MemoryBlocks) -> str:
        """The resource that the stage lacks; empty: none."""
        chip = self.chip
        after = StageUsage(
            [*stage.tables, *cluster],
            stage.stateful | {x for t in cluster for x in [*t.registers, *t.meters]},
            stage.counters | {x for t in cluster for x in t.counters},
            gateways=stage.gateways + sum(t.gateway for t in cluster),
            exact=stage.exact | {f for t in cluster for f in _searched(t)},
            ternary=stage.ternary | {f for t in cluster if _is_ternary(t) for f in t.matches},
            indices=stage.indices | {i for t in cluster for i in t.indices},
        )
        srams, tcams = chip.srams - stage.srams, chip.tcams - stage.tcams
        spread = not need.tied
        checks = [
            (len(after.stateful) > chip.stateful_alus, "stateful ALUs"),
            (len(after.counters) > chip.statistics_alus, "statistics ALUs"),
            (stage.map_rams + need.map_rams > chip.map_rams, "map RAMs"),
            (need.srams > srams if not spread else bool(need.srams) and srams < 1, "SRAM blocks"),
            (need.tcams > tcams if not spread else bool(need.tcams) and tcams < 1, "TCAM blocks"),
            (len(after.tables) > chip.tables, "logical tables"),
            (after.gateways > chip.gateways, "gateways"),
            (after.hash_units > chip.hash_units, "hash distribution units"),
            (_octets(after.exact) > chip.exact_bytes, "bytes of the exact-match crossbar"),
            (_octets(after.ternary) > chip.ternary_bytes, "bytes of the ternary crossbar"),
        ]
        return next((name for lacking, name in checks if lacking), "")

    def _fill(self, at: int, cluster: list[LogicalTable], need: MemoryBlocks) -> int:
        """Take the stage, and the next ones for entries that do not fit; returns the last one."""
        srams, tcams = need.srams, need.tcams
        stage = self._stage(at)
        stage.tables += cluster
        stage.stateful |= {x for t in cluster for x in [*t.registers, *t.meters]}
        stage.counters |= {x for t in cluster for x in t.counters}
        stage.map_rams += need.map_rams
        stage.gateways += sum(t.gateway for t in cluster)
        for t in cluster:
            stage.exact |= _searched(t)
            stage.ternary |= t.matches if _is_ternary(t) else set()
            stage.indices |= t.indices
        while True:
            stage = self._stage(at)
            here = srams if need.tied else min(srams, max(0, self.chip.srams - stage.srams))
            there = tcams if need.tied else min(tcams, max(0, self.chip.tcams - stage.tcams))
            stage.srams, stage.tcams = stage.srams + here, stage.tcams + there
            srams, tcams = srams - here, tcams - there
            if srams <= 0 and tcams <= 0:
                return at
            at += 1


def _entries_only(t: LogicalTable) -> MemoryBlocks:
    """The blocks of a table but for the registers that it shares with the first of its cluster."""
    kept, t.registers = t.registers, []
    try:
        return blocks(t)
    finally:
        t.registers = kept


def _is_ternary(t: LogicalTable) -> bool:
    return t.table is not None and any(k.match_kind in ("ternary", "lpm", "range") for k in t.table.keys)


def _searched(t: LogicalTable) -> set[VariableField]:
    """Fields that the exact-match crossbar carries for a table: gateways search there, too."""
    return t.conditions | (set() if _is_ternary(t) else t.matches)


def _octets(fields: set[VariableField]) -> int:
    return sum(-(-f.bits // 8) for f in fields)


def _heights(tables: Sequence[LogicalTable], needs: Sequence[TableDependency]) -> dict[LogicalTable, int]:
    """Stages of the longest chain behind each table."""
    height = dict.fromkeys(tables, 0)
    behind: dict[LogicalTable, list[TableDependency]] = {t: [] for t in tables}
    for need in needs:
        behind[need.before].append(need)
    for t in reversed(tables):
        height[t] = max((height[n.after] + n.stages for n in behind[t]), default=0)
    return height


def _clusters(tables: Sequence[LogicalTable]) -> list[list[LogicalTable]]:
    """Tables that share a register together; all others alone."""
    owner: dict[ir.ExternInstance, list[LogicalTable]] = {}
    out: list[list[LogicalTable]] = []
    for t in tables:
        known = next((owner[x] for x in [*t.registers, *t.meters, *t.counters] if x in owner), None)
        if known is None:
            known = []
            out.append(known)
        known.append(t)
        for x in [*t.registers, *t.meters, *t.counters]:
            owner.setdefault(x, known)
    return out
