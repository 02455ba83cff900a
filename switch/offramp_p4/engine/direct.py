# SPDX-License-Identifier: Apache-2.0
"""The common base of targets whose tables have direct externs that their actions call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from offramp_p4 import ir
    from offramp_p4.engine.faults import Steps
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.engine.layout import CellLayout
    from offramp_p4.state import TableState, ValueSetState


class ActionTarget:
    """Everything that generated code refers to, but the externs.

    Attributes:
        externs: builders of calls of externs, by extern and method.
        random: drawn from by the program.
        clock: virtual time in microseconds.
        steps: steps of the packet that is being run.
        layout: the places of all variables in the memory of a packet.
        states, table_of: for counters and meters (:class:`~offramp_p4.engine.arrays.ArraysTarget`).
    """

    externs: Mapping[tuple[str, str], Builder]
    notes_hits = True
    """Whether the hit of an entry with a timeout restarts it."""

    def __init__(
        self, layout: CellLayout, objects: Any, *, random: Random, clock: Callable[[], int], steps: Steps
    ) -> None:
        self.layout, self.random, self.clock, self.steps = layout, random, clock, steps
        self.states: Mapping[ir.ExternInstance, Any] = objects.of
        self.table_of: Mapping[ir.ExternInstance, ir.MatchTable] = objects.table_of
        self.tables: Mapping[ir.MatchTable, TableState] = objects.tables
        self.value_sets: Mapping[ir.ValueSet, ValueSetState] = objects.value_sets
        self._own: dict[object, int] = {}
        self._direct = set(objects.table_of.values())

    def cell(self, owner: object) -> int:
        """The cell that belongs to an extern instance, a table or a request."""
        if owner not in self._own:
            self._own[owner] = self.layout.reserve()
        return self._own[owner]

    def on_hit(self, g: Generator, table: ir.MatchTable) -> None:
        """Keep the entry for the direct externs that its action calls, and note when it was hit."""
        if table in self._direct:
            g.line(f"m[{self.cell(table)}] = entry")
        if self.notes_hits and self.tables[table].notes_hits:
            g.line(f"entry.last_hit_us = {g.bind(self.clock, 'clock')}()")
