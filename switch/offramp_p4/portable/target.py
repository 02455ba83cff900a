# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA as targets of the engine: the externs, objects and cells of one parser, control and deparser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.architecture import PNA, architecture_of
from offramp_p4.engine import arrays, core
from offramp_p4.engine.direct import ActionTarget
from offramp_p4.engine.layout import LENGTH, CellLayout
from offramp_p4.portable import checksums, flows, functions
from offramp_p4.v1model import diagnostics, outside

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.portable.objects import PortableObjects


COLOURS: Final = (1, 2, 0)
"""Values of PSA_MeterColor_t and PNA_MeterColor_t for green, yellow and red."""
DPDK: Final = (("Meter", "execute"), ("DirectMeter", "execute"))
"""Methods for which DPDK has another name if the length is given."""
MoreExterns = Callable[["PortableTarget"], "dict[tuple[str, str], Builder]"]
"""Builders of externs that only one of the two architectures has."""


def no_more(_: PortableTarget) -> dict[tuple[str, str], Builder]:
    """No further externs."""
    return {}


class PortableTarget(ActionTarget):
    """Everything that generated code refers to.

    Attributes:
        digests: the cell of the digests of this pass, 0 or a tuple.
        length: length for counters and meters (:class:`~offramp_p4.engine.arrays.ArraysTarget`).
    """

    colours = COLOURS
    length = LENGTH

    clears_headers: Final = True

    def __init__(self, program: ir.Program, objects: PortableObjects, *, more: MoreExterns, **options: Any) -> None:
        super().__init__(CellLayout(program), objects, **options)
        self.objects = objects
        self.notes_hits = architecture_of(program) is not PNA  # whose programs say when
        self.digests = self.layout.reserve()
        self.flows = flows.FlowCacheCalls(self, objects)
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
        self.externs = {**own, **outside.builders(self.objects, program, own)}

    def on_hit(self, g: Generator, table: ir.MatchTable) -> None:
        """Keep the entry for the direct externs and flow caches that its action calls, and note when it was hit."""
        super().on_hit(g, table)
        self.flows.on_hit(g, table)

    def on_miss(self, g: Generator, table: ir.MatchTable, state: str) -> None:
        """The default action's direct externs work on the default entry."""
        if table in self._direct:
            g.line(f"m[{self.cell(table)}] = {state}.default_entry")
        self.flows.on_miss(g, table, state)

    def selector_hash(self, g: Generator, table: ir.MatchTable) -> str:
        """Text of the hash of an action selector; "0" without one."""
        return functions.selector_hash(g, table)
