# SPDX-License-Identifier: Apache-2.0
"""A whole document for bmv2's simple_switch as a v1model program."""

from __future__ import annotations

from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.types import BOOL, Bits, Type
from offramp_p4_tools.bmv2.read.enums import COUNTERS, METERS, algorithm, call, member
from offramp_p4_tools.bmv2.read.nodes import JsonNode
from offramp_p4_tools.bmv2.read.numbers import bits_of, number
from offramp_p4_tools.bmv2.read.program import ProgramReader, control, direct, packet_out, size
from offramp_p4_tools.bmv2.read.v1model_metadata import STANDARD, V1MODEL
from offramp_p4_tools.bmv2.read.v1model_primitives import V1modelPrimitives

_UNREAD: Final = ("extern_instances",)
"""Lists that a program for simple_switch leaves empty."""
_SELECTED_BITS: Final = 32
"""Width of the hash by which a selector chooses a member."""


class V1modelReader(ProgramReader):
    """Reads a document for simple_switch."""

    primitives: V1modelPrimitives

    def __init__(self, document: JsonNode, file: str, p4info: Any | None) -> None:
        for key in _UNREAD:
            for item in document.each(key):
                item.fail("not supported: simple_switch has no such externs")
        super().__init__(document, file, p4info, V1MODEL)

    def read(self) -> ir.CompiledProgram:
        """The program."""
        standard = self.layout.standard[STANDARD]
        params = [self.layout.headers, self.layout.metadata, standard]
        parser = self.parsers.read("parser", self._only("parsers"), params, self._no_error())
        readers = self.pipelines("ingress", "egress")
        self._read_meters([table for reader in readers for table in reader.tables.values()])
        ingress, egress = (
            control(name, params, reader.statements())
            for name, reader in zip(("ingress", "egress"), readers, strict=True)
        )
        verify = control("verifyChecksum", params[:2], self._checksums(update=False))
        compute = control("computeChecksum", params[:2], self._checksums(update=True))
        blocks: list[Any] = [parser, verify, ingress, egress, compute, self._deparser()]
        main = ir.PackageInstance(
            "V1Switch", "main", dict(zip(("p", "vr", "ig", "eg", "ck", "dep"), blocks, strict=True))
        )
        program = self.program(main, blocks, readers)
        program.calculations = self.primitives.calls
        return program

    def _only(self, key: str) -> JsonNode | None:
        """The only element that a list may have."""
        nodes = list(self.document.each(key))
        if len(nodes) > 1:
            nodes[1].fail(f"a second {key[:-1]}")
        return nodes[0] if nodes else None

    def _no_error(self) -> list[ir.Stmt]:
        """Sets the parser's error to NoError at first, where the document gives NoError a number other than 0."""
        if not self.errors.none:
            return []
        place = self.layout.standard_field(STANDARD, "parser_error")
        return [ir.Assign(place, number(self.errors.none, bits_of(place)))]

    def _deparser(self) -> ir.ControlInstance:
        node, packet = self._only("deparsers"), packet_out()
        if node is None:
            return control("deparser", [packet, self.layout.headers], [])
        for _ in node.each("primitives"):
            node["primitives"].fail("primitives of a deparser are not supported for simple_switch")
        return control("deparser", [packet, self.layout.headers], self.emits(node, packet))

    # --- externs ------------------------------------------------------------------------------------------------

    def _primitives(self) -> V1modelPrimitives:
        return V1modelPrimitives(self.x, self.document, self.externs)

    def _profile(self, name: str, size: int, algorithm_: JsonNode | None) -> ir.ExternInstance:
        most = ir.Const(size, type=Bits(32))
        if algorithm_ is None:
            return ir.ExternInstance("action_profile", name, [], [most], ["size"])
        args: list[ir.Expr | ir.ExternInstance | None] = [
            algorithm(algorithm_),
            most,
            ir.Const(_SELECTED_BITS, type=Bits(32)),
        ]
        return ir.ExternInstance("action_selector", name, [], args, ["algorithm", "size", "outputWidth"])

    def _externs(self) -> dict[tuple[str, str], ir.ExternInstance]:
        out: dict[tuple[str, str], ir.ExternInstance] = {}

        def add(kind: str, node: JsonNode, types: list[Type], args: list[ir.Expr]) -> None:
            name = node["name"].text
            if (kind, name) in out:
                node["name"].fail(f"'{name[:80]}' is there twice")
            out[kind, name] = ir.ExternInstance(
                kind, name, types, list(args), ["size", "type"][2 - len(args) :] if len(args) < 2 else ["size", "type"]
            )

        for c in self.document.each("counter_arrays"):
            unit = member(COUNTERS, "packets_and_bytes")
            if direct(c):
                add("direct_counter", c, [], [unit])
                if "binding" in c:
                    out["counters", c["binding"].text] = out["direct_counter", c["name"].text]
            else:
                add("counter", c, [], [size(c), unit])
        for m in self.document.each("meter_arrays"):
            unit = member(METERS, m["type"].choice("packets", "bytes"))
            if "rate_count" in m and m["rate_count"].number(0, 16) != 2:
                m["rate_count"].fail("meters have two rates")
            if direct(m):
                add("direct_meter", m, [Bits(32)], [unit])
            else:
                add("meter", m, [], [size(m), unit])
        for r in self.document.each("register_arrays"):
            add("register", r, [Bits(r["bitwidth"].number(1, 1 << 16))], [size(r)])
        return out

    def _read_meters(self, tables: list[ir.MatchTable]) -> None:
        """Let the actions of tables with a direct meter begin with the colour, which bmv2 stores by itself."""
        metered: dict[ir.Action, set[ir.ExternInstance | None]] = {}
        for table in tables:
            meter = table.properties.get("meters")
            for choice in [*table.actions, table.default.action]:
                metered.setdefault(choice.action, set()).add(meter if isinstance(meter, ir.ExternInstance) else None)
        targets = {m["name"].text: m for m in self.document.each("meter_arrays") if "result_target" in m}
        for action, meters in metered.items():
            meter = next(iter(meters))
            if len(meters) == 1 and meter is not None and meter.name in targets:
                place = self.layout.field(targets[meter.name]["result_target"])
                read = call("read", ("out", place), of=meter, extern="direct_meter", types=[bits_of(place)])
                action.body = ir.Block([read, action.body])

    def _checksums(self, *, update: bool) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for c in self.document.each("checksums"):
            c["type"].choice("generic")
            word = "update" if update else "verify"
            if word in c and not c[word].flag:
                continue
            self.x.before = []
            condition = self.x.boolean(c["if_cond"]) if "if_cond" in c else ir.Const(1, type=BOOL)
            if self.x.before:
                c["if_cond"].fail("a register in the condition of a checksum is not supported")
            data, algo, payload = self.primitives.calculation(c["calculation"])
            target = self.layout.field(c["target"])
            direction: ir.Direction = "inout" if update else "in"
            args: list[tuple[ir.Direction, ir.Expr]] = [
                ("in", condition),
                ("in", data),
                (direction, target),
                ("", algo),
            ]
            statement = call(f"{word}_checksum{'_with_payload' if payload else ''}", *args)
            out.append(self.primitives.calculated(c["calculation"], statement))
        return out
