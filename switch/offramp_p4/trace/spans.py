# SPDX-License-Identifier: Apache-2.0
"""The common base of all architectures' traced pipelines: a packet's spans, and blocks that note their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from offramp_p4.engine.faults import ParserFault
from offramp_p4.trace.model import Cause, PacketTrace, Span
from offramp_p4.trace.recorder import Recorder

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Run
    from offramp_p4.engine.layout import Memory
    from offramp_p4.tm.stages import Emit


class Spans:
    """Puts together the trace of one packet after the other.

    Args:
        sink: gets each trace at its :meth:`end`.

    Attributes:
        recorder: the recorder of instrumented code.
        trace: trace of the packet under way.
        current: the span that runs; None before the first.
    """

    def __init__(self, sink: Callable[[PacketTrace], object]) -> None:
        self.recorder = Recorder(getattr(sink, "lines", None), full=getattr(sink, "full", False))
        self.trace = PacketTrace(0, 0, b"")
        self.current: Span | None = None
        self._sink = sink
        self._packets = 0

    def begin(self, port: int, frame: bytes, emit: Emit) -> Emit:
        """A frame comes in at ``port``; returns what takes its outputs, notes them and hands them to ``emit``."""
        self.trace = PacketTrace(self._packets, port, frame)
        self._packets += 1
        self.current = None

        def emitted(output: tuple[int, bytes]) -> None:
            assert self.current is not None
            self.current.output = output
            emit(output)

        return emitted

    def open(self, kind: Literal["pass", "copy"], cause: Cause, port: int, parent: Span | None) -> Span:
        """A span of the packet, which becomes the current one."""
        span = self.current = Span(len(self.trace.spans), None if parent is None else parent.id, kind, cause, port)
        self.trace.spans.append(span)
        return span

    def drop(self, reason: str) -> None:
        """Say of the current span why nothing leaves."""
        if self.current is not None:
            self.current.dropped = reason

    def end(self) -> None:
        """The packet and all its copies have left."""
        self._sink(self.trace)


def noted_block(
    recorder: Recorder, errors: Sequence[str], name: str, run: Run, after: Callable[[Memory], object] | None = None
) -> Run:
    """A block that notes its events within one of its own, which vanishes if there are none; then ``after``."""

    def noted(m: Memory) -> object:
        level = recorder.enter(recorder.add("block", name))
        try:
            return run(m)
        except ParserFault as fault:
            recorder.add("error", errors[fault.code])
            raise
        finally:
            recorder.leave(level)
            if not recorder.last.events:
                recorder.forget_last()
            if after is not None:
                after(m)

    return noted
