# SPDX-License-Identifier: Apache-2.0
"""The way of a packet through a Tofino, with a trace of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.tm.stages import Emit
from offramp_p4.tna.metadata import UNSET_PORT
from offramp_p4.tna.pipeline import TnaPipeline
from offramp_p4.tna.stages import EgressCopy, IngressArrival
from offramp_p4.tna.thread import GressResult, GressThread
from offramp_p4.trace.generator import TracingGenerator
from offramp_p4.trace.model import Cause, PacketTrace, Span
from offramp_p4.trace.recorder import Recorder
from offramp_p4.trace.spans import Spans, noted_block
from offramp_p4.trace.target import TracedTnaTarget

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.generator import Run

_OUTSIDE: Final[tuple[None, Cause]] = None, "arrival"


class TracedThread(GressThread):
    """A gress whose blocks report to a recorder."""

    def __init__(self, program: ir.Program, *args: Any, recorder: Recorder, pipe: str, **options: Any) -> None:
        self._recorder, self._pipe, self._errors = recorder, pipe, program.errors
        super().__init__(program, *args, make_target=partial(TracedTnaTarget, recorder=recorder), **options)

    def noted(self, block: ir.ParserInstance | ir.ControlInstance, run: Run) -> Run:
        """The function that runs a block, and notes its events within one of its own."""
        return noted_block(self._recorder, self._errors, f"{self._pipe}.{block.name}", run)


class TracedTnaPipeline(TnaPipeline):
    """A chip whose ``sink`` gets the trace of each packet once all its copies have left."""

    def __init__(self, program: ir.Program, *, sink: Callable[[PacketTrace], object], **options: Any) -> None:
        self._spans = Spans(sink)
        self.recorder = self._spans.recorder
        super().__init__(program, **{**options, "generator": TracingGenerator})
        self._from: dict[int, tuple[Span, Cause]] = {}  # by id of what is in the queue
        self._causes: dict[int, Cause] = {}  # by id of a copy that ingress makes
        self._drop_ctl = 0  # of the gress that has ended last

    def make_thread(self, *args: Any, pipe: str, **options: Any) -> GressThread:
        """A gress of a pipe, which tells the recorder."""
        return TracedThread(*args, recorder=self.recorder, pipe=pipe, **options)

    def run(self, port: int, frame: bytes, emit: Emit) -> None:
        """Send a frame in at ``port`` and hand its trace to the sink."""
        exhausted = self.stats.exhausted
        super().run(port, frame, self._spans.begin(port, frame, emit))
        reason = f"the packet has used up its {self.max_passes} passes"
        if self.stats.exhausted > exhausted:
            reason = self._spans.trace.spans[-1].dropped = "the packet has used up its steps"
        for span, _ in self._from.values():
            span.dropped = reason
        self._from.clear()
        self._causes.clear()
        self._spans.end()

    # --- ingress

    def _enter(self, arrival: IngressArrival, emit: Emit) -> None:
        parent, cause = self._from.pop(id(arrival), _OUTSIDE)
        span = self._spans.open("pass", cause, arrival.port, parent)
        span.length = len(arrival.frame)
        before = self.recorder.start(span.events)
        super()._enter(arrival, emit)
        if not self._ends_somewhere(span):
            span.dropped = "the parser drops it"
        self.recorder.resume(before)
        self._spans.current = span

    def _forward(self, out: GressResult, arrival: IngressArrival, emit: Emit) -> None:
        span = self._spans.current
        assert span is not None
        for digest in out.digests:
            self.recorder.add("digest", digest.name, values=list(digest.values))
        waiting = len(self.waiting)
        super()._forward(out, arrival, emit)
        self._spans.current = span
        self._follow(waiting, span, "resubmit")
        drop = out.metadata["drop_ctl"]
        if any(child.cause in ("unicast", "multicast", "CPU") for child in self._spans.trace.children(span)):
            return
        if drop & 1:
            span.dropped = f"drop_ctl is {drop} after ingress"
        elif out.resubmit is not None:
            if arrival.resubmitted is not None:
                span.dropped = "it has been resubmitted before"
        else:
            span.dropped = "there is no port to send it to after ingress"

    def _copies(self, out: GressResult) -> list[EgressCopy]:
        copies = super()._copies(out)
        unicast = out.metadata["ucast_egress_port"] != UNSET_PORT
        for i, copy in enumerate(copies):
            self._causes[id(copy)] = "unicast" if unicast and i == 0 else "multicast"
        return copies

    def _mirror(self, out: GressResult, packet: bytes) -> None:
        if out.mirror is not None and self._spans.current is not None:
            known = out.mirror[0] in self.objects.pre.clones
            self.recorder.add("clone", f"session {out.mirror[0]}", known=known)
        self._drop_ctl = out.metadata["drop_ctl"]
        waiting = len(self.waiting)
        super()._mirror(out, packet)
        if self._spans.current is not None:
            self._follow(
                waiting, self._spans.current, "ingress clone" if self._spans.current.kind == "pass" else "egress clone"
            )

    # --- egress

    def _leave(self, copy: EgressCopy, port: int, emit: Emit) -> None:
        outer = self._spans.current
        parent, cause = self._from.pop(id(copy), (outer, self._causes.pop(id(copy), "CPU")))
        span = self._spans.open("copy", cause, copy.port, parent)
        span.instance = copy.rid
        before = self.recorder.start(span.events)
        waiting = len(self.waiting)
        super()._leave(copy, port, emit)
        self._follow(waiting, span, "recirculate")
        if span.output is None and span.dropped is None and not self._goes_on(span, "recirculate"):
            exists = self._exists(copy.port)
            span.dropped = f"drop_ctl is {self._drop_ctl} after egress" if exists else f"there is no port {copy.port}"
        self.recorder.resume(before)
        self._spans.current = outer if outer is not None else span

    # --- both

    def _follow(self, waiting: int, span: Span, cause: Cause) -> None:
        """Remember that the tasks in the queue behind the first ``waiting`` come from ``span``."""
        for task in list(self.waiting)[waiting:]:
            self._from.setdefault(id(task), (span, cause))

    def _goes_on(self, span: Span, cause: Cause) -> bool:
        return any(each == (span, cause) for each in self._from.values())

    def _ends_somewhere(self, span: Span) -> bool:
        """Whether the outcome of a pass is known."""
        on = any(other is span for other, _ in self._from.values())
        return span.dropped is not None or on or any(True for _ in self._spans.trace.children(span))
