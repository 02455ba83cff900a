# SPDX-License-Identifier: Apache-2.0
"""The way of a packet through simple_switch: parser, ingress, replication, egress, deparser.

What happens at the end of ingress and of egress follows bmv2's ``docs/simple_switch.md``, section "Pseudocode
for what happens at the end of ingress and egress processing", and ``targets/simple_switch/simple_switch.cpp``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.engine.compile import compile_blocks
from offramp_p4.engine.faults import CheckFailed, ParserFault
from offramp_p4.engine.generator import Generator, Generators
from offramp_p4.engine.layout import CURSOR, FRAME, GROWTH, LENGTH, OUTPUT, CellLayout, Memory
from offramp_p4.engine.pipeline import EnginePipeline
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.source import Unsupported
from offramp_p4.standard_metadata import FIELDS
from offramp_p4.tm.stages import Deliver, Emit, SwitchStages
from offramp_p4.v1model import metadata as md
from offramp_p4.v1model.blocks import blocks_of
from offramp_p4.v1model.fields import Span
from offramp_p4.v1model.stages import V1Stages
from offramp_p4.v1model.target import V1Target

if TYPE_CHECKING:
    from offramp_p4.state import Replica

_LOG: Final = logging.getLogger(__name__)
MAX_NESTED_CLONES: Final = 47
"""Clones of clones that may be under way at once; the native engine has room for as many."""
Preserved = list[tuple[Span, list[Any]]]


@dataclass(slots=True)
class _Arrival:
    """A packet at the entry of the parser."""

    frame: bytes
    port: int
    kind: int
    preserved: Preserved


class V1Pipeline(EnginePipeline):
    """A compiled v1model program; digests are sent at the end of ingress."""

    def __init__(
        self,
        program: ir.Program,
        *,
        seed: int,
        drop_port: int,
        max_passes: int,
        max_steps: int,
        clock: Callable[[], int],
        generator: Generators = Generator,
    ) -> None:
        super().__init__(max_passes=max_passes, max_steps=max_steps, clock=clock)
        parser, *controls = blocks = list(blocks_of(program).values())
        self._program = program
        assert isinstance(parser, ir.ParserInstance)
        assert all(isinstance(control, ir.ControlInstance) for control in controls)
        layout = CellLayout(program)
        self._nested = 0
        self.target = self.make_target(
            program, layout, parser, seed=seed, drop_port=drop_port, clock=clock, steps=self._steps
        )
        self.objects = self.target.objects
        cells = self.cells = self.target.cells
        bases = {"h": cells.headers, "m": cells.user, "s": cells.standard, "p": None}
        for block, signature in zip(blocks, ("phms", "hm", "hms", "hms", "hm", "ph"), strict=True):
            if len(block.params) != len(signature):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            layout.place_block(block, [bases[kind] for kind in signature])
        compiled = compile_blocks(program, layout, self.target, blocks, generator)
        self.source = compiled.source
        self._parse, self._verify, self._ingress, self._egress, self._compute, self._deparse = compiled.functions
        self._template = compiled.template
        self._template[cells.truncate] = md.UNLIMITED
        self._drop_port = drop_port
        self._fields = {f: cells.field(f) for f in FIELDS}

    def make_target(
        self, program: ir.Program, layout: CellLayout, parser: ir.ParserInstance, **options: Any
    ) -> V1Target:
        """The target to which the generated code refers."""
        return V1Target(program, layout, parser, **options)

    def arrival(self, port: int, frame: bytes) -> _Arrival:
        """A packet from outside."""
        return _Arrival(frame, port, md.NORMAL, [])

    def split(self, deliver: Deliver) -> SwitchStages:
        """The halves; ingress hands each copy for a port to ``deliver``."""
        self.hold(deliver)
        return V1Stages(self, self.cells)

    def _exhausted(self) -> None:
        super()._exhausted()
        self._nested = 0  # clones that were under way have ended

    def _take(self, arrival: _Arrival, emit: Emit) -> None:
        """One pass through parser and ingress, and the egress of every copy that results."""
        self._steps.take(PASS_STEPS)
        m = self._parsed(arrival, arrival.preserved)
        if m is None:
            return
        cells, fields = self.cells, self._fields
        self.stats.passes += 1
        try:
            self._ingress(m)
        except CheckFailed as failure:
            self._failed(failure)
            return
        if m[cells.digests] and self.on_digest is not None:
            for digest in m[cells.digests]:
                self.on_digest(digest)
        if m[cells.clone]:
            self._clone_ingress(m, arrival, emit)
        if m[cells.resubmit]:
            self.stats.resubmissions += 1
            (number,) = m[cells.resubmit]
            self.waiting.append(_Arrival(arrival.frame, 0, md.RESUBMITTED, self._kept(m, number)))
            return
        group = m[fields["mcast_grp"]]
        if group:
            m[fields["instance_type"]] = md.REPLICATED
            self._replicate(m, self.target.objects.pre.multicast.get(group, ()), emit)
            return
        port = m[fields["egress_spec"]]
        if port == self._drop_port:
            self.stats.dropped += 1
            return
        m[fields["instance_type"]] = md.NORMAL
        self._deliver(m, port, emit)

    def _parsed(self, arrival: _Arrival, preserved: Preserved) -> Memory | None:
        """Fresh memory after the parser and the verification of checksums; None if a check has failed there."""
        m = self._template.copy()
        fields = self._fields
        m[FRAME] = arrival.frame
        m[LENGTH] = len(arrival.frame)
        m[fields["ingress_port"]] = arrival.port
        m[fields["packet_length"]] = m[LENGTH]
        m[fields["ingress_global_timestamp"]] = self.target.clock() & _MASK48
        for (first, end), values in preserved:
            m[first:end] = values
        m[fields["instance_type"]] = arrival.kind
        try:
            self._parse(m)
        except ParserFault as fault:
            m[fields["parser_error"]] = fault.code
            self.stats.parse_errors += 1
        except CheckFailed as failure:
            self._failed(failure)
            return None
        try:
            self._verify(m)
        except CheckFailed as failure:
            self._failed(failure)
            return None
        if m[self.cells.checksum_error]:
            m[fields["checksum_error"]] = 1
            self.stats.checksum_errors += 1
        return m

    def _leave(self, m: Memory, port: int, emit: Emit) -> None:
        """Egress and what follows it, for one copy."""
        cells, fields = self.cells, self._fields
        m[fields["egress_port"]] = port
        m[fields["egress_spec"]] = (self._drop_port + 1) & 0x1FF
        m[fields["packet_length"]] = (m[LENGTH] + m[GROWTH]) & 0xFFFFFFFF
        m[fields["egress_global_timestamp"]] = self.target.clock() & _MASK48
        m[cells.clone] = 0
        try:
            self._egress(m)
        except CheckFailed as failure:
            self._failed(failure)
            return
        if m[cells.clone]:
            self._clone_egress(m, emit)
        if m[fields["egress_spec"]] == self._drop_port:
            self.stats.dropped += 1
            return
        m[OUTPUT] = []
        try:
            self._compute(m)
            self._deparse(m)
        except CheckFailed as failure:
            self._failed(failure)
            return
        frame = b"".join([*m[OUTPUT], m[FRAME][m[CURSOR] :]])
        if len(frame) > m[cells.truncate]:
            frame = frame[: m[cells.truncate]]
            self.stats.truncated += 1
        if m[cells.recirculate]:
            self.stats.recirculations += 1
            (number,) = m[cells.recirculate]
            self.waiting.append(_Arrival(frame, 0, md.RECIRCULATED, self._kept(m, number)))
            return
        self.stats.packets_out += 1
        emit((port, frame))

    def dropped(self, block: object, m: Memory) -> str | None:
        """The reason that a packet goes no further when ``block`` has ended with it; None: it goes on."""
        roles, fields = self._program.main.args, self._fields
        if block not in (roles["ig"], roles["eg"]) or m[fields["egress_spec"]] != self._drop_port:
            return None
        if block is roles["ig"] and (m[self.cells.resubmit] or m[fields["mcast_grp"]]):
            return None
        where = "ingress" if block is roles["ig"] else "egress"
        return f"egress_spec is {self._drop_port}, the drop port, after {where}"

    def _replicate(self, m: Memory, replicas: Sequence[Replica], emit: Emit) -> None:
        if not replicas:
            self.stats.dropped += 1
        self.stats.replicas += len(replicas)
        for replica in replicas:
            self._steps.take(PASS_STEPS)
            copy = m.copy()
            copy[self._fields["egress_rid"]] = replica.instance
            self._deliver(copy, replica.port, emit)

    def _clone_ingress(self, m: Memory, arrival: _Arrival, emit: Emit) -> None:
        """A clone of the packet as it came in, parsed again; of the metadata only the field list is kept."""
        session, number = m[self.cells.clone]
        m[self.cells.clone] = 0
        if session not in self.target.objects.pre.clones:
            return
        kept = self._kept(m, number)
        copy = self._parsed(_Arrival(arrival.frame, arrival.port, md.NORMAL, []), [])
        if copy is None:
            return
        self._reset_metadata(copy, kept, md.INGRESS_CLONE)
        self._send_clones(copy, session, emit)

    def _clone_egress(self, m: Memory, emit: Emit) -> None:
        """A clone of the packet as egress has left it, which starts with egress."""
        session, number = m[self.cells.clone]
        m[self.cells.clone] = 0
        if session not in self.target.objects.pre.clones:
            return
        copy = self._template.copy()
        for first, end in ((FRAME, LENGTH + 1), (GROWTH, GROWTH + 1), (self.cells.headers, self.cells.headers_end)):
            copy[first:end] = m[first:end]
        self._reset_metadata(copy, self._kept(m, number), md.EGRESS_CLONE)
        self._send_clones(copy, session, emit)

    def _reset_metadata(self, m: Memory, kept: Preserved, kind: int) -> None:
        first, end = self.cells.user, self.cells.end
        m[first:end] = self._template[first:end]
        for (start, stop), values in kept:
            m[start:stop] = values
        m[self._fields["instance_type"]] = kind

    def _send_clones(self, m: Memory, session: int, emit: Emit) -> None:
        if self._nested == MAX_NESTED_CLONES:
            self.stats.looped += 1
            return
        config = self.target.objects.pre.clones[session]
        self.stats.clones += len(config.replicas)
        if config.packet_length:
            m[self.cells.truncate] = config.packet_length
        self._nested += 1
        self._replicate(m, config.replicas, emit)
        self._nested -= 1

    def _kept(self, m: Memory, number: int) -> Preserved:
        return [(span, m[span[0] : span[1]]) for span in self.target.field_lists.get(number, ())]

    def _failed(self, failure: CheckFailed) -> None:
        _LOG.error("%s: packet dropped", failure)
        self.stats.failed_checks += 1
        self.stats.dropped += 1


_MASK48: Final = (1 << 48) - 1
