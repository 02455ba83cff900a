# SPDX-License-Identifier: Apache-2.0
"""A whole document for bmv2's pna_nic as a PNA program: one without a pre-control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from offramp_p4 import ir
from offramp_p4_tools.bmv2.read.portable import PortableReader
from offramp_p4_tools.bmv2.read.portable_primitives import CARD_RULES, PortablePrimitives
from offramp_p4_tools.bmv2.read.portable_types import declared
from offramp_p4_tools.bmv2.read.primitives import Rule
from offramp_p4_tools.bmv2.read.program import control, packet_out


class CardPrimitives(PortablePrimitives):
    """The primitives of pna_nic."""

    rules: ClassVar[Mapping[str, Rule]] = {**PortablePrimitives.rules, **CARD_RULES}


class PnaReader(PortableReader):
    """Reads a document for pna_nic."""

    kind = "pna"

    def _primitives(self) -> PortablePrimitives:
        return CardPrimitives(self.x, self.document, self.externs, self.kind, self.p4info)

    def read(self) -> ir.CompiledProgram:
        """The program."""
        own = self.layout.standard
        shared = [self.layout.headers, self.layout.metadata]
        parser = self.parsers.read(
            "main_parser",
            self._named(self.parser_nodes(), "parser", "main_parser"),
            [*shared, own["pna_main_parser_input_metadata"]],
        )
        readers = self.pipelines("main_control")
        self.count_and_meter(readers)
        output, out = own["pna_main_output_metadata"], packet_out()
        main_control = control(
            "main_control", [*shared, own["pna_main_input_metadata"], output], readers[0].statements()
        )
        deparser = control("main_deparser", [out, *shared, output], self.deparser("main_deparser", out))
        blocks: list[ir.ParserInstance | ir.ControlInstance] = [parser, main_control, deparser]
        for block in blocks:
            self.check_metadata(block)
        names = ("main_parser", "main_control", "main_deparser")
        main = ir.PackageInstance("PNA_NIC", "main", dict(zip(names, blocks, strict=True)))
        return self.program(main, blocks, readers, self.primitives.undeclared.values(), declared("pna"))
