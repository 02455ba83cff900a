# SPDX-License-Identifier: Apache-2.0
"""One direction of a link: delay and loss; its rate is that of the port that sends into it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.tm.line import PS_PER_S


@dataclass(slots=True)
class NetworkLinkStats:
    """Counts since the start; ``sent = delivered + lost + in flight``.

    Attributes:
        sent: frames whose sending has begun.
        sent_bytes, wire_bytes: their bytes without FCS, and all bytes that occupy the line.
    """

    sent: int = 0
    sent_bytes: int = 0
    wire_bytes: int = 0
    lost: int = 0
    delivered: int = 0

    @property
    def in_flight(self) -> int:
        """Frames that are neither lost nor delivered yet."""
        return self.sent - self.lost - self.delivered


class NetworkLink:
    """A link from one port to another.

    Args:
        rate_bps: bits per second, preamble and gap included.
        delay_ps: delay from the end of a frame's time on the line to its arrival.
        loss: probability that a frame is lost, drawn from ``random`` for each.

    Attributes:
        stats: counts.
    """

    def __init__(self, rate_bps: int, delay_ps: int, loss: float, random: Random) -> None:
        self.rate_bps, self.delay_ps, self.loss = rate_bps, delay_ps, loss
        self.stats = NetworkLinkStats()
        self._random = random

    def carry(self, finish_ps: int, frame: bytes) -> int | None:
        """Arrival time of a frame whose time on the line ends at ``finish_ps``; None: it is lost."""
        stats = self.stats
        stats.sent += 1
        stats.sent_bytes += len(frame)
        stats.wire_bytes += wire_bytes(len(frame))
        if self.loss and self._random.random() < self.loss:
            stats.lost += 1
            return None
        return finish_ps + self.delay_ps

    def utilisation(self, until_ps: int) -> float:
        """Share of the time from 0 to ``until_ps`` for which sent frames occupy the line."""
        return self.stats.wire_bytes * 8 * PS_PER_S / (self.rate_bps * until_ps) if until_ps else 0.0
