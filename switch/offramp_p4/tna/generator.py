# SPDX-License-Identifier: Apache-2.0
"""The packet generator: applications that make packets when a timer ends, a port goes down or a packet recirculates.

Each pipe has one. A trigger makes batches of packets; they enter the pipe's ingress with six bytes in front, which say
what has made them, and a part of a buffer behind. Time is the switch's: nanoseconds, which the caller moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

from offramp_p4.state.match import StateError
from offramp_p4.tna.ports import PORTS_PER_PIPE, RECIRCULATION_PORT

APPS: Final = 8
"""Applications of a Tofino."""
BUFFER_BYTES: Final = 16384
_ALIGNMENT: Final = 16
PATTERN_BYTES: Final = 4
"""Bytes compared at the start of a recirculated packet; the last three are the key in the generated header."""
_MASK16: Final = 0xFFFF
_MASK24: Final = 0xFFFFFF


class Trigger(Enum):
    """The trigger of an application, by the name of its action in BF-RT."""

    ONE_SHOT = "trigger_timer_one_shot"
    PERIODIC = "trigger_timer_periodic"
    PORT_DOWN = "trigger_port_down"
    RECIRCULATION = "trigger_recirc_pattern"


@dataclass(frozen=True, slots=True)
class App:
    """The configuration of an application, the same in every pipe.

    Attributes:
        timer_ns: time from its being enabled to the first trigger, and between those of a periodic one.
        pattern, mask: compared with the first four bytes of a recirculated packet, where the mask's bits are 1.
        batches, packets: number of batches that a trigger makes, and of packets in each.
        batch_gap_ns, packet_gap_ns: least time between the starts of two.
        length, offset: length and offset of the part of the buffer that is behind the header.
        source_port: within the pipe, where the packets come in.
        counts_ports: whether the port is one more for each packet of a batch.
    """

    trigger: Trigger = Trigger.ONE_SHOT
    timer_ns: int = 0
    pattern: int = 0
    mask: int = 0
    batches: int = 1
    packets: int = 1
    batch_gap_ns: int = 0
    packet_gap_ns: int = 0
    length: int = 60
    offset: int = 0
    source_port: int = RECIRCULATION_PORT
    counts_ports: bool = False

    def check(self) -> None:
        """Check that the chip can do it.

        Raises:
            StateError: it cannot.
        """
        if self.offset % _ALIGNMENT or not 0 <= self.offset <= self.offset + self.length <= BUFFER_BYTES:
            raise StateError(
                "invalid",
                f"packet generator: {self.length} bytes at {self.offset}: the buffer has {BUFFER_BYTES}, and a packet "
                f"begins at a multiple of {_ALIGNMENT}",
            )
        if not (0 < self.batches <= 1 << 16 and 0 < self.packets <= 1 << 16):
            raise StateError("invalid", f"packet generator: {self.batches} batches of {self.packets} packets")
        last = self.source_port + (self.packets - 1 if self.counts_ports else 0)
        if not 0 <= self.source_port <= last < PORTS_PER_PIPE:
            raise StateError("invalid", f"packet generator: packets from ports {self.source_port} to {last} of a pipe")
        if self.trigger is Trigger.PERIODIC and self.timer_ns <= 0:
            raise StateError("invalid", "packet generator: a periodic timer of 0 ns")


@dataclass(slots=True)
class GeneratorCounts:
    """Counts of an application in one pipe."""

    triggers: int = 0
    batches: int = 0
    packets: int = 0


@dataclass(slots=True)
class _Timer:
    """A timer of an application in a pipe, until it ends."""

    app: int
    pipe: int
    run: int


@dataclass(slots=True)
class _Burst:
    """Packets of a trigger that are still due; ``note`` stands in their header in place of the batch's number."""

    app: int
    pipe: int
    run: int
    note: int | None
    batch: int = 0
    packet: int = 0
    batch_start_ns: int = 0


