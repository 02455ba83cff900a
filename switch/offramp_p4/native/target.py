# SPDX-License-Identifier: Apache-2.0
"""The common base of the targets of all architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4.native import core

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from offramp_base.native.llvm import Value
    from offramp_p4 import ir
    from offramp_p4.native.emitter import AggregateBuilder, Builder, Emitter
    from offramp_p4.native.layout import ByteLayout
    from offramp_p4.native.plan import ContextPlan
    from offramp_p4.native.table_plan import TablePlan


class NativeTarget:
    """The common base of targets: tables' plans, and the builders of externs.

    Attributes:
        plan: positions of everything in the context.
        actions: the numbers of the actions.
        externs, aggregates: emitters of calls of externs, by extern and method.
        faults: errors among these that may leave a block.
        clears_headers: whether a header that becomes valid has all fields 0, or those that were written before.
    """

    externs: Mapping[tuple[str, str], Builder]
    aggregates: Mapping[tuple[str, str], AggregateBuilder] = core.AGGREGATES
    faults = core.FAULTS
    clears_headers = True

    def __init__(self, plan: ContextPlan) -> None:
        self.plan = plan
        self.actions = plan.actions

    def table(self, table: ir.MatchTable) -> TablePlan:
        """The plan by which a table is found in the context."""
        return self.plan.tables[table]

    def value_set(self, value_set: ir.ValueSet) -> TablePlan:
        """The plan by which a value set is found in the context."""
        return self.plan.value_sets[value_set]


class DirectTarget(NativeTarget):
    """A target whose tables have counters, meters and registers as externs that their actions call.

    Attributes:
        layout: layout of one packet's memory.
        states, table_of: see :class:`~offramp_p4.native.arrays.NativeArraysTarget`.
    """

    def __init__(
        self,
        plan: ContextPlan,
        layout: ByteLayout,
        states: Mapping[ir.ExternInstance, Any],
        table_of: Mapping[ir.ExternInstance, ir.MatchTable],
    ) -> None:
        super().__init__(plan)
        self.layout, self.states, self.table_of = layout, states, table_of
        self._own: dict[object, int] = {}
        self._direct: Collection[ir.MatchTable] = set(table_of.values())

    def cell(self, owner: object, size: int = 8) -> int:
        """The offset of bytes that belong to an extern instance or a table; 0 in a fresh packet."""
        if owner not in self._own:
            self._own[owner] = self.layout.reserve(size)
        return self._own[owner]

    def on_hit(self, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
        """Keep the entry for the direct externs that its action calls."""
        if table in self._direct:
            g.store_number(entry, g.cell(self.cell(table)), 64)
