# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA as targets of the emitter: the externs, objects and memory of a parser, its controls and a deparser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, i64
from offramp_p4 import ir
from offramp_p4.native import arrays, core, counts
from offramp_p4.native.portable import checksums, functions, registers
from offramp_p4.native.portable.cells import PortableCells
from offramp_p4.native.runtime.program import LENGTH
from offramp_p4.native.target import DirectTarget
from offramp_p4.native.v1model import diagnostics
from offramp_p4.portable.target import COLOURS, DPDK
from offramp_p4.state.table import supports_timeout

if TYPE_CHECKING:
    from offramp_base.native.subset import PacketScalar
    from offramp_p4.engine.walk import Block
    from offramp_p4.native.emitter import AggregateBuilder, Builder, Emitter
    from offramp_p4.native.layout import ByteLayout
    from offramp_p4.native.portable.flows import NativeFlowCacheCalls
    from offramp_p4.native.portable.plan import PortablePlan
    from offramp_p4.native.records import RecordFormat
    from offramp_p4.native.state.objects import NativePortable
    from offramp_p4.portable.thread import Signature


class NativePortableTarget(DirectTarget):
    """Everything that the machine code of one thread of a program refers to.

    Attributes:
        blocks: its parser, controls and deparser.
        digests, events: how to read the records in the buffers of these names; of all threads.
        length, colours: for counters and meters (:class:`~offramp_p4.native.arrays.NativeArraysTarget`).
        flows: the calls of PNA's flow cache; None in PSA.
    """

    colours = COLOURS
    length = LENGTH
    plan: PortablePlan

    def __init__(
        self,
        layout: ByteLayout,
        blocks: Sequence[tuple[Block, Signature]],
        results: Sequence[PacketScalar],
        plan: PortablePlan,
        objects: NativePortable,
        digests: list[RecordFormat],
        events: list[RecordFormat],
    ) -> None:
        super().__init__(plan, layout, objects.of, objects.table_of)
        self.blocks, self.digests, self.events = blocks, digests, events
        self.cells = PortableCells(layout, blocks, results)
        self.flows: NativeFlowCacheCalls | None = None
        own = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **functions.builders(self),
            **registers.builders(self),
            **diagnostics.checks(self),
        }
        self.externs = {
            **own,
            **{(extern, f"dpdk_{method}"): own[extern, method] for extern, method in DPDK},
        }
        self.aggregates = {
            **core.AGGREGATES,
            **registers.aggregates(self),
        }

    def add(
        self,
        flows: NativeFlowCacheCalls,
        externs: Mapping[tuple[str, str], Builder],
        aggregates: Mapping[tuple[str, str], AggregateBuilder],
    ) -> None:
        """Add a flow cache and further externs, as in PNA."""
        self.flows = flows
        self.externs = {**self.externs, **flows.builders(), **externs}
        self.aggregates = {**self.aggregates, **aggregates}

    def on_hit(self, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
        """Keep the entry for the direct externs and timers that its action calls; PSA's entries note every hit."""
        super().on_hit(g, table, entry)
        if self.flows is not None:
            self.flows.on_hit(g, table, entry)
        elif supports_timeout(table):
            counts.touch_entry(g, self.plan.tables[table].words, entry)

    def on_miss(self, g: Emitter, table: ir.MatchTable, key: Value) -> None:
        """The default action's direct externs work on the default entry, which is the first."""
        if table in self._direct:
            g.store_number(i64(1), g.cell(self.cell(table)), 64)
        if self.flows is not None:
            self.flows.on_miss(g, table, key)

    def selector_hash(self, g: Emitter, table: ir.MatchTable) -> Value:
        """The hash of an action selector."""
        return functions.selector_hash(g, table)
