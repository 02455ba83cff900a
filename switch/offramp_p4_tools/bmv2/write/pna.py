# SPDX-License-Identifier: Apache-2.0
"""A PNA program's document, for bmv2's pna_nic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4_tools.bmv2.write.controls import write_pipeline
from offramp_p4_tools.bmv2.write.deparsers import write_deparser
from offramp_p4_tools.bmv2.write.document import ArchitectureJson
from offramp_p4_tools.bmv2.write.parsers import write_parser
from offramp_p4_tools.bmv2.write.portable import Block, PortableDocument

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.statements import StatementWriter

_OUTPUT: Final = "pna_main_output_metadata"
_BLOCKS: Final = {
    "main_parser": ("", "headers", "user", "pna_main_parser_input_metadata"),
    "main_control": ("headers", "user", "pna_main_input_metadata", _OUTPUT),
    "main_deparser": ("", "headers", "user", _OUTPUT),
}
"""The parameters of each block: headers, user metadata, or the name of a metadata header; empty for a packet."""


class PnaDocument(PortableDocument):
    """The document of a PNA program without a pre-control."""

    def __init__(self, program: ir.Program) -> None:
        args = program.main.args
        if "pre_control" in args:
            raise Unsupported(program.main.pos, "a pre-control, which pna_nic does not have, in bmv2's JSON")
        blocks: list[tuple[Block, Sequence[str]]] = []
        for name, signature in _BLOCKS.items():
            block = args.get(name)
            if not isinstance(block, ir.ParserInstance | ir.ControlInstance):
                raise Unsupported(program.main.pos, f"{program.main.type_name} without {name}")
            blocks.append((block, signature))
        super().__init__(program, blocks, "pna_")
        self._parser, self._control, self._deparser = (block for block, _ in blocks)
        headers, user = self._parser.params[1:3]
        places = {
            "headers": self.places.make(headers.type, "", headers.pos),
            "user": self.places.make(user.type, "metadata", user.pos),
        }
        for block, roles in blocks:
            for param, role in zip(block.params, roles, strict=True):
                if role in places:
                    self.variables.bind(param, places[role])

    def parts(self) -> ArchitectureJson:
        """Write the blocks."""
        parser, control, deparser = self._parser, self._control, self._deparser
        assert isinstance(parser, ir.ParserInstance)
        assert isinstance(control, ir.ControlInstance)
        assert isinstance(deparser, ir.ControlInstance)

        def sums(block: Block) -> Callable[[StatementWriter], None]:
            return lambda s: self.externs.clear_sums(s, block)

        return ArchitectureJson(
            [write_parser(self, parser, "main_parser", 0, sums(parser))],
            [write_deparser(self, self.externs, deparser, "main_deparser", 0)],
            [write_pipeline(self, control, "main_control", 0, sums(control))],
        )
