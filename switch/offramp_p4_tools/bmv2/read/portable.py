# SPDX-License-Identifier: Apache-2.0
"""The common base of readers of PSA and PNA documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4_tools.bmv2.read.enums import call
from offramp_p4_tools.bmv2.read.nodes import JsonNode
from offramp_p4_tools.bmv2.read.numbers import bits_of, convert
from offramp_p4_tools.bmv2.read.portable_externs import INDEX, PortableExternReader
from offramp_p4_tools.bmv2.read.portable_primitives import PortablePrimitives
from offramp_p4_tools.bmv2.read.portable_types import metadata
from offramp_p4_tools.bmv2.read.program import ProgramReader
from offramp_p4_tools.bmv2.read.tables import PipelineReader

_SELECTED_BITS: Final = 32
"""Width of the hash by which a selector chooses a member."""


class PortableReader(ProgramReader):
    """Reads a document for psa_switch or pna_nic.

    Attributes:
        kind: ``psa`` or ``pna``.
    """

    kind: ClassVar[str]
    primitives: PortablePrimitives

    def __init__(self, document: JsonNode, file: str, p4info: Any | None) -> None:
        super().__init__(document, file, p4info, metadata(self.kind))
        if self.errors.none:
            document["errors"].fail(f"NoError is {self.errors.none}, and not 0")
        for item in document.each("checksums"):
            item.fail("not supported: programs of PSA and PNA compute checksums in their blocks")

    def _externs(self) -> dict[tuple[str, str], ir.ExternInstance]:
        self._objects = PortableExternReader(self.document, self.kind)
        return self._objects.objects

    def _primitives(self) -> PortablePrimitives:
        return PortablePrimitives(self.x, self.document, self.externs, self.kind, self.p4info)

    def _profile(self, name: str, size: int, algorithm: JsonNode | None) -> ir.ExternInstance:
        most = ir.Const(size, type=INDEX)
        if algorithm is None:
            return ir.ExternInstance("ActionProfile", name, [], [most], ["size"])
        args: list[ir.Expr | ir.ExternInstance | None] = [
            self._objects.algorithm(algorithm),
            most,
            ir.Const(_SELECTED_BITS, type=INDEX),
        ]
        return ir.ExternInstance("ActionSelector", name, [], args, ["algo", "size", "outputWidth"])

    def parser_nodes(self) -> dict[str, JsonNode]:
        """The parsers by their names."""
        return {p["name"].text: p for p in self.document.each("parsers")}

    def deparser(self, name: str, packet: ir.Var) -> list[ir.Stmt]:
        """The statements of a deparser: its primitives, then its headers."""
        node = self._named({d["name"].text: d for d in self.document["deparsers"]}, "deparser", name)
        body = [s for primitive in node.each("primitives") for s in self.primitives.statements(primitive)]
        return [*body, *self.emits(node, packet)]

    def count_and_meter(self, readers: Iterable[PipelineReader]) -> None:
        """Make the actions of tables count and meter: bmv2 does so by itself, P4's externs only when called."""
        targets = {m["name"].text: m for m in self.document.each("meter_arrays") if "result_target" in m}
        for table in (table for reader in readers for table in reader.tables.values()):
            before: list[ir.Stmt] = []
            counter, meter = table.properties.get("counters"), table.properties.get("meters")
            if isinstance(counter, ir.ExternInstance):
                before.append(call("count", of=counter, extern="DirectCounter", types=[]))
            if isinstance(meter, ir.ExternInstance) and meter.name in targets:
                place = self.layout.field(targets[meter.name]["result_target"])
                self.x.before = []
                colour = self.primitives.colour(meter)
                before += [*self.x.before, ir.Assign(place, convert(colour, bits_of(place)))]
            if before:
                for choice in {id(a): a for a in [*table.actions, table.default.action]}.values():
                    action = choice.action
                    choice.action = ir.Action(action.name, action.params, ir.Block([*before, action.body]))

    def check_metadata(self, block: ir.ParserInstance | ir.ControlInstance) -> None:
        """Refuse metadata that a block of the architecture lacks."""
        own = set(block.params)
        for name, var in self.layout.standard.items():
            if var not in own and mentions(block, var):
                self.document.fail(f"{name} in {block.name}, which does not have it")


def mentions(block: object, var: ir.Var) -> bool:
    """Whether a variable is used in a block, its tables and actions."""
    return any(isinstance(n, ir.VarRef) and n.var is var for n in walk.nodes(block, into_declarations=True))
