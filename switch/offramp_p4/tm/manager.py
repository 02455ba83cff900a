# SPDX-License-Identifier: Apache-2.0
"""Queues of all ports, the shared buffer, and which port is next to send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from offramp_p4.tm.config import PortConfig, TmConfig
from offramp_p4.tm.line import Line
from offramp_p4.tm.queue import Queue
from offramp_p4.tm.scheduler import PortScheduler

T = TypeVar("T")
Observer = Callable[[int, int, int, int, int], None]

RECIRCULATION = -1
"""The port number under which recirculated packets queue."""


@dataclass(slots=True)
class Dequeued(Generic[T]):
    """A frame that has reached the head of its port.

    Attributes:
        start_ps: when its turn came, which is when the line became free or, if it was, when the frame arrived.
        enqueued_ps: when it arrived.
        depth: frames left behind it in its queue.
        congested: it found the queue above its marking threshold.
    """

    item: T
    port: int
    queue: int
    start_ps: int
    enqueued_ps: int
    frame_bytes: int
    depth: int
    congested: bool


class _ManagedPort(Generic[T]):
    """One port's queues, scheduler and line.

    Attributes:
        waiting: frames in all queues.
        scheduled: the port is in the heap of the manager, or one of its frames is at the head.
    """

    def __init__(self, config: PortConfig) -> None:
        self.queues: list[Queue[T]] = [Queue(queue) for queue in config.queues]
        self.scheduler = PortScheduler(self.queues)
        self.line = Line(config.rate_bps)
        self.waiting = 0
        self.scheduled = False


class TrafficManager(Generic[T]):
    """A pure data structure that says what leaves when; frames may be anything of a size.

    Use: :meth:`enqueue` as frames come; then, while :attr:`next_ps` has come, :meth:`dequeue` one and say by
    :meth:`transmit` how long it has become, or by :meth:`skip` that nothing of it is sent. Times never go back.

    Attributes:
        observer: called with time, port, queue, packets and bytes of it whenever a depth changes.
        held_bytes: bytes of the frames in all queues.
        misdirected: frames dropped because their queue does not exist.
    """

    def __init__(self, config: TmConfig, observer: Observer | None = None) -> None:
        self.config = config
        self.observer = observer
        self.held_bytes = 0
        self.misdirected = 0
        self._ports: dict[int, _ManagedPort[T]] = {}
        self._ready: list[tuple[int, int]] = []  # heap of (time, port) of ports that hold something

    def enqueue(self, now_ps: int, port: int, queue: int, frame_bytes: int, item: T) -> int | None:
        """Put a frame into a queue; returns how many it found there, or None when it was dropped."""
        state = self._port(port)
        if not 0 <= queue < len(state.queues):
            self.misdirected += 1
            return None
        target = state.queues[queue]
        limit = self.config.buffer_bytes
        if not target.fits(frame_bytes) or (limit is not None and self.held_bytes + frame_bytes > limit):
            target.drop(frame_bytes)
            return None
        depth = len(target)
        target.push(now_ps, frame_bytes, item)
        state.waiting += 1
        self.held_bytes += frame_bytes
        if not depth:
            state.scheduler.fill(queue)
            if not state.scheduled:
                self._schedule(port, state, now_ps)
        if self.observer is not None:
            self.observer(now_ps, port, queue, len(target), target.bytes)
        return depth

    @property
    def next_ps(self) -> int | None:
        """The time at which the next frame reaches the head of its port; None while all queues are empty."""
        return self._ready[0][0] if self._ready else None

    def dequeue(self, until_ps: int) -> Dequeued[T] | None:
        """The next frame whose turn comes at ``until_ps`` or before; of two ports the lower number goes first."""
        if not self._ready or self._ready[0][0] > until_ps:
            return None
        start_ps, port = heappop(self._ready)
        state = self._ports[port]
        number = state.scheduler.choose()
        queue = state.queues[number]
        held = queue.pop()
        state.waiting -= 1
        self.held_bytes -= held.frame_bytes
        if self.observer is not None:
            self.observer(start_ps, port, number, len(queue), queue.bytes)
        return Dequeued(
            held.item, port, number, start_ps, held.enqueued_ps, held.frame_bytes, len(queue), held.congested
        )

    def transmit(self, departure: Dequeued[T], frame_bytes: int) -> int:
        """Send the frame that was dequeued last, at the size that it has now; returns when the line is free again."""
        state = self._ports[departure.port]
        finish_ps = state.line.send(departure.start_ps, frame_bytes)
        self._release(departure, state)
        return finish_ps

    def skip(self, departure: Dequeued[T]) -> None:
        """Leave the line as it is: egress has dropped the frame that was dequeued last."""
        self._release(departure, self._ports[departure.port])

    def limit_rate(self, port: int, rate_bps: int) -> None:
        """The link of a port is no faster than ``rate_bps``; for use before anything is sent."""
        line = self._port(port).line
        line.rate_bps = rate_bps if line.rate_bps is None else min(rate_bps, line.rate_bps)

    def pause(self, port: int, until_ps: int) -> None:
        """Let a port begin nothing before ``until_ps``, as a PAUSE frame asks (IEEE 802.3, annex 31B)."""
        line = self._port(port).line
        line.free_ps = max(line.free_ps, until_ps)
        self._ready = [(max(time, until_ps) if at == port else time, at) for time, at in self._ready]
        heapify(self._ready)

    def queues(self) -> Iterator[tuple[int, int, Queue[T]]]:
        """Port, number and queue of all that have been in use, in order."""
        for port in sorted(self._ports):
            for number, queue in enumerate(self._ports[port].queues):
                yield port, number, queue

    def queue(self, port: int, number: int) -> Queue[T]:
        """One queue."""
        return self._port(port).queues[number]

    def _release(self, departure: Dequeued[T], state: _ManagedPort[T]) -> None:
        state.scheduled = False
        if state.waiting:
            self._schedule(departure.port, state, departure.start_ps)

    def _schedule(self, port: int, state: _ManagedPort[T], now_ps: int) -> None:
        state.scheduled = True
        heappush(self._ready, (max(now_ps, state.line.free_ps), port))

    def _port(self, port: int) -> _ManagedPort[T]:
        state = self._ports.get(port)
        if state is None:
            config = self.config.recirculation if port == RECIRCULATION else self.config.ports.get(port)
            state = self._ports[port] = _ManagedPort(config or self.config.default)
        return state
