# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress of a switch on the Python engine, joined by a traffic manager."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.tm.config import TmConfig
from offramp_p4.tm.joint import PS_PER_US, Departure, Mark, Times, check_marked, check_time
from offramp_p4.tm.manager import RECIRCULATION, Dequeued, TrafficManager

if TYPE_CHECKING:
    from offramp_p4.switch import Switch


@dataclass(slots=True)
class _Budget:
    """Passes that a packet and all its copies may still make."""

    passes: int


class PythonJoint:
    """Runs the ingress of a packet when it arrives and the egress of each copy when its queue lets it go."""

    def __init__(self, switch: Switch, config: TmConfig, mark: Mark) -> None:
        self._switch, self._config, self._mark = switch, config, mark
        self._stages = switch.split(self._hold)
        self.reset()

    def reset(self) -> None:
        """Empty the queues and set the time to 0."""
        self.tm: TrafficManager[tuple[Any, _Budget]] = TrafficManager(self._config)
        self._now_ps = 0
        self._budget = _Budget(0)
        self._returning: list[tuple[int, int, Any, _Budget]] = []  # heap: recirculated packets on their way back
        self._order = count()
        self._departures: list[Departure] = []

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """A frame arrives."""
        check_time(now_ps, self._now_ps)
        arrival = self._stages.arrival(port, frame)
        self._run(now_ps - 1)
        self._at(now_ps)
        self._switch.stats.packets_in += 1
        self._enter(arrival, _Budget(self._stages.max_passes))

    def receive_batch(self, times_ps: Times, batch: PacketBatch) -> None:
        """Frames arrive, each at its time."""
        if len(times_ps) != len(batch):
            raise OfframpError(f"packet batch: {len(batch)} packets and {len(times_ps)} times")
        before = self._now_ps
        for now_ps in times_ps.tolist():
            check_time(now_ps, before)
            before = now_ps
        for now_ps, (port, frame) in zip(times_ps.tolist(), batch, strict=True):
            self.receive(now_ps, port, frame)

    @property
    def next_ps(self) -> int | None:
        """The time at which something happens without a further arrival; None: never."""
        ready = self.tm.next_ps
        if not self._returning:
            return ready
        back = self._returning[0][0]
        return back if ready is None or back < ready else ready

    def advance(self, until_ps: int) -> list[Departure]:
        """Let time pass; the frames whose sending has begun since the last call."""
        self._run(until_ps)
        self._at(max(until_ps, self._now_ps))
        departures, self._departures = self._departures, []
        return departures

    def advance_batch(self, until_ps: int) -> tuple[Times, PacketBatch]:
        """Let time pass; the departures as arrays."""
        departures = self.advance(until_ps)
        times = np.array([each.ps for each in departures], np.int64)
        return times, PacketBatch.of((each.port, each.frame) for each in departures)

    def pass_batch(self, times_ps: Times, batch: PacketBatch, until_ps: int) -> tuple[Times, PacketBatch]:
        """Frames arrive, each at its time; then time passes."""
        self.receive_batch(times_ps, batch)
        return self.advance_batch(until_ps)

    def _run(self, until_ps: int) -> None:
        while (event_ps := self.next_ps) is not None and event_ps <= until_ps:
            self._at(event_ps)
            if self._returning and self._returning[0][0] == event_ps:
                _, _, arrival, budget = heappop(self._returning)
                self._enter(arrival, budget)
                continue
            departure = self.tm.dequeue(event_ps)
            assert departure is not None, "a port is ready"
            self._serve(departure)

    def _at(self, now_ps: int) -> None:
        self._now_ps = now_ps
        self._switch.now_us = now_ps // PS_PER_US

    def _enter(self, arrival: Any, budget: _Budget) -> None:
        self._budget = budget
        self._stages.ingress(arrival)
        self._again()

    def _serve(self, departure: Dequeued[tuple[Any, _Budget]]) -> None:
        item, budget = departure.item
        if departure.port == RECIRCULATION:
            finish_ps = self.tm.transmit(departure, departure.frame_bytes)
            heappush(self._returning, (finish_ps, next(self._order), item, budget))
            return
        waited_us = departure.start_ps // PS_PER_US - departure.enqueued_ps // PS_PER_US
        left_bytes = self.tm.queue(departure.port, departure.queue).bytes
        self._stages.leaves_queue(item, waited_us, departure.depth, left_bytes)
        self._budget = budget
        sent: list[tuple[int, bytes]] = []
        self._stages.egress(item, departure.port, sent.append)
        for port, frame in sent:
            frame = self._marked(departure, frame)
            self._departures.append(Departure(self.tm.transmit(departure, len(frame)), port, frame))
        if not sent:
            self.tm.skip(departure)
        for arrival in filter(self._stages.recirculated, self._stages.again):
            arrival.frame = self._marked(departure, arrival.frame)
        self._again()

    def _marked(self, departure: Dequeued[Any], frame: bytes) -> bytes:
        if not departure.congested:
            return frame
        marked = check_marked(frame, self._mark(frame))
        if marked is not frame:
            self.tm.queue(departure.port, departure.queue).stats.marked += 1
        return marked

    def _hold(self, memory: Any, port: int, _: object) -> None:
        """Enqueue a copy that has come out of ingress or of cloning."""
        stages = self._stages
        queue, size = stages.queue(memory), stages.frame_bytes(memory)
        depth = self.tm.enqueue(self._now_ps, port, queue, size, (memory, self._budget))
        if depth is not None:
            found_bytes = self.tm.queue(port, queue).bytes - size
            stages.enters_queue(memory, self._now_ps // PS_PER_US, depth, found_bytes)

    def _again(self) -> None:
        """Send what was resubmitted and recirculated on its way, within the packet's budget."""
        again: deque[Any] = self._stages.again
        budget = self._budget
        while again:
            budget.passes -= 1
            if budget.passes <= 0:
                self._switch.stats.looped += len(again)
                again.clear()
                return
            arrival = again.popleft()
            if self._stages.recirculated(arrival):
                self.tm.enqueue(self._now_ps, RECIRCULATION, 0, len(arrival.frame), (arrival, budget))
            else:
                self._stages.ingress(arrival)
