# SPDX-License-Identifier: Apache-2.0
"""TNA as a target of the engine: the externs, objects and cells of one gress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.engine import arrays, core
from offramp_p4.tna import checksums, filters, functions, parsing, registers, requests
from offramp_p4.tna.metadata import Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from offramp_p4 import ir
    from offramp_p4.engine.faults import Steps
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.engine.layout import Layout
    from offramp_p4.state import TableState, ValueSetState
    from offramp_p4.tna.blocks import Gress
    from offramp_p4.tna.objects import Objects


COLOURS: Final = (0, 1, 3)
"""Values of MeterColor_t for green, yellow and red."""


class TnaTarget:
    """Everything that generated code of one gress refers to.

    Attributes:
        seed: of the hashes that are random functions.
        clock: virtual time in microseconds.
        steps: of the packet that is being run.
        port_metadata_bytes: bytes between the intrinsic metadata and the packet.
        deposits: checksums that ``subtract_all_and_deposit`` completes when the parser has ended.
        states, table_of, length: for counters and meters (:class:`~offramp_p4.engine.arrays.ArraysTarget`).
    """

    colours = COLOURS

    clears_headers: Final = False

    def __init__(
        self,
        program: ir.Program,
        layout: Layout,
        gress: Gress,
        direction: str,
        objects: Objects,
        *,
        seed: int,
        random: Random,
        clock: Callable[[], int],
        steps: Steps,
    ) -> None:
        self.steps = steps
        self.program, self.layout, self.gress = program, layout, gress
        self.objects, self.seed, self.random, self.clock = objects, seed, random, clock
        self.states, self.table_of = objects.of, objects.table_of
        self.cells = Cells(program, layout, gress, direction)
        self.length = self.cells.wire_length
        self.port_metadata_bytes = 24 if "ghost_intrinsic_metadata_t" in program.types else 8
        self.deposits: list[checksums.Deposit] = []
        self._own: dict[object, int] = {}
        self._direct = set(objects.table_of.values())
        self.externs: Mapping[tuple[str, str], Builder] = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **filters.builders(self),
            **functions.builders(self),
            **parsing.builders(self),
            **registers.builders(self),
            **requests.builders(self),
        }
        self.tables: Mapping[ir.Table, TableState] = objects.tables
        self.value_sets: Mapping[ir.ValueSet, ValueSetState] = objects.value_sets

    def cell(self, owner: object) -> int:
        """The cell that belongs to an extern instance or a table."""
        if owner not in self._own:
            self._own[owner] = self.layout.reserve()
        return self._own[owner]

    def on_hit(self, g: Generator, table: ir.Table) -> None:
        """Keep the entry for the direct externs that its action calls, and note when it was hit."""
        if table in self._direct:
            g.line(f"m[{self.cell(table)}] = entry")
        if self.tables[table].notes_hits:
            g.line(f"entry.last_hit_us = {g.bind(self.clock, 'clock')}()")

    def on_miss(self, g: Generator, table: ir.Table, state: str) -> None:
        """Nothing: TNA's direct externs are called by actions."""

    def selector_hash(self, g: Generator, table: ir.Table) -> str:
        """Text of the hash of an action selector; "0" without one."""
        return functions.selector_hash(self, g, table)
