# SPDX-License-Identifier: Apache-2.0
"""The ways of packets through PSA switches and PNA cards, with traces of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.portable import psa
from offramp_p4.portable.functions import RECIRCULATE
from offramp_p4.portable.pipeline import LOOP, Cells, PortableArrival, PortableCopy, PortablePipeline
from offramp_p4.portable.pna import MIRROR, PnaPipeline
from offramp_p4.portable.psa import PsaPipeline
from offramp_p4.portable.target import MoreExterns, PortableTarget, no_more
from offramp_p4.trace.generator import TracingGenerator
from offramp_p4.trace.model import Cause, PacketTrace, Span
from offramp_p4.trace.spans import Spans, noted_block
from offramp_p4.trace.target import TracedPortableTarget

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.layout import Memory
    from offramp_p4.engine.walk import Block
    from offramp_p4.portable.objects import PortableObjects
    from offramp_p4.portable.thread import PortableThread, Signature
    from offramp_p4.tm.stages import Emit

_COPIES: Final[dict[str, Cause]] = {
    psa.UNICAST: "unicast",
    psa.MULTICAST: "multicast",
    psa.CLONE_I2E: "ingress clone",
    psa.CLONE_E2E: "egress clone",
    MIRROR: "mirror",
}
"""Cause of a copy by path; PNA's packets have no paths."""


class _Traced(PortablePipeline):
    """A pipeline whose ``sink`` gets the trace of each packet once all its copies have left."""

    def __init__(self, program: ir.Program, *, sink: Callable[[PacketTrace], object], **options: Any) -> None:
        self._spans = Spans(sink)
        self.recorder = self._spans.recorder
        self._lost: str | None = None  # why the last lost copy of the span was
        self._from: dict[int, tuple[PortableArrival | PortableCopy, Span]] = {}  # of all that wait, by id
        super().__init__(program, **{**options, "generator": TracingGenerator})

    def make_target(self, program: ir.Program, objects: PortableObjects, **options: Any) -> PortableTarget:
        """The target of instrumented code."""
        return TracedPortableTarget(program, objects, recorder=self.recorder, **options)

    def _thread(self, blocks: Sequence[tuple[Block, Signature]], more: MoreExterns = no_more) -> PortableThread:
        thread = super()._thread(blocks, more)
        thread.wrap(partial(noted_block, self.recorder, self._program.errors))
        return thread

    def run(self, port: int, frame: bytes, emit: Emit) -> None:
        """Send a frame in at ``port`` and hand its trace to the sink."""
        super().run(port, frame, self._spans.begin(port, frame, emit))
        for task, span in self._from.values():
            if isinstance(task, PortableArrival):
                span.dropped = f"the packet has used up its {self.max_passes} passes"
        self._from.clear()
        self._spans.end()

    def _checked(self, run: Callable[..., None], *args: Any) -> None:
        """Run a pass or the end of a copy as a span."""
        task = args[0]
        if isinstance(task, PortableArrival):
            cause: Cause = "recirculate" if task.recirculated else "arrival"
            span = self._new_span("pass", "resubmit" if task.path == psa.RESUBMIT else cause, task.port, task)
            span.length = len(task.frame)
        else:
            port = RECIRCULATE if task.port == LOOP else task.port
            span = self._new_span("copy", _COPIES.get(task.path, "unicast"), port, task)
            span.instance = task.instance
        self._within(span, super()._checked, run, *args)

    def _within(self, span: Span, run: Callable[..., None], *args: Any) -> None:
        """Run a function whose events belong to a span; tasks that it leaves waiting come from that span."""
        before, self._lost = self.recorder.start(span.events), None
        try:
            run(*args)
        finally:
            self.recorder.resume(before)
            for task in self.waiting:
                self._from.setdefault(id(task), (task, span))
            if span.output is None and not any(other is span for _, other in self._from.values()):
                span.dropped = span.dropped or self._lost

    def _new_span(self, kind: Any, cause: Cause, port: int, task: PortableArrival | PortableCopy) -> Span:
        parent = self._from.pop(id(task), None)
        return self._spans.open(kind, cause, port, None if parent is None else parent[1])

    def _clone(self, number: int, frame: bytes, path: str, carried: Cells) -> None:
        known = number in self.objects.pre.clones
        level = self.recorder.enter(self.recorder.add("clone", f"session {number}", known=known))
        super()._clone(number, frame, path, carried)
        self.recorder.leave(level)

    def _notify(self, m: Memory, cell: int) -> None:
        for digest in m[cell] or ():
            self.recorder.add("digest", digest.name, values=list(digest.values))
        super()._notify(m, cell)

    def _drop(self, reason: str) -> None:
        self._spans.drop(reason)
        super()._drop(reason)

    def _lose(self, copy: PortableCopy) -> None:
        self.recorder.add("lost", f"port {copy.port}")
        self._lost = f"there is no port {copy.port}"
        super()._lose(copy)

    def _exhausted(self) -> None:
        super()._exhausted()
        self._spans.drop("the packet has used up its steps")
        self._from.clear()


class TracedPsa(_Traced, PsaPipeline):
    """A traced PSA program."""


class TracedPna(_Traced, PnaPipeline):
    """A traced PNA program."""
