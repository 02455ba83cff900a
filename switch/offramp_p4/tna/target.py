# SPDX-License-Identifier: Apache-2.0
"""TNA as a target of the engine: the externs, objects and cells of one gress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from offramp_p4.engine import arrays, core
from offramp_p4.engine.direct import ActionTarget
from offramp_p4.tna import checksums, filters, functions, parsing, registers, requests
from offramp_p4.tna.metadata import GressMetadata
from offramp_p4.tna.ports import port_metadata_bytes

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.generator import Generator
    from offramp_p4.engine.layout import CellLayout
    from offramp_p4.tna.blocks import Gress
    from offramp_p4.tna.objects import TofinoObjects


COLOURS: Final = (0, 1, 3)
"""Values of MeterColor_t for green, yellow and red."""


class TnaTarget(ActionTarget):
    """Everything that generated code of one gress refers to.

    Attributes:
        seed: seed of the hashes that are random functions.
        port_metadata_bytes: bytes between the intrinsic metadata and the packet.
        deposits: checksums that ``subtract_all_and_deposit`` completes when the parser has ended.
        length: length for counters and meters (:class:`~offramp_p4.engine.arrays.ArraysTarget`).
    """

    colours = COLOURS

    clears_headers: Final = False

    def __init__(
        self,
        program: ir.Program,
        layout: CellLayout,
        gress: Gress,
        direction: str,
        objects: TofinoObjects,
        *,
        seed: int,
        **options: Any,
    ) -> None:
        super().__init__(layout, objects, **options)
        self.program, self.gress, self.objects, self.seed = program, gress, objects, seed
        self.cells = GressMetadata(program, layout, gress, direction)
        self.length = self.cells.wire_length
        self.port_metadata_bytes = port_metadata_bytes(program)
        self.deposits: list[checksums.Deposit] = []
        self.externs = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **filters.builders(self),
            **functions.builders(self),
            **parsing.builders(self),
            **registers.PythonRegisters(self).builders(),
            **requests.builders(self),
        }

    def on_miss(self, g: Generator, table: ir.MatchTable, state: str) -> None:
        """Do nothing: actions call TNA's direct externs."""

    def selector_hash(self, g: Generator, table: ir.MatchTable) -> str:
        """Text of the hash of an action selector; "0" without one."""
        return functions.selector_hash(self, g, table)
