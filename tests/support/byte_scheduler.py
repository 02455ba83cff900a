# SPDX-License-Identifier: Apache-2.0
"""An oracle for the traffic manager: an output stage simulated one byte of line time after the other.

Written from the definitions, without events, heaps or bit masks. It cannot see faults in ``wire_bytes``, which it
uses, nor rates at which a byte is not a whole number of picoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.tm import QueueConfig

QUANTUM = 1538


@dataclass
class Frame:
    """One frame and what becomes of it; times in bytes of line time."""

    arrives: int
    port: int
    queue: int
    size: int
    dropped: bool = False
    ahead: int = -1
    left: int = -1
    starts: int = -1
    ends: int = -1


@dataclass
class Port:
    queues: list[list[Frame]]
    weights: list[int | None]
    shares: list[int | None]
    busy: int = 0
    sending: Frame | None = None
    active: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = self._deficit_round_robin()
        self.owed = [Fraction()] * len(self.queues)

    def append(self, frame: Frame) -> None:
        queue = self.queues[frame.queue]
        if not queue and self.weights[frame.queue] is not None:
            self.active.append(frame.queue)
        queue.append(frame)

    def choose(self) -> int:
        highest = self._highest()
        owed = [n for n, queue in enumerate(self.queues) if queue and self.shares[n] and highest is not None]
        due = [n for n in owed if self.owed[n] >= wire_bytes(self.queues[n][0].size)]
        chosen = max(due) if due else highest
        if chosen is None:
            return next(self.turns)
        size = wire_bytes(self.queues[chosen][0].size)
        for n in owed:
            share = Fraction(self.shares[n] or 0, 100)
            self.owed[n] = (
                max(Fraction(), self.owed[n] - size) if n == chosen else self.owed[n] + size * share / (1 - share)
            )
        if len(self.queues[chosen]) == 1:
            self.owed[chosen] = Fraction()
        return chosen

    def _highest(self) -> int | None:
        for number in range(len(self.queues) - 1, -1, -1):
            if self.weights[number] is None and self.queues[number]:
                return number
        return None

    def _deficit_round_robin(self) -> Iterator[int]:
        deficit = [0] * len(self.queues)
        while True:
            number = self.active[0]
            deficit[number] += QUANTUM * (self.weights[number] or 0)
            while wire_bytes(self.queues[number][0].size) <= deficit[number]:
                deficit[number] -= wire_bytes(self.queues[number][0].size)
                if len(self.queues[number]) == 1:
                    self.active.pop(0)
                    deficit[number] = 0
                    yield number
                    break
                yield number
            else:
                self.active.append(self.active.pop(0))


def simulate(
    frames: Sequence[Frame], queues: Sequence[QueueConfig], buffer: int | None, ports: int
) -> dict[tuple[int, int], int]:
    """Fill in the fate of ``frames`` (ascending ``arrives``); returns the most bytes each (port, queue) held."""
    state = [
        Port([[] for _ in queues], [q.weight for q in queues], [q.least_percent for q in queues]) for _ in range(ports)
    ]
    peak: dict[tuple[int, int], int] = {}
    coming = list(frames)
    now = 0
    while coming or any(port.busy or any(port.queues) for port in state):
        while coming and coming[0].arrives == now:
            frame = coming.pop(0)
            limits = queues[frame.queue]
            waiting = state[frame.port].queues[frame.queue]
            held = sum(each.size for each in waiting)
            everywhere = sum(each.size for port in state for queue in port.queues for each in queue)
            frame.dropped = (
                (limits.limit_packets is not None and len(waiting) + 1 > limits.limit_packets)
                or (limits.limit_bytes is not None and held + frame.size > limits.limit_bytes)
                or (buffer is not None and everywhere + frame.size > buffer)
            )
            if not frame.dropped:
                frame.ahead = len(waiting)
                state[frame.port].append(frame)
                key = (frame.port, frame.queue)
                peak[key] = max(peak.get(key, 0), held + frame.size)
        for port in state:
            if not port.busy and any(port.queues):
                number = port.choose()
                port.sending = port.queues[number].pop(0)
                port.busy = wire_bytes(port.sending.size)
                port.sending.starts = now
                port.sending.left = len(port.queues[number])
            if port.busy:
                port.busy -= 1
                if not port.busy and port.sending is not None:
                    port.sending.ends = now + 1
        now += 1
    return peak
