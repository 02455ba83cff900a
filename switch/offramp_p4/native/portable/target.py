# SPDX-License-Identifier: Apache-2.0
"""PSA as a target of the emitter: the externs, objects and memory of ingress or of egress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, i64
from offramp_p4 import ir
from offramp_p4.native import arrays, core
from offramp_p4.native.portable import functions
from offramp_p4.native.portable.cells import Cells
from offramp_p4.native.runtime.program import LENGTH
from offramp_p4.native.target import DirectTarget
from offramp_p4.native.v1model import diagnostics
from offramp_p4.portable.target import COLOURS, DPDK

if TYPE_CHECKING:
    from offramp_p4.engine.walk import Block
    from offramp_p4.native.emitter import Emitter
    from offramp_p4.native.layout import Layout
    from offramp_p4.native.plan import Plan
    from offramp_p4.native.records import Record
    from offramp_p4.native.state.objects import NativePortable
    from offramp_p4.portable.thread import Signature


class PsaTarget(DirectTarget):
    """Everything that the machine code of one half of a program refers to.

    Attributes:
        direction: ``ingress`` or ``egress``.
        blocks: its parser, control and deparser.
        digests, events: how to read the records in the buffers of these names; of both halves.
        length, colours: for counters and meters (:class:`~offramp_p4.native.arrays.ArraysTarget`).
    """

    colours = COLOURS
    length = LENGTH

    def __init__(
        self,
        layout: Layout,
        direction: str,
        blocks: Sequence[tuple[Block, Signature]],
        plan: Plan,
        objects: NativePortable,
        digests: list[Record],
        events: list[Record],
    ) -> None:
        super().__init__(plan, layout, objects.of, objects.table_of)
        self.direction, self.blocks = direction, blocks
        self.digests, self.events = digests, events
        self.cells = Cells(layout, blocks)
        own = {
            **core.BUILDERS,
            **arrays.builders(self),
            **functions.builders(self),
            **diagnostics.checks(self),
        }
        self.externs = {
            **own,
            **{(extern, f"dpdk_{method}"): own[extern, method] for extern, method in DPDK},
        }

    def on_miss(self, g: Emitter, table: ir.Table) -> None:
        """The default action's direct externs work on the default entry, which is the first."""
        if table in self._direct:
            g.store_number(i64(1), g.cell(self.cell(table)), 64)

    def selector_hash(self, g: Emitter, table: ir.Table) -> Value:
        """The hash of an action selector."""
        return functions.selector_hash(g, table)
