# SPDX-License-Identifier: Apache-2.0
"""One gress of a pipe, compiled: parser, match-action control, deparser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.compile import compile_blocks
from offramp_p4.engine.faults import NO_ERROR, ParserFault, Steps
from offramp_p4.engine.generator import Generator, Generators, Run
from offramp_p4.engine.layout import CURSOR, FRAME, LENGTH, OUTPUT, CellLayout
from offramp_p4.records import Digest
from offramp_p4.tna.metadata import UNSET_PORT, unset_types
from offramp_p4.tna.ports import CHECK_SEQUENCE_BYTES
from offramp_p4.tna.target import TnaTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from offramp_p4.engine.layout import Memory
    from offramp_p4.tna.blocks import Gress
    from offramp_p4.tna.objects import TofinoObjects

# Bits of parser_err by the error of the language. A stack that is full only ends the parser, as p4c has it.
ERROR_BITS: Final = {
    "NoMatch": 0x0001,
    "PacketTooShort": 0x0002,
    "HeaderTooShort": 0x0002,
    "ParserInvalidArgument": 0x0002,
    "CounterRange": 0x0004,
    "ParserTimeout": 0x0010,
}
NO_MATCH: Final = 0x0001
MASK48: Final = (1 << 48) - 1


@dataclass(slots=True)
class GressResult:
    """The result of a gress for a packet; ``metadata`` are the fields that the chip reads."""

    parser_err: int
    frame: bytes = b""
    metadata: dict[str, int] = field(default_factory=dict)
    mirror: tuple[int, bytes] | None = None
    resubmit: bytes | None = None
    digests: tuple[Digest, ...] = ()


class GressThread:
    """Runs packets through one gress.

    Attributes:
        reads_parser_err: whether the control looks at ``parser_err``: ingress drops packets with errors otherwise.
        port_metadata_bytes: bytes that ingress expects between its header and the packet.
        source: the generated Python text.
    """

    def __init__(
        self,
        program: ir.Program,
        gress: Gress,
        direction: str,
        objects: TofinoObjects,
        *,
        seed: int,
        random: Random,
        clock: Callable[[], int],
        steps: Steps,
        generator: Generators = Generator,
        make_target: Callable[..., TnaTarget] = TnaTarget,
    ) -> None:
        layout = CellLayout(program)
        target = make_target(
            program, layout, gress, direction, objects, seed=seed, random=random, clock=clock, steps=steps
        )
        compiled = compile_blocks(program, layout, target, gress.blocks, generator)
        self._cells, self._clock, self._deposits = target.cells, clock, target.deposits
        *self._parsers, self._control, self._deparser = map(self.noted, gress.blocks, compiled.functions)
        self._template, self.source = compiled.template, compiled.source
        self.header = target.cells.intrinsic()
        self.port_metadata_bytes = target.port_metadata_bytes
        self.reads_parser_err = reads(gress.control, "parser_err")
        cells = self._cells
        roles = ("tm", "deparser") if direction == "ingress" else ("deparser",)
        self._wanted = {f.name: cells.field(role, f.name) for role in roles for f in cells.structure(role).fields}
        if direction == "ingress":
            self._template[self._wanted["ucast_egress_port"]] = UNSET_PORT
        for name, value in unset_types(cells.structure("deparser")).items():
            self._template[cells.field("deparser", name)] = value
        self._parser_err = cells.field("parser", "parser_err")
        self._tstamp = cells.field("parser", "global_tstamp")
        self._bits = [ERROR_BITS.get(name, 0) for name in program.errors]
        self._ingress = direction == "ingress"
        self._gress = gress

    def noted(self, block: ir.ParserInstance | ir.ControlInstance, run: Run) -> Run:
        """The function that runs a block."""
        del block
        return run

    def dropped(self, block: object, m: Memory) -> str | None:
        """The reason a packet stops when ``block`` has ended with it; None: it goes on, or this is another block."""
        if block is not self._gress.control:
            return None
        where = "ingress" if self._ingress else "egress"
        return f"drop_ctl is {m[self._wanted['drop_ctl']]} after {where}" if m[self._wanted["drop_ctl"]] & 1 else None

    def run(self, fields: Mapping[str, int], extra: bytes, packet: bytes, channel: int = 0) -> GressResult:
        """Run ``packet`` behind the chip's header with ``fields`` and ``extra`` bytes.

        A packet that the ingress parser drops has no ``metadata``.
        """
        cells = self._cells
        m = self._template.copy()
        m[FRAME] = frame = self.header.pack(fields) + extra + packet
        m[LENGTH], m[cells.wire_length] = len(frame), len(packet) + CHECK_SEQUENCE_BYTES
        m[self._tstamp] = self._clock() * 1000 & MASK48
        try:
            self._parsers[channel % len(self._parsers)](m)
        except ParserFault as fault:
            if fault.code != NO_ERROR:
                m[self._parser_err] = self._bits[fault.code]
        error = m[self._parser_err]
        if self._ingress and error and (error & NO_MATCH or not self.reads_parser_err):
            return GressResult(error)
        for deposit in self._deposits:
            deposit.complete(m)
        self._control(m)
        m[OUTPUT] = []
        self._deparser(m)
        return GressResult(
            error,
            b"".join([*m[OUTPUT], frame[m[CURSOR] :]]),
            {name: m[cell] for name, cell in self._wanted.items()},
            m[cells.mirror] or None,
            m[cells.resubmit][0] if m[cells.resubmit] else None,
            m[cells.digests] or (),
        )


def reads(control: ir.ControlInstance, name: str) -> bool:
    """Whether a control, or what it applies, selects a field of this name."""
    for node in walk.nodes(control, into_declarations=True):
        if isinstance(node, ir.Member):
            base = node.base.type
            fields = getattr(base, "fields", ())
            if node.index < len(fields) and fields[node.index].name == name:
                return True
        if isinstance(node, ir.ApplyCall) and isinstance(node.target, ir.ControlInstance) and reads(node.target, name):
            return True
    return False
