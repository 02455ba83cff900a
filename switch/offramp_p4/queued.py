# SPDX-License-Identifier: Apache-2.0
"""A switch whose ingress and egress are joined by a traffic manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.wire.batch import PacketBatch
from offramp_p4.tm.config import TmConfig
from offramp_p4.tm.ecn import mark_ce
from offramp_p4.tm.joint import Departure, Joint, Mark, Times
from offramp_p4.tm.view import QueuesView

if TYPE_CHECKING:
    from offramp_p4.engines import PlainSwitch


class QueuedSwitch:
    """Runs the ingress of a packet when it arrives and the egress of each copy when its queue lets it go.

    Events of one instant are taken in this order: arrivals, recirculated packets, ports by number. On the native
    engine the queues are machine code too, and everything between two calls happens in one.

    Args:
        switch: of either engine; from now on to be used through this object only; its clock follows.
        config: of the traffic manager.
        mark: marks a frame that found its queue above the threshold, without changing its length; returns the frame
            itself if it cannot.
    """

    def __init__(self, switch: PlainSwitch, config: TmConfig, mark: Mark = mark_ce) -> None:
        self.switch = switch
        self._joint: Joint = switch.join(config, mark)

    @property
    def tm(self) -> QueuesView:
        """Queues and their counts."""
        return self._joint.tm

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """A frame arrives.

        Raises:
            OfframpError: ``now_ps`` is before something that has happened.
        """
        self._joint.receive(now_ps, port, frame)

    def receive_batch(self, times_ps: Times, batch: PacketBatch) -> None:
        """Frames arrive, each at its time, ``(n,)`` int64 picoseconds, ascending.

        Raises:
            OfframpError: a time is before something that has happened, or not of every packet.
        """
        self._joint.receive_batch(times_ps, batch)

    @property
    def next_ps(self) -> int | None:
        """When something happens without a further arrival; None: never."""
        return self._joint.next_ps

    def advance(self, until_ps: int) -> list[Departure]:
        """Let time pass; returns the frames whose sending has begun since the last call, in order of their start."""
        return self._joint.advance(until_ps)

    def advance_batch(self, until_ps: int) -> tuple[Times, PacketBatch]:
        """The same as arrays: when the gap behind each frame ends, ``(n,)`` int64 picoseconds, and the frames."""
        return self._joint.advance_batch(until_ps)

    def reset(self) -> None:
        """Forget what is queued and the time; the switch's state stays."""
        self._joint.reset()
