# SPDX-License-Identifier: Apache-2.0
"""Random PSA programs that always type-check."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import expression
from offramp_p4_tools.fuzz.externs import Lines
from offramp_p4_tools.fuzz.parsers import write_parser
from offramp_p4_tools.fuzz.portable_externs import PortableExternGenerator
from offramp_p4_tools.fuzz.programs import ProgramWriter, RandomProgram
from offramp_p4_tools.fuzz.scope import Callee, Operand, ReachableNames
from offramp_p4_tools.fuzz.tables import write_table

_KEPT: Final = "struct kept_t { bit<16> link; bit<8> rounds; }"
_PROPERTIES: Final = {
    "implementation = ": "psa_implementation = ",
    "meters = ": "psa_direct_meter = ",
    "counters = ": "psa_direct_counter = ",
}
_PARSERS: Final = {
    "In": (
        "in psa_ingress_parser_input_metadata_t istd, in kept_t again, in kept_t around",
        "meta.link = again.link ^ around.link; meta.rounds = again.rounds + around.rounds; ",
    ),
    "Out": (
        "in psa_egress_parser_input_metadata_t istd, in kept_t normal, in kept_t first, in kept_t second",
        "meta.link = normal.link ^ first.link ^ second.link; meta.rounds = normal.rounds + second.rounds; ",
    ),
}
_CONTROLS: Final = {
    "In": "in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd",
    "Out": "in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd",
}
_DEPARSERS: Final = {
    "In": (
        (
            "out kept_t first, out kept_t again, out kept_t normal, inout headers_t hdr, in meta_t meta, "
            "in psa_ingress_output_metadata_t istd"
        ),
        (
            "if (psa_clone_i2e(istd)) { first.link = meta.link + 1; }",
            "if (psa_resubmit(istd)) { again = { meta.link, meta.rounds + 1 }; }",
            "if (psa_normal(istd)) { normal = { meta.link + 2, meta.rounds }; }",
        ),
    ),
    "Out": (
        (
            "out kept_t second, out kept_t around, inout headers_t hdr, in meta_t meta, "
            "in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd"
        ),
        (
            "if (psa_clone_e2e(istd)) { second = { meta.link + 3, meta.rounds + 1 }; }",
            "if (psa_recirculate(istd, edstd)) { around = { meta.link, meta.rounds + 1 }; }",
        ),
    ),
}
_READ: Final = {
    "In": (("((PortIdUint_t)istd.ingress_port)", 32),),
    "Out": (
        ("((PortIdUint_t)istd.egress_port)", 32),
        ("((EgressInstanceUint_t)istd.instance)", 16),
        ("((ClassOfServiceUint_t)istd.class_of_service)", 8),
    ),
}


def random_psa_program(seed: int, size: int = 8) -> RandomProgram:
    """A program whose controls have up to ``size`` statements."""
    return PsaWriter(Random(seed), size, portable=False).program()


class PsaWriter(ProgramWriter):
    """Writes one program for PSA."""

    def make_externs(self) -> PortableExternGenerator:
        """The writer of uses of the architecture's externs."""
        return PortableExternGenerator()

    def program(self) -> RandomProgram:
        """The whole program."""
        lines = ["#include <core.p4>", "#include <psa.p4>", _KEPT, *self.shapes.declarations()]
        functions = [self._function(lines) for _ in range(self.rng.randint(0, 2))]
        hints: list[int] = []
        for half in ("In", "Out"):
            params, lead = _PARSERS[half]
            head = f"parser {half}Parser(packet_in packet, out headers_t hdr, inout meta_t meta, {params})"
            parser, seen = write_parser(self.statements, self._scope([]), self.shapes, head, lead)
            lines += parser
            hints += seen
            lines += self._half(half, functions)
            lines += self._deparser(half)
        lines += [
            "IngressPipeline(InParser(), In(), InDeparser()) ip;",
            "EgressPipeline(OutParser(), Out(), OutDeparser()) ep;",
            "PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;",
        ]
        return RandomProgram("\n".join(renamed(line) for line in lines) + "\n", tuple(hints))

    def _half(self, half: str, functions: list[Callee]) -> Lines:
        """A control; the first statement of ingress chooses where the packet goes."""
        scope = self._scope(functions)
        scope.operands += [Operand(text, Bits(width), writable=False) for text, width in _READ[half]]
        lines = [f"control {half}(inout headers_t hdr, inout meta_t meta, {_CONTROLS[half]}) {{"]
        lines += self.externs.objects(scope, self.rng.randint(1, 3))
        lines += self._actions(scope)
        for _ in range(self.rng.randint(0, 3)):
            lines += write_table(self.statements, scope)
        scope.requests = self._asks(scope, half)
        lines.append("apply {")
        if half == "In":
            lines.append(f"send_to_port(ostd, (PortId_t)(PortIdUint_t)({expression(scope, Bits(3))}));")
        return [*lines, *self.statements.block(scope, self.size), "} }"]

    def _asks(self, scope: ReachableNames, half: str) -> list[Callable[[], str]]:
        """Writers of requests that a control may make of the architecture."""
        clone = "ostd.clone = true; ostd.clone_session_id = (CloneSessionId_t)16w{};"
        requests: list[Callable[[], str]] = [
            lambda: self.externs.hash(scope),
            lambda: f"if (meta.rounds < 2) {{ {clone.format(self.rng.randint(1, 3))} }}",
            lambda: "ostd.drop = true;",
            lambda: f"assert(meta.rounds != {self.rng.randint(1, 9)} || {expression(scope, Bits(1), 1)} == 1);",
        ]
        if half == "Out":
            return requests
        return [
            *requests,
            lambda: "if (meta.rounds < 2) { ostd.resubmit = true; }",
            lambda: "if (meta.rounds < 2) { ostd.egress_port = PSA_PORT_RECIRCULATE; }",
            lambda: "ostd.egress_port = (PortId_t)32w70000;",
            lambda: f"multicast(ostd, (MulticastGroup_t)(MulticastGroupUint_t)({expression(scope, Bits(2), 1)}));",
            lambda: f"ostd.class_of_service = (ClassOfService_t)({expression(scope, Bits(8), 1)});",
        ]

    def _deparser(self, half: str) -> Lines:
        """A deparser: metadata for what comes next, a digest, a checksum; then the headers."""
        rng = self.rng
        params, statements = _DEPARSERS[half]
        lines = [f"control {half}Deparser(packet_out packet, {params}) {{", "InternetChecksum() sum;"]
        body = [*statements]
        if half == "In":
            lines.append("Digest<notice_t>() notices;")
            body.append("if (meta.link[0:0] == 1) { notices.pack({ meta.link, meta.link }); }")
        if rng.random() < 0.5:
            fields = ", ".join(["hdr.h0.kind", "hdr.h0.next", *self.shapes.fields_of("h0")])
            body += [f"sum.add({{ {fields} }});", "hdr.h0.sum = sum.get();"]
        return [*lines, "apply {", *body, *(f"packet.emit({name});" for name in self.shapes.emitted()), "} }"]


def renamed(line: str) -> str:
    """A line with PSA's name for a property of tables."""
    for name, portable in _PROPERTIES.items():
        if line.startswith(name):
            return portable + line.removeprefix(name)
    return line
