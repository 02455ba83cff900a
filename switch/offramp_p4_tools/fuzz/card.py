# SPDX-License-Identifier: Apache-2.0
"""Random PNA programs that always type-check, in the version of DPDK or of bmv2."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import condition, expression
from offramp_p4_tools.fuzz.externs import Lines
from offramp_p4_tools.fuzz.flows import timer_calls, write_flow_table
from offramp_p4_tools.fuzz.parsers import write_parser
from offramp_p4_tools.fuzz.portable import renamed
from offramp_p4_tools.fuzz.portable_externs import PortableExternGenerator
from offramp_p4_tools.fuzz.programs import ProgramWriter, RandomProgram
from offramp_p4_tools.fuzz.scope import Callee, Operand, ReachableNames
from offramp_p4_tools.fuzz.tables import write_table

_READ: Final = (("((PortIdUint_t)istd.input_port)", 32), ("((TimestampUint_t)istd.timestamp)", 64))


def random_pna_program(seed: int, size: int = 8) -> RandomProgram:
    """A program whose controls have up to ``size`` statements."""
    return PnaWriter(Random(seed), size, portable=False).program()


class PnaWriter(ProgramWriter):
    """Writes one program for PNA."""

    def __init__(self, rng: Random, size: int, portable: bool) -> None:
        self.bmv2 = rng.random() < 0.3
        super().__init__(rng, size, portable)

    def make_externs(self) -> PortableExternGenerator:
        """The writer of uses of the architecture's externs."""
        return PortableExternGenerator(("TOEPLITZ",))

    def program(self) -> RandomProgram:
        """The whole program."""
        include = "bmv2/pna" if self.bmv2 else "pna"
        lines = ["#include <core.p4>", f"#include <{include}.p4>", *self.shapes.declarations()]
        functions = [self._function(lines) for _ in range(self.rng.randint(0, 2))]
        head = "parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, in {} istd)"
        head = head.format("pna_main_parser_input_metadata_t")
        seen = "istd.recirculated ? 8w1 : 8w0" if self.bmv2 else "(bit<8>)(PassNumberUint_t)istd.pass"
        parser, hints = write_parser(self.statements, self._scope([]), self.shapes, head, f"meta.rounds = {seen}; ")
        lines += parser
        if not self.bmv2:
            lines += self._pre()
        lines += self._main(functions)
        lines += self._deparser()
        blocks = ["Parse()", *([] if self.bmv2 else ["Pre()"]), "Main()", "Deparse()"]
        lines.append(f"PNA_NIC({', '.join(blocks)}) main;")
        text = "\n".join(renamed(line) for line in lines) + "\n"
        return RandomProgram(text.replace("PSA_", "PNA_").replace("psa_", "pna_"), tuple(hints))

    def _pre(self) -> Lines:
        return [
            "control Pre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,",
            "            inout pna_pre_output_metadata_t ostd) {",
            "apply { meta.link = meta.link + (bit<16>)(PassNumberUint_t)istd.pass;",
            f"ostd.decrypt = hdr.h0.isValid() && hdr.h0.kind == {self.rng.randint(0, 255)}; }}",
            "}",
        ]

    def _main(self, functions: list[Callee]) -> Lines:
        """The main control; its first statement chooses where the packet goes."""
        scope = self._scope(functions)
        scope.operands += [Operand(text, Bits(width), writable=False) for text, width in _READ]
        lines = [
            "control Main(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,",
            "             inout pna_main_output_metadata_t ostd) {",
        ]
        lines += self.externs.objects(scope, self.rng.randint(1, 3))
        lines += self._actions(scope)
        scope.requests = self._asks(scope)
        for _ in range(self.rng.randint(0, 2)):
            lines += write_table(self.statements, scope)
        for _ in range(self.rng.randint(0, 2)):
            lines += write_flow_table(self.statements, scope, "ADD_ENTRY_SUCCESS" if self.bmv2 else "true")
        lines += ["apply {", f"send_to_port((PortId_t)(PortIdUint_t)({expression(scope, Bits(3))}));"]
        for name, _ in scope.tables:
            lines += [f"{name}.apply();"] if name.startswith("flows") and self.rng.random() < 0.7 else []
        return [*lines, *self.statements.block(scope, self.size), "} }"]

    def _asks(self, scope: ReachableNames) -> list[Callable[[], str]]:
        """Writers of requests that the main control may make of the card."""
        rng = self.rng
        ports = ("0xfffffffd", "0xfffffffa", "70000")
        requests: list[Callable[[], str]] = [
            lambda: self.externs.hash(scope),
            lambda: "drop_packet();",
            lambda: f"if (meta.rounds < {'1' if self.bmv2 else '3'}) {{ recirculate(); }}",
            lambda: (
                f"mirror_packet((MirrorSlotId_t)(MirrorSlotIdUint_t)({expression(scope, Bits(8), 1)} & 3), "
                f"(MirrorSessionId_t)16w{rng.randint(1, 3)});"
            ),
            lambda: f"send_to_port((PortId_t)32w{rng.choice(ports)});",
            lambda: f"ostd.class_of_service = (ClassOfService_t)({expression(scope, Bits(8), 1)});",
            lambda: f"meta.link = (bit<16>)(FlowIdUint_t)allocate_flow_id() ^ {expression(scope, Bits(16), 1)};",
            lambda: self._by_direction(scope),
            *timer_calls(scope),
        ]
        if self.bmv2:
            requests.append(lambda: self._by_port(scope))
        return requests

    def _by_direction(self, scope: ReachableNames) -> str:
        direction = "istd.recirculated" if self.bmv2 else "istd.direction"
        values = ", ".join(expression(scope, Bits(16), 1) for _ in range(2))
        return f"meta.link = SelectByDirection<bit<16>>({direction}, {values});"

    def _by_port(self, scope: ReachableNames) -> str:
        port = f"(PortId_t)(PortIdUint_t)({expression(scope, Bits(32), 1)} & 7)"
        asked = scope.pick(("is_host_port", "is_net_port"))
        return f"if ({asked}({port}) == {condition(scope, 1)}) {{ meta.link = 5; }}"

    def _deparser(self) -> Lines:
        """A deparser: a digest, then the headers."""
        direction = "inout" if self.bmv2 else "in"
        lines = [
            f"control Deparse(packet_out packet, {direction} headers_t hdr, in meta_t meta,",
            "                in pna_main_output_metadata_t ostd) {",
            "Digest<notice_t>() notices;",
            "apply { if (meta.link[0:0] == 1) { notices.pack({ meta.link, meta.link }); }",
        ]
        return [*lines, *(f"packet.emit({name});" for name in self.shapes.emitted()), "} }"]
