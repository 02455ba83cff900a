# SPDX-License-Identifier: Apache-2.0
"""A place on the measured map, what was measured there, and what that put on links and switch."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median


class ExchangeTransport(StrEnum):
    """The ways that boundary features are exchanged."""

    P2P = "p2p"
    SWITCH = "switch"
    HYBRID = "hybrid"
    AUTO = "auto"


@dataclass(frozen=True, order=True)
class MapCell:
    """A place on the map.

    Attributes:
        workers: number of workers, each with one link.
        copies: workers that need a boundary vertex, in the mean.
        rate_bps: rate of each link.
        width: width of a vertex's features.
        bits: bits of a value on the wire, 32 or 8.
    """

    workers: int
    copies: float
    rate_bps: int
    width: int = 128
    bits: int = 32

    def __str__(self) -> str:
        rate = f"{self.rate_bps / 1e6:g} Mb/s"
        return f"{self.workers} workers, {self.copies:g} copies, {rate}, width {self.width}, {self.bits} bits"


@dataclass(frozen=True)
class ExchangeLoad:
    """Traffic of one exchange at each place, from the workers' counters and the plan.

    Attributes:
        link_bytes: bytes of the busiest direction of the busiest link.
        wire_bytes: bytes of all links, both directions.
        host_packets: that hosts send each other, full ones of the model (:mod:`offramp.workers.traffic`).
        switch_packets: uploads and results.
        passes: passes of uploads through the switch's program.
    """

    link_bytes: float
    wire_bytes: float
    host_packets: float
    switch_packets: float = 0.0
    passes: float = 0.0


@dataclass(frozen=True)
class TimedExchanges:
    """Exchanges of one cell by one way.

    Attributes:
        seconds: seconds of each, from the start of all workers together to the end of the last one.
        load: load of one exchange.
        scheme: that was planned; of p2p its codec.
        digest: digest of all sums, equal for ways that compute the same.
    """

    seconds: list[float]
    load: ExchangeLoad
    scheme: str = ""
    digest: str = field(default="", compare=False)

    @property
    def usual_s(self) -> float:
        """The median exchange."""
        return median(self.seconds)
