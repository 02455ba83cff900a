# SPDX-License-Identifier: Apache-2.0
"""A PSA program's document, which bmv2's psa_switch executes.

psa_switch has the metadata of a packet in one place: ``normal_meta`` are fields that ingress writes and egress reads.
It resets them for clones, and for resubmitted and recirculated packets, which therefore can take none with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.portable.psa import EGRESS, INGRESS, blocks_of
from offramp_p4.source import Unsupported
from offramp_p4.types import Structure, strip
from offramp_p4_tools.bmv2.write.controls import write_pipeline
from offramp_p4_tools.bmv2.write.deparsers import write_deparser
from offramp_p4_tools.bmv2.write.document import ArchitectureJson
from offramp_p4_tools.bmv2.write.parsers import write_parser
from offramp_p4_tools.bmv2.write.places import HeaderAt, Place, StackAt, UnionAt, ValueGroup
from offramp_p4_tools.bmv2.write.portable import Block, PortableDocument

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.statements import StatementWriter

_METADATA: Final = {"parser_in": "parser_input", "in": "input", "out": "output", "deparser_in": "deparser_input"}
_LOST: Final = {"clone_i2e", "new_resubmit", "resubmit", "recirculate", "clone_e2e", "new_clone_e2e"}
"""The roles of metadata that psa_switch does not keep."""
_NAMES: Final = {
    ("ingress", "headers"): "",
    ("egress", "headers"): "egress",
    ("ingress", "normal"): "normal_metadata",
    ("ingress", "user"): "ingress_metadata",
    ("egress", "user"): "egress_metadata",
}
"""Prefixes of the names of fields and headers, by gress and role."""


class PsaDocument(PortableDocument):
    """The document of a PSA program."""

    def __init__(self, program: ir.Program) -> None:
        self._halves = {
            "ingress": blocks_of(program, "ingress", INGRESS),
            "egress": blocks_of(program, "egress", EGRESS),
        }
        named = [
            (block, [f"psa_{way}_{_METADATA[role]}_metadata" if role in _METADATA else "" for role in roles])
            for way, blocks in self._halves.items()
            for block, roles in blocks
        ]
        super().__init__(program, named, "psa_")
        self._places: dict[tuple[str, str], Place] = {}
        self._bind()

    def _bind(self) -> None:
        for way, blocks in self._halves.items():
            for block, roles in blocks:
                for param, role in zip(block.params, roles, strict=True):
                    if role and role not in _METADATA:
                        self.variables.bind(param, self._place(way, role, param))
                    if role in _LOST and param.type.slots:
                        _refuse_use(block, param)

    def _place(self, way: str, role: str, param: ir.Var) -> Place:
        """The place of a parameter; ``normal_meta``, and headers of one type, have one place in ingress and egress."""
        key = ("ingress" if role == "normal" else way, role)
        if key not in self._places:
            first = self._places.get(("ingress", role))
            if role == "headers" and first is not None and strip(first.type) == strip(param.type):
                self._places[key] = first
            else:
                name = _NAMES.get(key, f"{way}_{role}_metadata")
                self._places[key] = self.places.make(param.type, name, param.pos)
        if role == "normal" and list(_headers(self._places[key])):
            raise Unsupported(param.pos, "a header in normal_meta, which psa_switch does not keep, in bmv2's JSON")
        return self._places[key]

    def _beginning(self, way: str, block: Block) -> Callable[[StatementWriter], None]:
        """Statements in front of a parser or control: psa_switch leaves some state as the packet before has left it."""

        def write(s: StatementWriter) -> None:
            self.externs.clear_sums(s, block)
            if not isinstance(block, ir.ParserInstance):
                return
            resubmits = way == "ingress" and any(_asks_again(b) for b, _ in self._halves["ingress"])
            for role in ("headers", "user"):
                for place in _headers(self._places[way, role]):
                    if resubmits or (way == "egress" and isinstance(place, StackAt)):
                        s.clear(place, block.pos)

        return write

    def parts(self) -> ArchitectureJson:
        """Write the blocks."""
        parts = ArchitectureJson([], [], [])
        for number, (way, blocks) in enumerate(self._halves.items()):
            parser, control, deparser = (block for block, _ in blocks)
            assert isinstance(parser, ir.ParserInstance)
            assert isinstance(control, ir.ControlInstance)
            assert isinstance(deparser, ir.ControlInstance)
            parts.parsers.append(write_parser(self, parser, f"{way}_parser", number, self._beginning(way, parser)))
            parts.pipelines.append(write_pipeline(self, control, way, number, self._beginning(way, control)))
            parts.deparsers.append(write_deparser(self, self.externs, deparser, f"{way}_deparser", number))
        return parts


def _headers(place: Place) -> Iterator[HeaderAt | StackAt | UnionAt]:
    """The headers, stacks and unions in a place."""
    if isinstance(place, ValueGroup):
        for part in place.parts:
            yield from _headers(part)
    elif isinstance(place, HeaderAt | StackAt | UnionAt):
        yield place


def _asks_again(block: Block) -> bool:
    """Whether a block has anything to do with resubmission."""
    for n in chain.from_iterable(walk.nodes(each, into_declarations=True) for each in walk.applied(block)):
        t = strip(n.base.type) if isinstance(n, ir.Member) else None
        if isinstance(t, Structure) and isinstance(n, ir.Member) and t.fields[n.index].name == "resubmit":
            return True
    return False


def _refuse_use(block: Block, param: ir.Var) -> None:
    for n in walk.nodes(block, into_declarations=True):
        if isinstance(n, ir.VarRef) and n.var is param:
            what = f"'{param.name}', metadata of a way on which psa_switch keeps none"
            raise Unsupported(n.pos, f"{what}, in bmv2's JSON")
