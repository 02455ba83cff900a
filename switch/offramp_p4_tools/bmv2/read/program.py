# SPDX-License-Identifier: Apache-2.0
"""The common base of readers of documents of all architectures: actions, tables, value sets, pipelines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from offramp_p4 import ir
from offramp_p4.types import Bits, ExternType, Header, Struct, Type
from offramp_p4_tools.bmv2.read.actions import read_action
from offramp_p4_tools.bmv2.read.enums import call
from offramp_p4_tools.bmv2.read.expressions import ExpressionReader
from offramp_p4_tools.bmv2.read.layout import ArchitectureMetadata, DocumentLayout
from offramp_p4_tools.bmv2.read.nodes import MAX_SIZE, JsonNode
from offramp_p4_tools.bmv2.read.parser import Errors, ParserReader
from offramp_p4_tools.bmv2.read.primitives import Primitives
from offramp_p4_tools.bmv2.read.tables import PipelineReader


class ProgramReader(ABC):
    """Reads a document of one architecture.

    Args:
        document: the root of the document.
        file: its name, for messages.
        p4info: the P4Info that comes with it, or None. It says which tables the control plane sees, and what the keys
            of these and the digests are called.
        architecture: the metadata of the architecture.
    """

    def __init__(self, document: JsonNode, file: str, p4info: Any | None, architecture: ArchitectureMetadata) -> None:
        self.document, self.file, self.p4info = document, file, p4info
        self._visible: Mapping[str, Sequence[str]] | None = None
        if p4info is not None and p4info.tables:
            self._visible = {
                t.preamble.name: [f.MatchType.Name(f.match_type).lower() for f in t.match_fields] for t in p4info.tables
            }
        self.layout = DocumentLayout(document, architecture)
        self.errors = Errors(document)
        self.externs = self._externs()
        registers = {name: i for (kind, name), i in self.externs.items() if kind == "register"}
        self.x = ExpressionReader(self.layout, registers)
        self.primitives = self._primitives()
        self.value_sets = {
            v["name"].text: ir.ValueSet(
                v["name"].text,
                Bits(v["compressed_bitwidth"].number(1, 1 << 16)),
                v["max_size"].number(0, MAX_SIZE) if "max_size" in v else 1024,
                ["exact"],
            )
            for v in document.each("parse_vsets")
        }
        self.parsers = ParserReader(document, self.primitives, self.value_sets, self.errors)

    @abstractmethod
    def _externs(self) -> dict[tuple[str, str], ir.ExternInstance]:
        """The extern objects by kind and name; direct counters also as ``counters`` by the names of their tables.

        Registers are of the kind ``register``, direct meters ``direct_meter``.
        """

    @abstractmethod
    def _primitives(self) -> Primitives:
        """The reader of the architecture's primitives."""

    @abstractmethod
    def _profile(self, name: str, size: int, algorithm: JsonNode | None) -> ir.ExternInstance:
        """An action profile, or an action selector with its algorithm."""

    @abstractmethod
    def read(self) -> ir.CompiledProgram:
        """The program."""

    # --- parts ---------------------------------------------------------------------------------------------------

    def actions(self) -> dict[int, ir.Action]:
        """The actions by their ids."""
        actions: dict[int, ir.Action] = {}
        for a in self.document.each("actions"):
            number = a["id"].number(0, MAX_SIZE)
            if number in actions:
                a["id"].fail(f"action id {number} is there twice")
            actions[number] = read_action(a, self.primitives)
        return actions

    def pipelines(self, *names: str) -> list[PipelineReader]:
        """The pipelines of these names."""
        pipelines = {p["name"].text: p for p in self.document["pipelines"]}
        actions = self.actions()
        return [
            PipelineReader(self._named(pipelines, "pipeline", name), self.x, actions, self.externs, self._visible,
                           self._profile)
            for name in names
        ]  # fmt: skip

    def _named(self, nodes: Mapping[str, JsonNode], kind: str, name: str) -> JsonNode:
        return nodes.get(name) or self.document[f"{kind}s"].fail(f"there is no {kind} '{name}'")

    def emits(self, node: JsonNode, packet: ir.Var) -> list[ir.Stmt]:
        """The headers that a deparser emits."""
        body: list[ir.Stmt] = []
        for name in node["order"]:
            header = self.layout.header(name)
            if not isinstance(header.type, Header):
                name.fail(f"'{name.text[:80]}' is metadata")
            body.append(emit(header, packet))
        return body

    def program(
        self,
        main: ir.PackageInstance,
        blocks: Sequence[ir.ParserInstance | ir.ControlInstance],
        readers: Iterable[PipelineReader],
        more: Iterable[ir.ExternInstance] = (),
        types: Mapping[str, Type] | None = None,
    ) -> ir.CompiledProgram:
        """The program that is put together of these parts."""
        readers = list(readers)
        tables = [table for reader in readers for table in reader.tables.values()]
        profiles = [instance for reader in readers for instance, _ in reader.profiles.values()]
        actions = dict.fromkeys(a.action for t in tables for a in t.actions)
        externs = dict.fromkeys([*self.externs.values(), *profiles, *more])
        named: dict[str, Type] = {**(types or {}), **{t.name: t for t in self._header_types()}}
        return ir.CompiledProgram(
            main, self.file, self.errors.names, tables, list(actions), list(externs), list(self.value_sets.values()),
            [], list(blocks), named,
        )  # fmt: skip

    def _header_types(self) -> list[Header]:
        t = self.layout.headers.type
        assert isinstance(t, Struct)
        return [f.type for f in t.fields if isinstance(f.type, Header)]


def emit(header: ir.Expr, packet: ir.Var) -> ir.Stmt:
    """``packet.emit(header)``."""
    return call("emit", ("in", header), of=packet, extern="packet_out")


def packet_out() -> ir.Var:
    """The packet that a deparser writes to."""
    return ir.Var("packet", ExternType("packet_out"))


def control(name: str, params: list[ir.Var], body: list[ir.Stmt]) -> ir.ControlInstance:
    """A control without declarations of its own."""
    return ir.ControlInstance(name, name, params, [], ir.Block(body))


def direct(node: JsonNode) -> bool:
    """Whether an array belongs to the entries of a table."""
    return "is_direct" in node and node["is_direct"].flag


def size(node: JsonNode) -> ir.Expr:
    """The size of an array."""
    return ir.Const(node["size"].number(0, MAX_SIZE), type=Bits(32))
