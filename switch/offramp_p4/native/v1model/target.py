# SPDX-License-Identifier: Apache-2.0
"""v1model as a target of the emitter: its externs, where its objects are, what its programs leave for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value
from offramp_p4 import ir
from offramp_p4.native import core
from offramp_p4.native.target import NativeTarget
from offramp_p4.native.v1model import arrays, checksums, diagnostics, requests
from offramp_p4.native.v1model.cells import V1Cells
from offramp_p4.native.v1model.fields import field_lists

if TYPE_CHECKING:
    from offramp_p4.engine.placement import Span
    from offramp_p4.native.emitter import Emitter
    from offramp_p4.native.plan import ContextPlan
    from offramp_p4.native.records import RecordFormat
    from offramp_p4.v1model.objects import ExternProgramObjects


class NativeV1Target(NativeTarget):
    """Everything that the machine code of a v1model program refers to.

    Attributes:
        field_lists: the memory that copies preserve, by number of the list.
        digests, events: how to read the records in the buffers of these names.
        comes_again: whether the program, as far as it has been written, has a packet make another pass.
    """

    def __init__(
        self, plan: ContextPlan, objects: ExternProgramObjects, cells: V1Cells, parser: ir.ParserInstance
    ) -> None:
        super().__init__(plan)
        self.objects, self.cells = objects, cells
        self.field_lists: dict[int, list[Span]] = field_lists(parser.params[2].type, cells.user)
        self.digests: list[RecordFormat] = []
        self.events: list[RecordFormat] = []
        self.comes_again = False
        self.externs = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **requests.builders(self),
            **diagnostics.builders(self),
        }

    def on_hit(self, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
        """Write what a hit does to direct counters and meters."""
        arrays.on_hit(self, g, table, entry)

    def on_miss(self, g: Emitter, table: ir.MatchTable, key: Value) -> None:
        """Write what a miss does to the direct counter of the default entry."""
        del key
        arrays.on_miss(self, g, table)

    def selector_hash(self, g: Emitter, table: ir.MatchTable) -> Value:
        """The hash of an action selector."""
        return checksums.selector_hash(g, table)
