# SPDX-License-Identifier: Apache-2.0
"""The debugger of a switch: it holds packets for a client, and lets them go.

Packets are held in the engine's thread. Everything else is called by the client's: while nothing is held it changes
what the next packet meets, and while a packet is held it looks at it. Without a client nothing is ever held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from offramp_p4_tools.debug.breakpoints import Breakpoint
from offramp_p4_tools.debug.code import DebugCode, depth, left_stack, stack
from offramp_p4_tools.debug.generator import DebugGenerator
from offramp_p4_tools.debug.stops import HeldPacket, How, Reason, StepTarget, Stop

if TYPE_CHECKING:
    from types import FrameType

    from offramp_p4 import ir
    from offramp_p4.debugging import Dropped
    from offramp_p4.engine.faults import ParserFault
    from offramp_p4.engine.generator import Generators, GeneratorTarget
    from offramp_p4.engine.layout import CellLayout, Memory
    from offramp_p4.switch import Switch
    from offramp_p4.tm.stages import Emit
    from offramp_p4_tools.debug.code import Location

_NOTHING = HeldPacket(-1, 0, b"")


class PacketObserver(Protocol):
    """Receives the packets that are held; called in the engine's thread."""

    def stopped(self, stop: Stop) -> None:
        """A packet is held."""

    def wrote(self, text: str, location: Location) -> None:
        """A breakpoint's message."""

    def loaded(self) -> None:
        """There is a new program; breakpoints have been placed in it."""


