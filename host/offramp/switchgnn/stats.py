# SPDX-License-Identifier: Apache-2.0
"""Counts of what one worker sent, received and refused, and of the switch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from offramp.switchgnn.wire import DATA_FRAME_BYTES, LANES
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ETHERNET, IPV4, total_wire_bytes

_CHUNK_BYTE = ETHERNET.size + IPV4.size + 13  # Chunk_id, specification section 3.1


@dataclass(slots=True)
class LinkCounts:
    """Counts of one direction of a worker's link.

    Attributes:
        packets: all frames.
        data_packets: those with a payload.
        payload_bytes: features in these, without the zeros that fill the last packet of a vertex.
        wire_bytes: link time in bytes: headers, zeros, FCS, padding, preamble and inter-frame gap included.
    """

    packets: int = 0
    data_packets: int = 0
    payload_bytes: int = 0
    wire_bytes: int = 0

    def add_data(self, batch: PacketBatch, features: int) -> None:
        """Add packets that all have a payload, with ``features`` features in them, not counting padding zeros."""
        self.packets += len(batch)
        self.data_packets += len(batch)
        self.payload_bytes += 4 * features
        self.wire_bytes += total_wire_bytes(batch.lengths)

    def count(self, batch: PacketBatch) -> None:
        """Add the frames of ``batch``, without their payload."""
        self.packets += len(batch)
        self.wire_bytes += total_wire_bytes(batch.lengths)
        self.data_packets += int(np.count_nonzero(batch.lengths >= DATA_FRAME_BYTES))

    def count_payload(self, batch: PacketBatch, features: int, lanes: int = LANES) -> None:
        """Add the features in ``batch``, from an exchange of vectors of ``features`` features, ``lanes`` per packet."""
        data = batch.lengths >= DATA_FRAME_BYTES
        if data.any():
            chunks = batch.data[data, _CHUNK_BYTE].astype(np.int64)
            self.payload_bytes += 4 * int(np.minimum(np.maximum(features - lanes * chunks, 0), lanes).sum())


@dataclass(slots=True)
class WorkerStats:
    """Counts since the worker started.

    Attributes:
        up: traffic to the switch.
        down: traffic from the switch, including refused packets.
        rounds: rounds finished.
        results: sums accepted.
        raws: raw features accepted (strawman).
        fetches: features requested after a time-out.
        pulled: features received in answer, each counted once.
        resends: answers sent.
        reuploads: uploads repeated.
        marks: packets that reported congestion.
        duplicates: packets without new information.
        stale: packets of another round.
        foreign: frames of another protocol, or of a type that a worker does not expect.
        truncated: frames cut short.
        rejected: packets whose vertex, chunk or count is not in the plan.
    """

    up: LinkCounts
    down: LinkCounts
    rounds: int = 0
    results: int = 0
    raws: int = 0
    fetches: int = 0
    pulled: int = 0
    resends: int = 0
    reuploads: int = 0
    marks: int = 0
    duplicates: int = 0
    stale: int = 0
    foreign: int = 0
    truncated: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class SwitchTotals:
    """Counts of the switch during the run: zero if there was none, None if it cannot tell.

    ``strangers`` are the frames, by port, that it dropped because what they named does not belong to the port on which
    they came.
    """

    passes: int = 0
    recirculations: int = 0
    aggregators_peak: int | None = 0
    overflows: int = 0
    strangers: dict[str, int] = field(default_factory=dict)
