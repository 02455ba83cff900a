# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA as targets of the engine: the externs, objects and cells of one parser, control and deparser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from offramp_p4.architecture import PNA, architecture_of
from offramp_p4.engine import arrays, core
from offramp_p4.engine.layout import LENGTH, Layout
from offramp_p4.portable import checksums, flows, functions
from offramp_p4.v1model import diagnostics, outside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from offramp_p4 import ir
    from offramp_p4.engine.faults import Steps
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.portable.objects import PortableObjects
    from offramp_p4.state import TableState, ValueSetState


COLOURS: Final = (1, 2, 0)
"""Values of PSA_MeterColor_t and PNA_MeterColor_t for green, yellow and red."""
DPDK: Final = (("Meter", "execute"), ("DirectMeter", "execute"))
"""Methods of which DPDK has another name where the length is given."""
MoreExterns = Callable[["PortableTarget"], "dict[tuple[str, str], Builder]"]
"""The builders of externs that one of the architectures has beside those that both have."""


def no_more(_: PortableTarget) -> dict[tuple[str, str], Builder]:
    """No further externs."""
    return {}


class PortableTarget:
    """Everything that generated code refers to.

    Attributes:
        clock: virtual time in microseconds.
        steps: of the packet that is being run.
        digests: the cell of the digests of this pass, 0 or a tuple.
        layout: the places of all variables in the memory of a packet.
        states, table_of, length: for counters and meters (:class:`~offramp_p4.engine.arrays.ArraysTarget`).
    """

    colours = COLOURS
    length = LENGTH

    clears_headers: Final = True

    def __init__(
        self,
        program: ir.Program,
        objects: PortableObjects,
        *,
        random: Random,
        clock: Callable[[], int],
        steps: Steps,
        more: MoreExterns,
    ) -> None:
        self.objects, self.random, self.clock, self.steps = objects, random, clock, steps
        self.states, self.table_of = objects.of, objects.table_of
        self.layout = layout = Layout(program)
        self._own: dict[object, int] = {}
        self._direct = set(objects.table_of.values())
        self._hits_restart = architecture_of(program) is not PNA  # whose programs say when
        self.digests = layout.reserve()
        self.flows = flows.Flows(self, objects)
        own = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **functions.builders(self),
            **self.flows.builders(),
            **diagnostics.CHECKS,
            **more(self),
        }
        own |= {(extern, f"dpdk_{method}"): own[extern, method] for extern, method in DPDK}
        self.externs: Mapping[tuple[str, str], Builder] = {**own, **outside.builders(self.objects, program, own)}
        self.tables: Mapping[ir.Table, TableState] = objects.tables
        self.value_sets: Mapping[ir.ValueSet, ValueSetState] = objects.value_sets

    def cell(self, owner: object) -> int:
        """The cell that belongs to an extern instance, a table or a request."""
        if owner not in self._own:
            self._own[owner] = self.layout.reserve()
        return self._own[owner]

    def on_hit(self, g: Generator, table: ir.Table) -> None:
        """Keep the entry for the direct externs that its action calls."""
        if table in self._direct:
            g.line(f"m[{self.cell(table)}] = entry")
        if self._hits_restart and self.tables[table].notes_hits:
            g.line(f"entry.last_hit_us = {g.bind(self.clock, 'clock')}()")
        self.flows.on_hit(g, table)

    def on_miss(self, g: Generator, table: ir.Table, state: str) -> None:
        """The default action's direct externs work on the default entry."""
        if table in self._direct:
            g.line(f"m[{self.cell(table)}] = {state}.default_entry")
        self.flows.on_miss(g, table, state)

    def selector_hash(self, g: Generator, table: ir.Table) -> str:
        """Text of the hash of an action selector; "0" without one."""
        return functions.selector_hash(g, table)
