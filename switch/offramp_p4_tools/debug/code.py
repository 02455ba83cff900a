# SPDX-License-Identifier: Apache-2.0
"""Debuggable code: the locations at which a packet can be held, and where the code tells that one is reached."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from offramp_p4 import ir
from offramp_p4.engine.layout import FRAME, LENGTH
from offramp_p4_tools.debug.expressions import DebugExpressions

if TYPE_CHECKING:
    from types import FrameType

    from offramp_p4.debugging import Dropped
    from offramp_p4.engine.faults import ParserFault
    from offramp_p4.engine.generator import GeneratorTarget, Run
    from offramp_p4.engine.layout import CellLayout, Memory
    from offramp_p4.source import Pos
    from offramp_p4.switch import Switch

HERE = "here"
"""The variable of a generated function that holds the number of the location reached last."""
Kind = Literal["parser", "control", "state", "table", "action", "function"]


@dataclass(frozen=True, slots=True, eq=False)
class CallFrame:
    """An entry of the call stack; ``name`` is the control plane's, and for a state the parser's name comes first."""

    kind: Kind
    name: str
    node: ir.ParserState | ir.MatchTable | ir.Action | ir.UserFunction | ir.ParserInstance | ir.ControlInstance


@dataclass(frozen=True, slots=True)
class Location:
    """A place at which a packet can be held.

    Attributes:
        entry: whether it is the first of its frame, which breakpoints by name mean.
        variables: variables in scope, those declared further in last.
    """

    pos: Pos
    frame: CallFrame
    entry: bool
    variables: tuple[ir.Var, ...]


class LocationObserver(Protocol):
    """Receives the locations that packets reach."""

    stepping: bool

    def reached(self, code: DebugCode, number: int, m: Memory, frame: FrameType) -> None:
        """A location that is armed, or any while ``stepping``."""

    def failed(self, code: DebugCode, fault: ParserFault) -> None:
        """A parser error, or reject, that leaves a block."""

    def ended(self, code: DebugCode, block: ir.ControlInstance, m: Memory) -> None:
        """A control that the architecture called has ended."""


class DebugCode:
    """The debuggable code of a pipeline, or of a gress of one.

    Attributes:
        locations: locations by number; 0 is none.
        armed: numbers of those with breakpoints.
        file: the name under which Python knows the generated module.
        expressions: evaluates what clients ask about packets in this code.
        switch: that runs it, once it is loaded; ``dropped`` says why its architecture drops a packet.
    """

    def __init__(
        self, observer: LocationObserver, program: ir.Program, layout: CellLayout, target: GeneratorTarget
    ) -> None:
        self.program, self.layout, self.target = program, layout, target
        self.locations: list[Location | None] = [None]
        self.armed: frozenset[int] = frozenset()
        self.file = f"<{program.file}>"
        self.expressions = DebugExpressions(self)
        self.switch: Switch | None = None
        self.dropped: Dropped | None = None
        self._observer = observer

    def at(self, m: Memory, number: int) -> int:
        """Called by the generated code before each statement; returns ``number``, which is true."""
        if number in self.armed or self._observer.stepping:
            self._observer.reached(self, number, m, sys._getframe(1))
        return number

    def location(self, number: int) -> Location:
        """The location of this number."""
        location = self.locations[number]
        assert location is not None
        return location

    def observed(self, block: ir.ParserInstance | ir.ControlInstance, run: Run) -> Run:
        """``run``, which tells how it ended."""
        from offramp_p4.engine.faults import ParserFault

        def debugged(m: Memory) -> object:
            try:
                result = run(m)
            except ParserFault as fault:
                self._observer.failed(self, fault)
                raise
            if isinstance(block, ir.ControlInstance):
                self._observer.ended(self, block, m)
            return result

        return debugged


def stack(code: DebugCode, frame: FrameType, number: int) -> list[tuple[Location, Memory]]:
    """The frames of a packet that has reached a location, innermost first."""
    frames = [(code.location(number), frame.f_locals["m"])]
    outer = frame.f_back
    while outer is not None:
        if outer.f_code.co_filename == code.file and HERE in outer.f_locals:
            frames.append((code.location(outer.f_locals[HERE]), outer.f_locals["m"]))
        outer = outer.f_back
    return frames


def depth(code: DebugCode, frame: FrameType) -> int:
    """Number of frames that :func:`stack` would find."""
    count, outer = 1, frame.f_back
    while outer is not None:
        count += outer.f_code.co_filename == code.file and HERE in outer.f_locals
        outer = outer.f_back
    return count


def left_stack(code: DebugCode, fault: ParserFault) -> list[tuple[Location, Memory]]:
    """The frames that an error has left, innermost first."""
    frames, traceback = [], fault.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename == code.file and HERE in frame.f_locals:
            frames.append((code.location(frame.f_locals[HERE]), frame.f_locals["m"]))
        traceback = traceback.tb_next
    return frames[::-1]


def frame_bytes(m: Memory) -> bytes:
    """The bytes of the frame that the parser reads."""
    data: bytes = m[FRAME]
    return data[: m[LENGTH]]
