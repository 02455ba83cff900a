"""Bytes that an exchange puts on the links, host-based and through the switch (specification section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.switch.switchgnn.plan import Plan, chunks_for
from offramp.wire.ethernet import wire_bytes
from offramp.wire.switchgnn import DATA_FRAME_BYTES

HOST_PAYLOAD_BYTES = 1024
"""Payload of a host-based packet (specification section 10)."""

HOST_OVERHEAD_BYTES = 82
"""What a host-based packet adds on the wire."""


@dataclass(frozen=True, slots=True)
class Volume:
    """One exchange in one direction, summed over all workers; the other direction has the same volume.

    Attributes:
        vectors: feature vectors.
        packets: packets that carry them.
        payload_bytes: the features.
        wire_bytes: link time in bytes: headers, zeros that fill packets, FCS, preamble and inter-frame gap included.
    """

    vectors: int
    packets: int
    payload_bytes: int
    wire_bytes: int


def host_volume(boundary: Boundary, features: int) -> Volume:
    """Every boundary vertex once to each worker that needs it, as a stream for each pair of workers."""
    pairs = boundary.owner[boundary.copies[:, 0]].astype(np.int64) * boundary.workers + boundary.copies[:, 1]
    streams = 4 * features * np.bincount(pairs)
    packets = int((-(-streams // HOST_PAYLOAD_BYTES)).sum())
    payload = int(streams.sum())
    return Volume(boundary.R, packets, payload, payload + packets * HOST_OVERHEAD_BYTES)


def unlimited_volume(boundary: Boundary, features: int) -> Volume:
    """Every boundary vertex once to a switch with an aggregator for each."""
    return _switch_volume(boundary.B, features)


def plan_volume(plan: Plan, features: int) -> Volume:
    """Every vertex once to the switch for each block that holds it; ACK, DONE and GO are not counted."""
    return _switch_volume(plan.uploads, features)


def _switch_volume(vectors: int, features: int) -> Volume:
    packets = vectors * chunks_for(features)
    return Volume(vectors, packets, 4 * features * vectors, packets * wire_bytes(DATA_FRAME_BYTES))
