"""What one worker sent, received and refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.wire.batch import PacketBatch
from offramp.wire.ethernet import wire_bytes
from offramp.wire.switchgnn import DATA_FRAME_BYTES, PAYLOAD


@dataclass(slots=True)
class Link:
    """One direction of a worker's link.

    Attributes:
        packets: all frames.
        data_packets: those with a payload.
        payload_bytes: 128 for each of these.
        wire_bytes: link time in bytes: FCS, padding, preamble and inter-frame gap included.
    """

    packets: int = 0
    data_packets: int = 0
    payload_bytes: int = 0
    wire_bytes: int = 0

    def count(self, batch: PacketBatch) -> None:
        """Add the frames of ``batch``."""
        lengths, numbers = np.unique(batch.lengths, return_counts=True)
        for length, number in zip(lengths.tolist(), numbers.tolist(), strict=True):
            self.packets += number
            self.wire_bytes += number * wire_bytes(length)
            if length >= DATA_FRAME_BYTES:
                self.data_packets += number
                self.payload_bytes += number * PAYLOAD.size


@dataclass(slots=True)
class WorkerStats:
    """Counts since the worker started.

    Attributes:
        up: to the switch.
        down: from the switch, refused packets included.
        rounds: rounds finished.
        results: sums accepted.
        raws: raw features accepted (strawman).
        duplicates: packets that told nothing new.
        stale: packets of another round.
        foreign: frames of another protocol, or of a type that a worker does not expect.
        truncated: frames cut short.
        rejected: packets whose vertex, chunk or count is not in the plan.
    """

    up: Link
    down: Link
    rounds: int = 0
    results: int = 0
    raws: int = 0
    duplicates: int = 0
    stale: int = 0
    foreign: int = 0
    truncated: int = 0
    rejected: int = 0
