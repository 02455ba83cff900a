# SPDX-License-Identifier: Apache-2.0
"""Random v1model programs that always type-check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import condition, expression, literal
from offramp_p4_tools.fuzz.externs import ExternGenerator, Lines
from offramp_p4_tools.fuzz.parsers import write_parser
from offramp_p4_tools.fuzz.scope import Callee, Operand, ReachableNames
from offramp_p4_tools.fuzz.shapes import Shapes
from offramp_p4_tools.fuzz.statements import StatementGenerator
from offramp_p4_tools.fuzz.tables import write_table


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """The text of a program, and values that its parser and tables look for."""

    text: str
    hints: tuple[int, ...]


def random_program(seed: int, size: int = 8, *, portable: bool = False) -> RandomProgram:
    """A program whose blocks have up to ``size`` statements; ``portable`` ones are for p4c and bmv2 too."""
    return ProgramWriter(Random(seed), size, portable).program()


class ProgramWriter:
    """Writes one program for v1model."""

    def __init__(self, rng: Random, size: int, portable: bool) -> None:
        self.rng, self.size, self.portable = rng, size, portable
        self.externs = self.make_externs()
        self.statements = StatementGenerator(self.externs)
        self.shapes = Shapes(rng, portable=portable)

    def make_externs(self) -> ExternGenerator:
        """The writer of uses of the architecture's externs."""
        return ExternGenerator()

    def program(self) -> RandomProgram:
        """The whole program."""
        shapes = self.shapes
        lines = ["#include <core.p4>", "#include <v1model.p4>", *shapes.declarations()]
        functions = [self._function(lines) for _ in range(self.rng.randint(0, 3))]
        parser, hints = write_parser(self.statements, self._scope(functions=[]), shapes)
        lines += parser
        lines += ["control MyVerify(inout headers_t hdr, inout meta_t meta) { apply {", *self._verify(), "} }"]
        lines += self._nested(functions)
        lines += self._control("MyIngress", functions, nested="Nested")
        lines += self._control("MyEgress", functions, nested=None)
        lines += ["control MyCompute(inout headers_t hdr, inout meta_t meta) { apply {", *self._compute(), "} }"]
        lines += ["control Deparse(packet_out packet, in headers_t hdr) { apply {"]
        lines += [f"packet.emit({name});" for name in shapes.emitted()]
        lines += ["} }", "V1Switch(Parse(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), Deparse()) main;"]
        return RandomProgram("\n".join(lines) + "\n", tuple(hints))

    def _scope(self, functions: list[Callee]) -> ReachableNames:
        scope = ReachableNames(self.rng, list(self.shapes.operands()), functions)
        scope.portable = self.portable
        scope.headers, scope.stacks = list(self.shapes.headers()), list(self.shapes.stacks())
        return scope

    def _function(self, lines: Lines) -> Callee:
        """A function of its parameters alone."""
        rng, name = self.rng, self.statements.name("f")
        scope = ReachableNames(rng, portable=self.portable)
        returns = scope.scalar()
        directions = ("in", "in", "in", "inout", "out")
        params = [(scope.pick(directions), scope.scalar()) for _ in range(rng.randint(1, 3))]
        names = [f"p{i}" for i in range(len(params))]
        scope.operands = [Operand(n, t, d != "in") for n, (d, t) in zip(names, params, strict=True)]
        scope.operands.append(Operand("local", Bits(16)))
        scope.in_action = True
        head = ", ".join(f"{d} {t} {n}" for n, (d, t) in zip(names, params, strict=True))
        lines.append(f"{returns} {name}({head}) {{")
        lines += [f"{n} = {literal(scope, t)};" for n, (d, t) in zip(names, params, strict=True) if d == "out"]
        lines += ["bit<16> local = 0;", *self.statements.block(scope, 3)]
        if scope.chance(0.3):
            lines += [f"if ({condition(scope)}) {{", f"return {expression(scope, returns)};", "}"]
        lines += [f"return {expression(scope, returns)};", "}"]
        return Callee(name, tuple(params), returns)

    def _nested(self, functions: list[Callee]) -> Lines:
        """A control that others apply, on their headers and one value."""
        scope = self._scope(functions)
        scope.operands.append(Operand("value", Bits(16)))
        lines = ["control Nested(inout headers_t hdr, inout meta_t meta, inout bit<16> value) {"]
        lines += self.externs.objects(scope, 1)
        lines += self._actions(scope)
        lines += write_table(self.statements, scope)
        return [*lines, "apply {", *self.statements.block(scope, 4), "} }"]

    def _control(self, name: str, functions: list[Callee], *, nested: str | None) -> Lines:
        scope = self._scope(functions)
        scope.operands += self.shapes.standard_metadata(writable_port=name == "MyIngress")
        lines = [f"control {name}(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{"]
        lines += self.externs.objects(scope, self.rng.randint(1, 3))
        lines += self._actions(scope)
        for _ in range(self.rng.randint(0, 3)):
            lines += write_table(self.statements, scope)
        if nested:
            lines.append(f"{nested}() nested_a;")
            lines.append(f"{nested}() nested_b;")
            scope.controls = [f"nested_{c}.apply(hdr, meta, meta.link);" for c in "ab"]
        scope.requests = self._requests(scope, name)
        lines.append("apply {")
        if name == "MyIngress":
            lines.append(f"std.egress_spec = (bit<9>)({expression(scope, Bits(3))});")
        lines += self.statements.block(scope, self.size)
        return [*lines, "} }"]

    def _actions(self, scope: ReachableNames) -> Lines:
        """Actions for direct calls; those for tables come with the tables."""
        lines = []
        for _ in range(self.rng.randint(0, 2)):
            name, inner = self.statements.name("act"), scope.inner()
            params = [(scope.pick(("in", "inout", "out")), scope.scalar()) for _ in range(self.rng.randint(0, 2))]
            inner.operands += [Operand(f"q{i}", t, d != "in") for i, (d, t) in enumerate(params)]
            inner.in_action, inner.actions = True, []
            head = ", ".join(f"{d} {t} q{i}" for i, (d, t) in enumerate(params))
            lines.append(f"action {name}({head}) {{")
            lines += [f"q{i} = {literal(scope, t)};" for i, (d, t) in enumerate(params) if d == "out"]
            lines += [*self.statements.block(inner, 3, 1), "}"]
            scope.actions.append(Callee(name, tuple(params)))
        return lines

    def _requests(self, scope: ReachableNames, block: str) -> list[Callable[[], str]]:
        """Writers of requests that a block may make of the architecture."""

        def clone() -> str:
            return f"clone_preserving_field_list(CloneType.{clone_type}, 32w{self.rng.randint(1, 3)}, 8w1);"

        clone_type = "I2E" if block == "MyIngress" else "E2E"
        again = "resubmit_preserving_field_list" if block == "MyIngress" else "recirculate_preserving_field_list"
        requests: list[Callable[[], str]] = [
            lambda: self.externs.hash(scope),
            lambda: f"if (std.instance_type == 0) {{ {clone()} }}",
            lambda: f"if (meta.rounds < 2) {{ meta.rounds = meta.rounds + 1; {again}(8w1); }}",
            lambda: "mark_to_drop(std);",
        ]
        if block == "MyEgress" or not self.portable:  # from ingress, bmv2 does not cut the copies of a multicast
            requests.append(lambda: f"truncate(32w{self.rng.randint(1, 60)});")
        if block == "MyIngress":
            requests.append(lambda: f"std.mcast_grp = (bit<16>){expression(scope, Bits(2), 1)};")
            requests.append(lambda: f"digest<notice_t>(1, {{ {expression(scope, Bits(16), 1)}, meta.link }});")
        return requests

    def _verify(self) -> Lines:
        if self.rng.random() < 0.5:
            return []
        return [f"verify_checksum(hdr.h0.isValid(), {{ {self._fields()} }}, hdr.h0.sum, HashAlgorithm.csum16);"]

    def _compute(self) -> Lines:
        if self.rng.random() < 0.5:
            return []
        return [f"update_checksum(hdr.h0.isValid(), {{ {self._fields()} }}, hdr.h0.sum, HashAlgorithm.csum16);"]

    def _fields(self) -> str:
        return ", ".join(["hdr.h0.kind", "hdr.h0.next", *self.shapes.fields_of("h0")])