@dataclass(slots=True)
class _State:
    """An application: its configuration, whether it is enabled, and how often that has changed."""

    app: App
    counts: list[GeneratorCounts]
    enabled: bool = False
    run: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """A packet that the generator makes: when, where it comes in, and its bytes."""

    time_ns: int
    port: int
    frame: bytes


@dataclass
class PacketGenerator:
    """The packet generators of all pipes, which are configured alike.

    A port that goes down triggers once; :meth:`watch` has it trigger again. At first no port is watched.

    Attributes:
        pipes: number of pipes.
        buffer: the bytes that packets are made of.
        generating: ports that let generated packets in, of port 68 of each pipe.
        matching: ports whose recirculated packets are compared with patterns.
    """

    pipes: int
    buffer: bytearray = field(default_factory=lambda: bytearray(BUFFER_BYTES))
    generating: set[int] = field(default_factory=set)
    matching: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._order = count()
        self.reset()

    def reset(self) -> None:
        """Delete the configuration."""
        self._apps = [_State(App(), [GeneratorCounts() for _ in range(self.pipes)]) for _ in range(APPS)]
        self._events: list[tuple[int, int, _Timer | _Burst]] = []
        self._watched: set[int] = set()
        self._down: set[int] = set()
        self.buffer[:] = bytes(BUFFER_BYTES)
        self.generating.clear()
        self.matching.clear()

    # --- configuration

    def configure(self, number: int, app: App) -> None:
        """Configure an application; its due packets are discarded, and it is disabled.

        Raises:
            StateError: there is no such application, or the chip cannot do that.
        """
        state = self._state(number)
        app.check()
        self.enable(number, enabled=False, now_ns=0)
        state.app = app

    def change(self, number: int, **changes: Any) -> None:
        """Change some of the configuration of an application, as :meth:`configure`."""
        self.configure(number, replace(self._state(number).app, **changes))

    def enable(self, number: int, *, enabled: bool = True, now_ns: int) -> None:
        """Let an application begin at a time, or stop it. One that has begun is not begun again."""
        state = self._state(number)
        if enabled == state.enabled:
            return
        state.enabled = enabled
        state.run += 1
        self._events = [each for each in self._events if each[2].app != number]
        self._events.sort()
        if enabled and state.app.trigger in (Trigger.ONE_SHOT, Trigger.PERIODIC):
            for pipe in range(self.pipes):
                self._at(now_ns + state.app.timer_ns, _Timer(number, pipe, state.run))

    def app(self, number: int) -> App:
        """The configuration of an application."""
        return self._state(number).app

    def enabled(self, number: int) -> bool:
        """Whether an application may begin."""
        return self._state(number).enabled

    def counts(self, number: int) -> list[GeneratorCounts]:
        """The counts of an application in each pipe."""
        return self._state(number).counts

    def fill(self, offset: int, data: bytes) -> None:
        """Write bytes into the buffer.

        Raises:
            StateError: they do not fit.
        """
        self.check_part(offset, len(data))
        self.buffer[offset : offset + len(data)] = data

    def check_part(self, offset: int, size: int) -> None:
        """Check that the buffer has a part.

        Raises:
            StateError: it has not, or the part does not begin where a packet may.
        """
        App(offset=offset, length=size).check()

    def watch(self, port: int) -> None:
        """Have a port trigger when it goes down next."""
        self._watched.add(port)

    # --- what triggers

    def set_link(self, port: int, *, up: bool, now_ns: int) -> None:
        """A port has come up, or has gone down."""
        before, self._down = port in self._down, self._down - {port} if up else self._down | {port}
        pipe = port // PORTS_PER_PIPE
        if up or before or port not in self._watched or not 0 <= pipe < self.pipes:
            return
        self._watched.remove(port)
        for number, state in enumerate(self._apps):
            if state.enabled and state.app.trigger is Trigger.PORT_DOWN:
                self._trigger(number, pipe, now_ns, port)

    def recirculated(self, port: int, head: int, now_us: int) -> None:
        """A packet with these first four bytes has been sent to a port that leads back."""
        for number, state in enumerate(self._apps):
            if port in self.matching and _matches(state, head):
                self._trigger(number, port // PORTS_PER_PIPE, now_us * 1000, head & _MASK24)

    @property
    def patterns(self) -> list[tuple[int, int, int]]:
        """Port, pattern and mask of what recirculated packets are compared with."""
        return [
            (port, state.app.pattern, state.app.mask)
            for port in sorted(self.matching)
            for state in self._apps
            if state.enabled and state.app.trigger is Trigger.RECIRCULATION
        ]

    def _trigger(self, number: int, pipe: int, now_ns: int, note: int | None) -> None:
        state = self._apps[number]
        state.counts[pipe].triggers += 1
        self._at(now_ns, _Burst(number, pipe, state.run, note, batch_start_ns=now_ns))

    # --- what it makes

    @property
    def next_ns(self) -> int | None:
        """Time of the next event in nanoseconds; None: there is none."""
        return self._events[0][0] if self._events else None

    @property
    def active(self) -> bool:
        """Whether there may be something to do now or when packets have run."""
        return bool(self._events or self.matching)

    def due(self, until_ns: int, most: int) -> tuple[list[Generated], int]:
        """The packets that are due by a time, in order of time.

        At most ``most`` events are gone through; the second result says how many were.
        """
        packets: list[Generated] = []
        for done in range(most):
            if not self._events or self._events[0][0] > until_ns:
                return packets, done
            now_ns, _, event = heappop(self._events)
            if isinstance(event, _Timer):
                self._end(event, now_ns)
            else:
                packets += self._next_packet(event, now_ns)
        return packets, most

    def _end(self, timer: _Timer, now_ns: int) -> None:
        state = self._apps[timer.app]
        self._trigger(timer.app, timer.pipe, now_ns, None)
        if state.app.trigger is Trigger.PERIODIC:
            self._at(now_ns + state.app.timer_ns, timer)

    def _next_packet(self, burst: _Burst, now_ns: int) -> list[Generated]:
        """The next packet of a trigger, if the pipe's port lets it in."""
        state = self._apps[burst.app]
        app, counts = state.app, state.counts[burst.pipe]
        header = self._header(burst)
        port = PORTS_PER_PIPE * burst.pipe + app.source_port + (burst.packet if app.counts_ports else 0)
        counts.packets += 1
        counts.batches += burst.packet == 0
        burst.packet += 1
        following = now_ns + app.packet_gap_ns
        if burst.packet == app.packets:
            burst.packet, burst.batch = 0, burst.batch + 1
            following = burst.batch_start_ns = max(following, burst.batch_start_ns + app.batch_gap_ns)
        if burst.batch < app.batches:
            self._at(following, burst)
        if PORTS_PER_PIPE * burst.pipe + RECIRCULATION_PORT not in self.generating:
            return []
        return [Generated(now_ns, port, header + self.buffer[app.offset : app.offset + app.length])]

    def _header(self, burst: _Burst) -> bytes:
        """Pipe and application, then 24 bits: the batch, or what has triggered; then the packet's number."""
        note = burst.batch & _MASK16 if burst.note is None else burst.note
        header = (burst.pipe << 3 | burst.app) << 40 | note << 16 | burst.packet & _MASK16
        return header.to_bytes(6, "big")

    def _at(self, time_ns: int, event: _Timer | _Burst) -> None:
        heappush(self._events, (time_ns, next(self._order), event))

    def _state(self, number: int) -> _State:
        if not 0 <= number < APPS:
            raise StateError("not_found", f"packet generator: no application {number}, there are {APPS}")
        return self._apps[number]


def _matches(state: _State, head: int) -> bool:
    app = state.app
    return state.enabled and app.trigger is Trigger.RECIRCULATION and not (head ^ app.pattern) & app.mask
