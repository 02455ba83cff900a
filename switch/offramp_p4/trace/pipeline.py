# SPDX-License-Identifier: Apache-2.0
"""The way of a packet through simple_switch, with a trace of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.engine.faults import CheckFailed
from offramp_p4.tm.stages import Emit
from offramp_p4.trace.generator import TracingGenerator
from offramp_p4.trace.model import Cause, PacketTrace, Span
from offramp_p4.trace.spans import Spans, noted_block
from offramp_p4.trace.target import TracedTarget
from offramp_p4.v1model import metadata as md
from offramp_p4.v1model.pipeline import V1Pipeline, _Arrival

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.layout import CellLayout, Memory
    from offramp_p4.state import Replica
    from offramp_p4.v1model.target import V1Target

_COPIES: Final[dict[int, Cause]] = {
    md.NORMAL: "unicast",
    md.REPLICATED: "multicast",
    md.INGRESS_CLONE: "ingress clone",
    md.EGRESS_CLONE: "egress clone",
}
_PASSES: Final[dict[int, Cause]] = {
    md.NORMAL: "arrival",
    md.RECIRCULATED: "recirculate",
    md.RESUBMITTED: "resubmit",
}
_BLOCKS: Final = (
    ("_parse", "p"), ("_verify", "vr"), ("_ingress", "ig"), ("_egress", "eg"), ("_compute", "ck"), ("_deparse", "dep"),
)  # fmt: skip


class TracedPipeline(V1Pipeline):
    """A pipeline whose ``sink`` gets the trace of each packet once all its copies have left."""

    def __init__(self, program: ir.Program, *, sink: Callable[[PacketTrace], object], **options: Any) -> None:
        self._spans = Spans(sink)
        self.recorder = self._spans.recorder
        super().__init__(program, **{**options, "generator": TracingGenerator})
        self._from: dict[int, Span] = {}  # by id of an arrival in the queue
        for attribute, role in _BLOCKS:
            block: Any = program.main.args[role]
            run = getattr(self, attribute)
            noted = noted_block(self.recorder, program.errors, block.name, run, partial(self._after, role))
            setattr(self, attribute, noted)

    def make_target(
        self, program: ir.Program, layout: CellLayout, parser: ir.ParserInstance, **options: Any
    ) -> V1Target:
        """The target of instrumented code."""
        return TracedTarget(program, layout, parser, recorder=self.recorder, **options)

    def run(self, port: int, frame: bytes, emit: Emit) -> None:
        """Send a frame in at ``port`` and hand its trace to the sink."""
        super().run(port, frame, self._spans.begin(port, frame, emit))
        for span in self._from.values():
            span.dropped = f"the packet has used up its {self.max_passes} passes"
        self._from.clear()
        self._spans.end()

    def _take(self, arrival: _Arrival, emit: Emit) -> None:
        parent = self._from.pop(id(arrival), None)
        span = self._spans.open("pass", _PASSES[arrival.kind], arrival.port, parent)
        span.length = len(arrival.frame)
        before = self.recorder.start(span.events)
        super()._take(arrival, emit)
        self._follow(span)
        self.recorder.resume(before)

    def _leave(self, m: Memory, port: int, emit: Emit) -> None:
        outer = self._spans.current
        span = self._spans.open("copy", _COPIES[m[self._fields["instance_type"]]], port, outer)
        span.instance = m[self._fields["egress_rid"]]
        before = self.recorder.start(span.events)
        super()._leave(m, port, emit)
        self._follow(span)
        if span.output is None and not self._goes_on(span) and span.dropped is None:
            span.dropped = f"egress_spec is {self._drop_port}, the drop port, after egress"
        self.recorder.resume(before)
        self._spans.current = outer

    def _replicate(self, m: Memory, replicas: Sequence[Replica], emit: Emit) -> None:
        if not replicas and self._spans.current is not None and m[self._fields["instance_type"]] == md.REPLICATED:
            self._spans.current.dropped = f"multicast group {m[self._fields['mcast_grp']]} has no members"
        super()._replicate(m, replicas, emit)

    def _clone_ingress(self, m: Memory, arrival: _Arrival, emit: Emit) -> None:
        self._note_clone(m, lambda: super(TracedPipeline, self)._clone_ingress(m, arrival, emit))

    def _clone_egress(self, m: Memory, emit: Emit) -> None:
        self._note_clone(m, lambda: super(TracedPipeline, self)._clone_egress(m, emit))

    def _note_clone(self, m: Memory, clone: Callable[[], None]) -> None:
        session, _ = m[self.cells.clone]
        known = session in self.target.objects.pre.clones
        level = self.recorder.enter(self.recorder.add("clone", f"session {session}", known=known))
        clone()
        self.recorder.leave(level)

    def _failed(self, failure: CheckFailed) -> None:
        self._spans.drop(str(failure))
        super()._failed(failure)

    def _exhausted(self) -> None:
        super()._exhausted()
        self._spans.drop("the packet has used up its steps")

    def _follow(self, span: Span) -> None:
        """Remember that the last arrival in the queue, if it is new, comes from ``span``."""
        if self.waiting and id(self.waiting[-1]) not in self._from:
            self._from[id(self.waiting[-1])] = span

    def _goes_on(self, span: Span) -> bool:
        return any(other is span for other in self._from.values())

    def _after(self, role: str, m: Memory) -> None:
        """Note the results that a block has left to the architecture."""
        recorder = self.recorder
        if role == "vr" and m[self.cells.checksum_error]:
            recorder.add("error", "checksum_error")
        if role == "ig" and self._spans.current is not None:
            for digest in m[self.cells.digests] or ():
                recorder.add("digest", digest.name, values=list(digest.values))
            self._spans.current.dropped = self.dropped(self._program.main.args["ig"], m)