class Debugger:
    """Holds the packets of one switch.

    Attributes:
        stepping: whether every location is looked at.
        stop: the packet at which execution has stopped, or None.
        program: the program loaded last.
        errors, drops: whether parser errors, and packets that are dropped, are held.
    """

    def __init__(self) -> None:
        self.stepping = False
        self.stop: Stop | None = None
        self.program: ir.Program | None = None
        self.errors = self.drops = False
        self._client: PacketObserver | None = None
        self._steps: SimpleQueue[StepTarget | None] = SimpleQueue()
        self._lock = threading.RLock()
        self._step: StepTarget | None = None
        self._run = 0
        self._packet, self._packets = _NOTHING, 0
        self._codes: WeakSet[DebugCode] = WeakSet()
        self._loading: list[DebugCode] = []
        self._breakpoints: list[Breakpoint] = []

    # --- what a switch calls

    @property
    def generator(self) -> Generators:
        """Makes the generator of debuggable code for the program that is being loaded."""

        def make(program: ir.Program, layout: CellLayout, target: GeneratorTarget) -> DebugGenerator:
            generator = DebugGenerator(program, layout, target, observer=self)
            self._loading.append(generator.code)
            return generator

        return make

    def loading(self) -> None:
        """A program is about to be compiled."""
        self._loading = []

    def loaded(self, switch: Switch, dropped: Dropped | None) -> None:
        """The program is compiled, and ``switch`` runs it; the one before may run on."""
        for code in self._loading:
            code.switch, code.dropped = switch, dropped
        with self._lock:
            self._codes.update(self._loading)
            self.program = switch.program
            self._arm()
        self._loading = []
        client = self._client
        if client is not None:
            client.loaded()

    def packets(self, run: Callable[[int, bytes, Emit], None]) -> Callable[[int, bytes, Emit], None]:
        """``run``, which runs a packet, so that packets are counted."""

        def counted(port: int, frame: bytes, emit: Emit) -> None:
            self._packet = HeldPacket(self._packets, port, frame)
            self._packets += 1
            run(port, frame, emit)

        return counted

    # --- what the generated code calls

    def reached(self, code: DebugCode, number: int, m: Memory, frame: FrameType) -> None:
        """Stop the packet if it should stop here."""
        reason: Reason | None = None
        step = self._step
        if step is not None:
            level = depth(code, frame)
            location = code.location(number)
            if level == 1 and location.entry:
                self._run += 1
            if step.ends(level, self._run, self._packet.number):
                reason = step.reason
        hit = [b for b in self._breakpoints if number in code.armed and b.holds(code, number, m)]
        for each in [b for b in hit if b.message]:
            self._write(each.text(code, number, m), code.location(number))
            hit.remove(each)
        if hit:
            reason = "function breakpoint" if hit[0].name else "breakpoint"
        if reason is not None:
            numbers = tuple(b.number for b in hit)
            self._hold(Stop(reason, code, tuple(stack(code, frame, number)), self._packet, "", numbers))

    def failed(self, code: DebugCode, fault: ParserFault) -> None:
        """Hold a packet that a parser refuses, where it does so."""
        left = tuple(left_stack(code, fault)) if self.errors else ()
        if left:
            name = code.program.errors[fault.code] if fault.code else "reject"
            self._hold(Stop("exception", code, left, self._packet, f"parser error: {name}" if fault.code else name))

    def ended(self, code: DebugCode, block: ir.ControlInstance, m: Memory) -> None:
        """Hold a packet that is dropped at the end of a control."""
        text = code.dropped(block, m) if self.drops and code.dropped else None
        if text is not None:
            location = next(s for s in code.locations if s is not None and s.frame.node is block)
            self._hold(Stop("exception", code, ((location, m),), self._packet, text))

    # --- what a client calls

    def enter(self, client: PacketObserver) -> bool:
        """Become the client; False: there is one."""
        with self._lock:
            if self._client is not None:
                return False
            self._client = client
            return True

    def leave(self, client: PacketObserver) -> bool:
        """Let everything run, as if there had never been a client; returns whether a packet was held."""
        with self._lock:
            if self._client is not client:
                return False
            stopped = self.stop is not None
            self._client = None
            self.errors = self.drops = False
            self.set_breakpoints([])
        self._set_step(None)
        self._steps.put(None)
        return stopped

    def close(self) -> None:
        """Let everything run for good; may be called from a signal handler."""
        self._client = None
        self._set_step(None)
        self._steps.put(None)

    def go(self, how: How | None = None) -> None:
        """Let the packet that is held go on: until a breakpoint, or as far as a step goes."""
        stop = self.stop
        if stop is not None:
            self._steps.put(None if how is None else StepTarget(how, len(stop.stack), self._run, stop.packet.number))

    def pause(self, reason: Reason = "pause") -> None:
        """Stop the next packet, or the running one wherever it is."""
        self._set_step(StepTarget("in", reason=reason))

    def set_breakpoints(self, wanted: Sequence[Breakpoint]) -> None:
        """Have these breakpoints and no others; each then says where it stands, or why it does not."""
        with self._lock:
            for each in self._breakpoints:
                each.forget()
            self._breakpoints = list(wanted)
            self._arm()

    @property
    def breakpoints(self) -> Sequence[Breakpoint]:
        """The breakpoints that are set."""
        return tuple(self._breakpoints)

    @property
    def codes(self) -> Sequence[DebugCode]:
        """The code of the program, of each gress where there are several."""
        return tuple(self._codes)

    # --- within

    def _arm(self) -> None:
        with self._lock:
            armed: dict[DebugCode, set[int]] = {code: set() for code in self._codes}
            for each in self._breakpoints:
                for code, number in each.arm(armed):
                    armed[code].add(number)
            for code, numbers in armed.items():
                code.armed = frozenset(numbers)

    def _hold(self, stop: Stop) -> None:
        while not self._steps.empty():
            self._steps.get()
        self.stop = stop
        client = self._client
        if client is not None:  # who leaves after this line is heard below
            client.stopped(stop)
            self._set_step(self._steps.get())
        self.stop = None

    def _set_step(self, step: StepTarget | None) -> None:
        self._step = step
        self.stepping = step is not None

    def _write(self, text: str, location: Location) -> None:
        client = self._client
        if client is not None:
            client.wrote(text, location)
