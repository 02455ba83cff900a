# SPDX-License-Identifier: Apache-2.0
"""Cost of a simulated exchange, in the same terms for every scheme (specification section 11)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from offramp.graph.csr import IntArray

_NONE: IntArray = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Series:
    """An exchange over time, with a value for each slot.

    Attributes:
        queue: packets that wait at the switch's output ports.
        open: aggregators that hold a partial sum.
        added: contributions that aggregators absorb.
        sent: packets that leave the switch.
    """

    queue: IntArray = field(default_factory=lambda: _NONE)
    open: IntArray = field(default_factory=lambda: _NONE)
    added: IntArray = field(default_factory=lambda: _NONE)
    sent: IntArray = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, slots=True)
class ExchangeResult:
    """One exchange of one layer, for all workers together. Bytes are bytes of link time: headers and gaps count.

    Attributes:
        scheme: one of :data:`offramp_sim.slot.schemes.SCHEMES`.
        seconds: seconds until every worker may proceed.
        slot_s: seconds of a slot.
        packet_bytes: link bytes of a packet of features.
        up_bytes, down_bytes: bytes from and to the workers.
        ack_bytes: acknowledgements in both directions, if they are charged.
        recirculated_bytes: bytes of passes through the switch's pipeline beyond a packet's first.
        down_vectors: feature vectors delivered: the volume of the paper's figures 2(d) and 18.
        blocks, levels: blocks and levels of the plan; 0 without a plan.
        barrier_s: time for which the switch is idle between blocks.
        imbalance: packets of the busiest worker over the mean.
        aggregators: number of 128-byte aggregators that the scheme may use; None: as many as it needs.
        series: over time.
    """

    scheme: str
    seconds: float
    slot_s: float
    packet_bytes: int
    up_bytes: int
    down_bytes: int
    ack_bytes: int = 0
    recirculated_bytes: int = 0
    down_vectors: int = 0
    blocks: int = 0
    levels: int = 0
    barrier_s: float = 0.0
    imbalance: float = 1.0
    aggregators: int | None = None
    series: Series = field(default_factory=Series, repr=False)

    @property
    def wire_bytes(self) -> int:
        """Bytes in both directions, acknowledgements included."""
        return self.up_bytes + self.down_bytes + self.ack_bytes

    @property
    def peak_queue_bytes(self) -> int:
        """Most bytes waiting at all output ports together."""
        return int(self.series.queue.max(initial=0)) * self.packet_bytes

    @property
    def peak_open(self) -> int:
        """Most aggregators open at once."""
        return int(self.series.open.max(initial=0))

    @property
    def absorbed_bps(self) -> float:
        """Aggregation throughput: payload of the contributions that aggregators absorb, per second."""
        return float(self.series.added.sum()) * 128 * 8 / self.seconds if self.seconds else 0.0

    @property
    def delivered_bps(self) -> float:
        """Total throughput: link bits to the workers per second."""
        return self.down_bytes * 8 / self.seconds if self.seconds else 0.0

    def numbers(self) -> dict[str, float | int | str | None]:
        """The result as JSON has it."""
        names = (
            "scheme", "seconds", "up_bytes", "down_bytes", "ack_bytes", "recirculated_bytes", "down_vectors",
            "wire_bytes", "blocks", "levels", "barrier_s", "imbalance", "aggregators", "peak_queue_bytes",
            "peak_open", "absorbed_bps", "delivered_bps",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def imbalance(packets: IntArray) -> float:
    """Largest of ``(workers,)`` loads over their mean; 1 where nothing is sent."""
    return float(packets.max() / packets.mean()) if packets.any() else 1.0
