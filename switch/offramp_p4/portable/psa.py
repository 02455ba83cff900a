# SPDX-License-Identifier: Apache-2.0
"""The way of a packet through a PSA switch (PSA specification 1.2, sections 3 and 6).

Ingress and egress have parser, control and deparser each; what goes from one pass to another is the packet that a
deparser has made, or that came in, and the metadata that the deparser has filled in for that way. A deparser runs
whatever becomes of the packet; bmv2's psa_switch leaves it out where ingress drops or resubmits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.portable.functions import RECIRCULATE
from offramp_p4.portable.pipeline import LOOP, Cells, PortableArrival, PortableCopy, PortablePipeline
from offramp_p4.portable.thread import PortableThread
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offramp_p4.engine.layout import Memory
    from offramp_p4.portable.thread import Signature
    from offramp_p4.tm.stages import Emit

NORMAL, RESUBMIT, RECIRCULATED = "NORMAL", "RESUBMIT", "RECIRCULATE"
UNICAST, MULTICAST, CLONE_I2E, CLONE_E2E = "NORMAL_UNICAST", "NORMAL_MULTICAST", "CLONE_I2E", "CLONE_E2E"
PATHS: Final = (NORMAL, UNICAST, MULTICAST, CLONE_I2E, CLONE_E2E, RESUBMIT, RECIRCULATED)
"""The members of PSA_PacketPath_t, in their order."""
BROUGHT: Final = {
    RESUBMIT: "resubmit",
    RECIRCULATED: "recirculate",
    UNICAST: "normal",
    MULTICAST: "normal",
    CLONE_I2E: "clone_i2e",
    CLONE_E2E: "clone_e2e",
}
"""The role of the metadata that a packet brings with it, by its path."""
MADE: Final = {
    RESUBMIT: ("ingress", "new_resubmit"),
    RECIRCULATED: ("egress", "recirculate"),
    UNICAST: ("ingress", "normal"),
    MULTICAST: ("ingress", "normal"),
    CLONE_I2E: ("ingress", "clone_i2e"),
    CLONE_E2E: ("egress", "new_clone_e2e"),
}
"""The half and the role in which a path's metadata have been filled in."""

INGRESS: Final[dict[str, Signature]] = {
    "ip": ("", "headers", "user", "parser_in", "resubmit", "recirculate"),
    "ig": ("headers", "user", "in", "out"),
    "id": ("", "clone_i2e", "new_resubmit", "normal", "headers", "user", "out"),
}
EGRESS: Final[dict[str, Signature]] = {
    "ep": ("", "headers", "user", "parser_in", "normal", "clone_i2e", "clone_e2e"),
    "eg": ("headers", "user", "in", "out"),
    "ed": ("", "new_clone_e2e", "recirculate", "headers", "user", "out", "deparser_in"),
}
_MASK64: Final = (1 << 64) - 1


