# SPDX-License-Identifier: Apache-2.0
"""A whole document as a v1model program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.bmv2.read.actions import read_action
from offramp_p4.bmv2.read.enums import COUNTERS, METERS, call, member
from offramp_p4.bmv2.read.expressions import Expressions
from offramp_p4.bmv2.read.layout import Layout
from offramp_p4.bmv2.read.nodes import Node
from offramp_p4.bmv2.read.numbers import bits_of
from offramp_p4.bmv2.read.parser import Errors, ParserReader
from offramp_p4.bmv2.read.primitives import Declared, Primitives
from offramp_p4.bmv2.read.tables import MAX_SIZE, PipelineReader
from offramp_p4.types import BOOL, Bits, Extern, Header, Struct, Type

VERSION: Final = 2
_UNREAD: Final = ("extern_instances",)
"""Lists that a program for simple_switch leaves empty."""


class CompiledProgram(ir.Program):
    """A program that was compiled for bmv2; its P4Info comes with it."""


class ProgramReader:
    """Reads a document.

    Args:
        document: the root of the document.
        file: its name, for messages.
        visible: names of the tables that a P4Info has, with the match kinds of their keys; None: there is no P4Info.
    """

    def __init__(self, document: Node, file: str, visible: Mapping[str, Sequence[str]] | None) -> None:
        self.document, self.file, self._visible = document, file, visible
        self._check_version()
        for key in _UNREAD:
            for item in document.each(key):
                item.fail("not supported: simple_switch has no such externs")
        self.layout = Layout(document)
        self.externs = self._externs()
        self.results: dict[ir.ExternInstance, ir.Expr] = {}
        registers = {name: i for (kind, name), i in self.externs.items() if kind == "register"}
        self.x = Expressions(self.layout, registers)
        declared = Declared(
            self.externs,
            {c["name"].text: c for c in document.each("calculations")},
            {n["id"].number(0, MAX_SIZE): n for n in document.each("field_lists")},
            {n["id"].number(0, MAX_SIZE): n for n in document.each("learn_lists")},
        )
        self.primitives = Primitives(self.x, declared)

    def read(self) -> CompiledProgram:
        """The program."""
        document, errors = self.document, Errors(self.document)
        value_sets = {
            v["name"].text: ir.ValueSet(
                v["name"].text,
                Bits(v["compressed_bitwidth"].number(1, 1 << 16)),
                v["max_size"].number(0, MAX_SIZE) if "max_size" in v else 1024,
                ["exact"],
            )
            for v in document.each("parse_vsets")
        }
        params = [self.layout.headers, self.layout.metadata, self.layout.standard]
        parser = ParserReader(document, self.primitives, value_sets, errors).read(params)
        actions: dict[int, ir.Action] = {}
        for a in document.each("actions"):
            number = a["id"].number(0, MAX_SIZE)
            if number in actions:
                a["id"].fail(f"action id {number} is there twice")
            actions[number] = read_action(a, self.primitives)
        pipelines = {p["name"].text: p for p in document["pipelines"]}
        readers = [
            PipelineReader(self._pipeline(pipelines, name), self.x, actions, self.externs, self._visible)
            for name in ("ingress", "egress")
        ]
        tables = [table for reader in readers for table in reader.tables.values()]
        self._read_meters(tables)
        ingress, egress = (
            _control(name, params, reader.statements())
            for name, reader in zip(("ingress", "egress"), readers, strict=True)
        )
        verify = _control("verifyChecksum", params[:2], self._checksums(update=False))
        compute = _control("computeChecksum", params[:2], self._checksums(update=True))
        blocks: list[Any] = [parser, verify, ingress, egress, compute, self._deparser()]
        main = ir.PackageInstance(
            "V1Switch", "main", dict(zip(("p", "vr", "ig", "eg", "ck", "dep"), blocks, strict=True))
        )
        profiles = [instance for reader in readers for instance, _ in reader.profiles.values()]
        used = {a.action for t in tables for a in t.actions}
        types: dict[str, Type] = {t.name: t for t in self._types()}
        return CompiledProgram(
            main, self.file, errors.names, tables, [a for a in actions.values() if a in used],
            [*dict.fromkeys(self.externs.values()), *profiles], list(value_sets.values()), [], blocks, types,
        )  # fmt: skip

    def _check_version(self) -> None:
        if not isinstance(self.document.value, dict):
            self.document.fail("expected an object")
        if "__meta__" in self.document and "version" in self.document["__meta__"]:
            version = self.document["__meta__"]["version"]
            major = version[0].number(0, MAX_SIZE)
            if major != VERSION:
                version.fail(f"version {major} of the format; this switch reads version {VERSION}")

    def _pipeline(self, pipelines: Mapping[str, Node], name: str) -> Node:
        return pipelines.get(name) or self.document["pipelines"].fail(f"there is no pipeline '{name}'")

    def _types(self) -> list[Header]:
        t = self.layout.headers.type
        assert isinstance(t, Struct)
        return [f.type for f in t.fields if isinstance(f.type, Header)]

    # --- externs ------------------------------------------------------------------------------------------------

    def _externs(self) -> dict[tuple[str, str], ir.ExternInstance]:
        """Extern instances by kind and name; direct counters also as ``counters`` by their table."""
        out: dict[tuple[str, str], ir.ExternInstance] = {}

        def add(kind: str, node: Node, types: list[Type], args: list[ir.Expr]) -> None:
            name = node["name"].text
            if (kind, name) in out:
                node["name"].fail(f"'{name[:80]}' is there twice")
            out[kind, name] = ir.ExternInstance(
                kind, name, types, list(args), ["size", "type"][2 - len(args) :] if len(args) < 2 else ["size", "type"]
            )

        for c in self.document.each("counter_arrays"):
            unit = member(COUNTERS, "packets_and_bytes")
            if _direct(c):
                add("direct_counter", c, [], [unit])
                if "binding" in c:
                    out["counters", c["binding"].text] = out["direct_counter", c["name"].text]
            else:
                add("counter", c, [], [_size(c), unit])
        for m in self.document.each("meter_arrays"):
            unit = member(METERS, m["type"].choice("packets", "bytes"))
            if "rate_count" in m and m["rate_count"].number(0, 16) != 2:
                m["rate_count"].fail("meters have two rates")
            if _direct(m):
                add("direct_meter", m, [Bits(32)], [unit])
            else:
                add("meter", m, [], [_size(m), unit])
        for r in self.document.each("register_arrays"):
            add("register", r, [Bits(r["bitwidth"].number(1, 1 << 16))], [_size(r)])
        return out

    def _read_meters(self, tables: list[ir.Table]) -> None:
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
            out.append(call(f"{word}_checksum{'_with_payload' if payload else ''}", *args))
        return out

    def _deparser(self) -> ir.ControlInstance:
        packet = ir.Var("packet", Extern("packet_out"))
        body: list[ir.Stmt] = []
        for number, d in enumerate(self.document.each("deparsers")):
            if number:
                d.fail("a second deparser")
            for _ in d.each("primitives"):
                d["primitives"].fail("primitives of a deparser are not supported")
            for name in d["order"]:
                header = self.layout.header(name)
                if not isinstance(header.type, Header):
                    name.fail(f"'{name.text[:80]}' is metadata")
                body.append(call("emit", ("in", header), of=packet, extern="packet_out"))
        return _control("deparser", [packet, self.layout.headers], body)


def _control(name: str, params: list[ir.Var], body: list[ir.Stmt]) -> ir.ControlInstance:
    return ir.ControlInstance(name, name, params, [], ir.Block(body))


def _direct(node: Node) -> bool:
    return "is_direct" in node and node["is_direct"].flag


def _size(node: Node) -> ir.Expr:
    return ir.Const(node["size"].number(0, MAX_SIZE), type=Bits(32))
