# SPDX-License-Identifier: Apache-2.0
"""Random TNA programs that always type-check, and keep to one access to a register in a pass."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import expression
from offramp_p4_tools.fuzz.externs import Lines
from offramp_p4_tools.fuzz.parsers import write_parser
from offramp_p4_tools.fuzz.programs import ProgramWriter, RandomProgram
from offramp_p4_tools.fuzz.scope import Callee, Operand, ReachableNames
from offramp_p4_tools.fuzz.tables import write_table
from offramp_p4_tools.fuzz.tofino_externs import TofinoExterns

_TYPES: Final = (
    "header front_t { bit<48> a; bit<16> b; }",
    "header copy_t { bit<8> a; bit<16> b; }",
    "struct pair_t { bit<16> first; bit<16> second; }",
)
_SUMS: Final = (
    "residue.subtract(packet.lookahead<bit<32>>()); residue.subtract_all_and_deposit(meta.link); "
    "check.add(packet.lookahead<bit<48>>()); meta.front.b = (bit<16>)check.get() ^ (check.verify() ? 16w1 : 0); "
    "left.set(packet.lookahead<bit<8>>(), 8w200, 8w3, 3w4, 8w1); left.decrement(3); "
    "meta.copy.a = (left.is_zero() ? 8w1 : 0) + (left.is_negative() ? 8w2 : 0); "
)
_INGRESS: Final = "out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t ig"
_EGRESS: Final = "out headers_t hdr, out meta_t meta, out egress_intrinsic_metadata_t eg"
_HEADS: Final = {
    "Ingress": "inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig, "
    "in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr, "
    "inout ingress_intrinsic_metadata_for_tm_t tm",
    "Egress": "inout headers_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg, "
    "in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr, "
    "inout egress_intrinsic_metadata_for_output_port_t oport",
}
_READ: Final = {
    "Ingress": (("ig.ingress_port", 9), ("ig.resubmit_flag", 1), ("prsr.parser_err", 16), ("tm.rid", 16)),
    "Egress": (("eg.egress_port", 9), ("eg.egress_rid", 16), ("eg.pkt_length", 16), ("eg.egress_qid", 5),
               ("eg.egress_rid_first", 1), ("prsr.parser_err", 16)),
}  # fmt: skip


def random_tofino_program(seed: int, size: int = 8) -> RandomProgram:
    """A program whose controls have up to ``size`` statements."""
    return TofinoWriter(Random(seed), size, portable=False).program()


class TofinoWriter(ProgramWriter):
    """Writes one program for TNA."""

    def make_externs(self) -> TofinoExterns:
        """The writer of uses of the architecture's externs."""
        return TofinoExterns()

    def program(self) -> RandomProgram:
        """The whole program."""
        shapes = self.shapes
        lines = ["#include <core.p4>", "#include <tna.p4>", *_TYPES]
        lines += [
            line.replace("struct meta_t {", "struct meta_t { front_t front; copy_t copy; bit<10> session;")
            for line in shapes.declarations()
        ]
        functions = [self._function(lines) for _ in range(self.rng.randint(0, 2))]
        ingress = "packet.extract(ig); packet.extract(meta.front); "
        hints = self._parser(lines, "IngressParser", _INGRESS, ingress)
        self._parser(lines, "EgressParser", _EGRESS, f"packet.extract(eg); {_SUMS}")
        pipes = self.rng.choice((1, 1, 2))
        for pipe in range(pipes):
            for gress in ("Ingress", "Egress"):
                lines += self._gress(gress, pipe, functions)
                lines += self._deparser(gress, pipe)
            lines.append(
                f"Pipeline(IngressParser(), Ingress{pipe}(), IngressDeparser{pipe}(), "
                f"EgressParser(), Egress{pipe}(), EgressDeparser{pipe}()) pipe{pipe};"
            )
        lines.append(f"Switch({', '.join(f'pipe{pipe}' for pipe in range(pipes))}) main;")
        return RandomProgram("\n".join(lines) + "\n", tuple(hints))

    def _parser(self, lines: Lines, name: str, params: str, lead: str) -> list[int]:
        head = f"parser {name}(packet_in packet, {params})"
        objects = "Checksum() residue; Checksum() check; ParserCounter() left;"
        scope = self._scope(functions=[])
        code, hints = write_parser(self.statements, scope, self.shapes, head, lead, verifies=False, objects=objects)
        lines += code
        return hints

    def _scope_of(self, gress: str, functions: list[Callee]) -> ReachableNames:
        scope = self._scope(functions)
        scope.operands += [Operand(text, Bits(width), writable=False) for text, width in _READ[gress]]
        scope.operands += [Operand("meta.front.b", Bits(16)), Operand("meta.copy.a", Bits(8))]
        scope.operands.append(Operand("meta.session", Bits(10)))
        return scope

    def _gress(self, gress: str, pipe: int, functions: list[Callee]) -> Lines:
        """A control: its objects, actions and tables, and statements, the first of which choose where packets go."""
        scope = self._scope_of(gress, functions)
        lines = [f"control {gress}{pipe}({_HEADS[gress]}) {{"]
        actions = self._actions(scope)  # before there are registers, since they may be called more than once
        lines += actions
        lines += self.externs.objects(scope, self.rng.randint(1, 4))
        for _ in range(self.rng.randint(0, 3)):
            lines += write_table(self.statements, scope)
        scope.requests = self._asks(scope, gress)
        lines += ["apply {", f"meta.session = (bit<10>){expression(scope, Bits(2), 1)};"]
        if gress == "Ingress":
            lines.append(f"tm.ucast_egress_port = (bit<9>)({expression(scope, Bits(3))});")
        return [*lines, *self.statements.block(scope, self.size), "} }"]

    def _asks(self, scope: ReachableNames, gress: str) -> list[Callable[[], str]]:
        """Writers of requests that a control may make of the architecture."""
        requests: list[Callable[[], str]] = [
            lambda: self.externs.hash(scope),
            lambda: f"dprsr.mirror_type = {self.rng.randint(1, 3)};",
            lambda: f"dprsr.drop_ctl = (bit<3>){expression(scope, Bits(3), 1)};",
            lambda: "meta.copy.setValid();",
            lambda: self._shift(scope),
        ]
        if gress == "Egress":
            return requests
        return [
            *requests,
            lambda: f"dprsr.digest_type = (bit<3>){expression(scope, Bits(1), 1)};",
            lambda: "if (ig.resubmit_flag == 0) { dprsr.resubmit_type = 1; }",
            lambda: f"tm.mcast_grp_a = (bit<16>){expression(scope, Bits(2), 1)};",
            lambda: f"tm.mcast_grp_b = (bit<16>){expression(scope, Bits(2), 1)};",
            lambda: f"tm.rid = (bit<16>){expression(scope, Bits(2), 1)};",
            lambda: f"tm.level1_exclusion_id = (bit<16>){expression(scope, Bits(1), 1)};",
            lambda: f"tm.level2_exclusion_id = (bit<9>){expression(scope, Bits(1), 1)};",
            lambda: f"tm.level1_mcast_hash = (bit<13>){expression(scope, Bits(4), 1)};",
            lambda: f"tm.level2_mcast_hash = (bit<13>){expression(scope, Bits(4), 1)};",
            lambda: f"tm.bypass_egress = {expression(scope, Bits(1), 1)};",
            lambda: f"tm.qid = {expression(scope, Bits(5), 1)};",
            lambda: f"tm.ucast_egress_port = {self.rng.choice((68, 130, 300))};",
            lambda: "invalidate(tm.ucast_egress_port);",
            lambda: "if (is_validated(tm.ucast_egress_port)) { meta.rounds = meta.rounds + 1; }",
        ]

    def _shift(self, scope: ReachableNames) -> str:
        t = scope.pick([o.type for o in scope.of_type(lambda t: isinstance(t, Bits) and not t.signed, writable=True)])
        into = scope.pick(scope.of_type(lambda other: other == t, writable=True))
        high, low = expression(scope, t, 1), expression(scope, t, 1)
        return f"funnel_shift_right({into.text}, {high}, {low}, {self.rng.randrange(20)});"

    def _deparser(self, gress: str, pipe: int) -> Lines:
        """A deparser: mirrors, a resubmission, a digest, a checksum; then the headers."""
        rng = self.rng
        direction = gress.lower()
        params = f"inout headers_t hdr, in meta_t meta, in {direction}_intrinsic_metadata_for_deparser_t dprsr"
        lines = [
            f"control {gress}Deparser{pipe}(packet_out packet, {params}) {{",
            "Mirror(1) plain; Mirror(2) headed; Checksum() sum;",
        ]
        body = ["plain.emit(meta.session);", "headed.emit<copy_t>(meta.session, meta.copy);"]
        if gress == "Ingress":
            lines.append("Resubmit(1) again; Digest<notice_t>(1) notices;")
            body += ["again.emit<front_t>(meta.front);", "notices.pack({ meta.link, meta.link });"]
        rng.shuffle(body)
        if rng.random() < 0.5:
            fields = ", ".join(["hdr.h0.kind", "hdr.h0.next", *self.shapes.fields_of("h0")])
            body.append(f"hdr.h0.sum = sum.update({{ {fields} }}{rng.choice(('', ', true'))});")
        return [*lines, "apply {", *body, *(f"packet.emit({name});" for name in self.shapes.emitted()), "} }"]