class PsaPipeline(PortablePipeline):
    """A compiled PSA program.

    Raises:
        Unsupported: the program uses what this switch does not execute.
    """

    recirculates = True

    def __init__(self, program: ir.Program, **options: Any) -> None:
        super().__init__(program, **options)
        paths = program.types.get("PSA_PacketPath_t")
        if not isinstance(paths, Enum) or not set(PATHS) <= set(paths.members):
            raise Unsupported(program.main.pos, "a PSA program whose PSA_PacketPath_t lacks a path")
        self._paths: Mapping[str, int] = paths.members
        self._ingress = self._thread(blocks_of(program, "ingress", INGRESS))
        self._egress = self._thread(blocks_of(program, "egress", EGRESS))
        self._in = _cells(self._ingress, ("ingress_port", "ingress_timestamp"))
        self._out = _cells(self._egress, ("egress_port", "egress_timestamp", "class_of_service", "instance"))
        field = self._ingress.field
        self._asked = {
            name: field("out", name)
            for name in (
                "class_of_service", "clone", "clone_session_id", "drop", "resubmit", "multicast_group", "egress_port"
            )
        }  # fmt: skip
        field = self._egress.field
        self._asked_egress = {name: field("out", name) for name in ("clone", "clone_session_id", "drop")}
        self._deparser_port = field("deparser_in", "egress_port")

    def arrival(self, port: int, frame: bytes) -> PortableArrival:
        """A packet from outside."""
        return PortableArrival(frame, self._shown(port), NORMAL)

    def _enter(self, arrival: PortableArrival) -> None:
        thread, cells, asked = self._ingress, self._in, self._asked
        m = thread.begin(arrival.frame)
        _bring(thread, m, arrival.path, arrival.carried)
        m[cells["parser_in", "packet_path"]] = m[cells["in", "packet_path"]] = self._paths[arrival.path]
        m[cells["parser_in", "ingress_port"]] = m[cells["in", "ingress_port"]] = arrival.port
        self._parse(thread, m, cells["in", "parser_error"])
        m[cells["in", "ingress_timestamp"]] = self._clock() & _MASK64
        m[asked["drop"]] = 1
        thread.control(m)
        frame = thread.deparse(m)
        self._notify(m, thread.target.digests)
        if m[asked["clone"]]:
            self._clone(m[asked["clone_session_id"]], arrival.frame, CLONE_I2E, m[thread.span("clone_i2e")])
        if m[asked["drop"]]:
            self._drop("drop is set after ingress")
        elif m[asked["resubmit"]]:
            self.stats.resubmissions += 1
            self.waiting.append(PortableArrival(arrival.frame, arrival.port, RESUBMIT, m[thread.span("new_resubmit")]))
        else:
            self._forward(m, frame)

    def _forward(self, m: Memory, frame: bytes) -> None:
        """The copies of a packet that ingress neither drops nor resubmits."""
        asked, normal = self._asked, m[self._ingress.span("normal")]
        group, cos = m[asked["multicast_group"]], m[asked["class_of_service"]]
        if not group:
            self._send_copies([PortableCopy(frame, UNICAST, m[asked["egress_port"]], cos, 0, normal)])
            return
        replicas = self.objects.pre.multicast.get(group, ())
        self.stats.replicas += len(replicas)
        if not replicas:
            self._drop(f"multicast group {group} has no members")
        self._send_copies(PortableCopy(frame, MULTICAST, r.port, cos, r.instance, normal) for r in replicas)

    def _leave(self, copy: PortableCopy, port: int, emit: Emit) -> None:
        thread, cells, asked = self._egress, self._out, self._asked_egress
        shown = self._shown(port)
        m = thread.begin(copy.frame)
        _bring(thread, m, copy.path, copy.carried)
        m[cells["parser_in", "packet_path"]] = m[cells["in", "packet_path"]] = self._paths[copy.path]
        m[cells["parser_in", "egress_port"]] = m[cells["in", "egress_port"]] = m[self._deparser_port] = shown
        self._parse(thread, m, cells["in", "parser_error"])
        m[cells["in", "egress_timestamp"]] = self._clock() & _MASK64
        m[cells["in", "class_of_service"]], m[cells["in", "instance"]] = copy.cos, copy.instance
        thread.control(m)
        frame = thread.deparse(m)
        self._notify(m, thread.target.digests)
        if m[asked["drop"]]:
            self._drop("drop is set after egress")
        elif port == LOOP:
            self.stats.recirculations += 1
            brought = m[thread.span("recirculate")]
            self.waiting.append(PortableArrival(frame, RECIRCULATE, RECIRCULATED, brought, recirculated=True))
        else:
            self.stats.packets_out += 1
            emit((port, frame))
        if m[asked["clone"]]:
            self._clone(m[asked["clone_session_id"]], frame, CLONE_E2E, m[thread.span("new_clone_e2e")])

    def _parse(self, thread: PortableThread, m: Memory, error: int) -> None:
        m[error] = code = thread.parse(m)
        self.stats.parse_errors += bool(code)


def _bring(thread: PortableThread, m: Memory, path: str, carried: Cells | None) -> None:
    """Hand a parser the metadata that its packet brings."""
    if carried is not None:
        m[thread.span(BROUGHT[path])] = carried


def _cells(thread: PortableThread, names: tuple[str, ...]) -> dict[tuple[str, str], int]:
    """The cells of what the architecture tells a parser and a control: those fields, path and parser error."""
    port = names[0]
    wanted = [("parser_in", port), ("parser_in", "packet_path"), ("in", "packet_path"), ("in", "parser_error")]
    return {key: thread.field(*key) for key in [*wanted, *(("in", name) for name in names)]}


def blocks_of(
    program: ir.Program, direction: str, signatures: Mapping[str, Signature]
) -> list[tuple[ir.ParserInstance | ir.ControlInstance, Signature]]:
    """The parser, control and deparser of ingress or of egress."""
    package = program.main.args.get(direction)
    blocks = package.args if isinstance(package, ir.PackageInstance) else {}
    pairs = []
    for name, signature in signatures.items():
        block = blocks.get(name)
        if not isinstance(block, ir.ParserInstance | ir.ControlInstance):
            raise Unsupported(program.main.pos, f"{program.main.type_name} without {direction}.{name}")
        pairs.append((block, signature))
    return pairs
