# SPDX-License-Identifier: Apache-2.0
"""A switch whose ingress and egress are joined by a traffic manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_base.wire.batch import PacketBatch
from offramp_p4.tm.config import TmConfig
from offramp_p4.tm.ecn import mark_ce
from offramp_p4.tm.joint import Departure, Joint, Mark, Times
from offramp_p4.tm.view import QueuesView
from offramp_p4.tna.generated import MOST_GENERATED

if TYPE_CHECKING:
    from offramp_p4.plain import PlainSwitch

_PS_PER_NS: Final = 1000


class QueuedSwitch:
    """Runs the ingress of a packet when it arrives and the egress of each copy when its queue lets it go.

    Events of one instant are taken in this order: arrivals, recirculated packets, ports by number. On the native
    engine the queues are machine code too, and everything between two calls happens in one.

    What a packet generator makes arrives when it is due, or with the next call where only that call shows what has
    triggered it.

    Args:
        switch: switch of either engine; from now on to be used through this object only; its clock follows.
        config: config of the traffic manager.
        mark: marks a frame that found its queue above the threshold, without changing its length; returns the frame
            itself if it cannot.
    """

    def __init__(self, switch: PlainSwitch, config: TmConfig, mark: Mark = mark_ce) -> None:
        self.switch = switch
        self._joint: Joint = switch.join(config, mark)
        self._generator = switch.generator
        self._reached_ps = 0

    @property
    def tm(self) -> QueuesView:
        """Queues and their counts."""
        return self._joint.tm

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """A frame arrives.

        Raises:
            OfframpError: ``now_ps`` is before something that has happened.
        """
        self._generate(now_ps)
        self._joint.receive(now_ps, port, frame)
        self._reached_ps = now_ps

    def receive_batch(self, times_ps: Times, batch: PacketBatch) -> None:
        """Frames arrive, each at its time, ``(n,)`` int64 picoseconds, ascending.

        Raises:
            OfframpError: a time is before something that has happened, or not of every packet.
        """
        if self._generator is None or not self._generator.active:
            self._joint.receive_batch(times_ps, batch)
            self._reached_ps = max(self._reached_ps, int(times_ps[-1]) if len(batch) else 0)
            return
        for now_ps, (port, frame) in zip(times_ps.tolist(), batch, strict=True):
            self.receive(now_ps, port, frame)

    @property
    def next_ps(self) -> int | None:
        """The time at which something happens without a further arrival; None: never."""
        time_ns = None if self._generator is None else self._generator.next_ns
        generated = None if time_ns is None else max(time_ns * _PS_PER_NS, self._reached_ps)
        times = [time for time in (self._joint.next_ps, generated) if time is not None]
        return min(times, default=None)

    def advance(self, until_ps: int) -> list[Departure]:
        """Let time pass; returns the frames whose sending has begun since the last call, in order of their start."""
        self._generate(until_ps)
        self._reached_ps = max(self._reached_ps, until_ps)
        return self._joint.advance(until_ps)

    def advance_batch(self, until_ps: int) -> tuple[Times, PacketBatch]:
        """Let time pass; returns when the gap behind each frame ends, ``(n,)`` int64 picoseconds, and the frames."""
        self._generate(until_ps)
        self._reached_ps = max(self._reached_ps, until_ps)
        return self._joint.advance_batch(until_ps)

    def pass_batch(self, times_ps: Times, batch: PacketBatch, until_ps: int) -> tuple[Times, PacketBatch]:
        """Call :meth:`receive_batch`, then :meth:`advance_batch`.

        Raises:
            OfframpError: as of :meth:`receive_batch`.
        """
        if self._generator is None or not self._generator.active:
            self._reached_ps = max(self._reached_ps, until_ps)
            return self._joint.pass_batch(times_ps, batch, until_ps)
        self.receive_batch(times_ps, batch)
        return self.advance_batch(until_ps)

    def reset(self) -> None:
        """Forget queued packets and the time; the switch's state stays."""
        self._joint.reset()
        self._reached_ps = 0

    def _generate(self, until_ps: int) -> None:
        """Take in what the packet generator has to make by a time."""
        generator, left = self._generator, MOST_GENERATED
        while generator is not None and left > 0:
            due, events = generator.due(until_ps // _PS_PER_NS, left)
            if not events:
                return
            left -= events
            for each in due:
                self._reached_ps = max(self._reached_ps, each.time_ns * _PS_PER_NS)
                self._joint.receive(self._reached_ps, each.port, each.frame)
