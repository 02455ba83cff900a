# SPDX-License-Identifier: Apache-2.0
"""TNA as a target of the emitter: the externs, objects and memory of one gress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_base.native.llvm import Value
from offramp_p4 import ir
from offramp_p4.native import arrays, core, counts
from offramp_p4.native.runtime.tna.program import WIRE_LENGTH
from offramp_p4.native.target import DirectTarget
from offramp_p4.native.tna import checksums, filters, functions, parsing, registers, requests
from offramp_p4.native.tna.cells import GressCells
from offramp_p4.state.table import supports_timeout
from offramp_p4.tna.ports import port_metadata_bytes
from offramp_p4.tna.target import COLOURS

if TYPE_CHECKING:
    from offramp_p4.native.emitter import Emitter
    from offramp_p4.native.layout import ByteLayout
    from offramp_p4.native.records import RecordFormat
    from offramp_p4.native.tna.plan import TnaPlan
    from offramp_p4.tna.blocks import Gress
    from offramp_p4.tna.objects import TofinoObjects

_FAULTS: Final = frozenset({("ParserCounter", "set"), ("ParserCounter", "push"), ("", "port_metadata_unpack")})


class NativeTnaTarget(DirectTarget):
    """Everything that the machine code of one gress refers to.

    Attributes:
        port_metadata_bytes: bytes between the intrinsic metadata and the packet.
        deposits: checksums that ``subtract_all_and_deposit`` completes when the parser has ended.
        digests: how to read the records in the buffer of this name; of all gresses.
        length, colours: for counters and meters (:class:`~offramp_p4.native.arrays.NativeArraysTarget`).
    """

    colours = COLOURS
    length = WIRE_LENGTH
    faults = core.FAULTS | _FAULTS
    clears_headers = False
    plan: TnaPlan

    def __init__(
        self,
        program: ir.Program,
        layout: ByteLayout,
        gress: Gress,
        direction: str,
        plan: TnaPlan,
        objects: TofinoObjects,
        digests: list[RecordFormat],
    ) -> None:
        super().__init__(plan, layout, objects.of, objects.table_of)
        self.program, self.gress, self.objects, self.digests = program, gress, objects, digests
        self.cells = GressCells(program, layout, gress, direction)
        self.port_metadata_bytes = port_metadata_bytes(program)
        self.deposits: list[checksums.NativeDeposit] = []
        calls = registers.NativeRegisters(self)
        self.externs = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **filters.builders(self),
            **functions.builders(self),
            **parsing.builders(self),
            **calls.builders(),
            **requests.builders(self),
        }
        self.aggregates = {
            **core.AGGREGATES,
            **parsing.aggregates(self),
            **calls.aggregates(),
        }

    def on_hit(self, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
        """Keep the entry for the direct externs that its action calls, and note that it was hit."""
        super().on_hit(g, table, entry)
        if supports_timeout(table):
            counts.touch_entry(g, self.plan.tables[table].words, entry)

    def on_miss(self, g: Emitter, table: ir.MatchTable, key: Value) -> None:
        """Do nothing: actions call TNA's direct externs."""

    def selector_hash(self, g: Emitter, table: ir.MatchTable) -> Value:
        """The hash of an action selector."""
        return functions.selector_hash(self, g, table)
