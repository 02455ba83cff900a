# SPDX-License-Identifier: Apache-2.0
"""Bytes that an exchange puts on the links, host-based and through the switch (specification section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray
from offramp.switchgnn.chunks import chunks_for, vector_wire_bytes
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.wire import LANES
from offramp.workers.traffic import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES


@dataclass(frozen=True, slots=True)
class Streams:
    """Host-based messages, one stream for each pair of workers.

    Attributes:
        payload_bytes: ``(workers, workers)`` from each worker (row) to each other.
        packets: ``(workers, workers)`` number of packets, likewise.
    """

    payload_bytes: IntArray
    packets: IntArray

    def __add__(self, other: Streams) -> Streams:
        """The sum of both."""
        return Streams(self.payload_bytes + other.payload_bytes, self.packets + other.packets)

    @property
    def link_bytes(self) -> IntArray:
        """``(workers, workers)`` link time in bytes."""
        return self.payload_bytes + self.packets * HOST_OVERHEAD_BYTES

    @property
    def wire_bytes(self) -> int:
        """Link time of all streams in bytes."""
        return int(self.link_bytes.sum())


def streams(sender: IntArray, receiver: IntArray, item_bytes: int, workers: int) -> Streams:
    """Streams with an item of ``item_bytes`` from each sender to its receiver."""
    items = np.bincount(sender * workers + receiver, minlength=workers * workers).reshape(workers, workers)
    payload: IntArray = items * item_bytes
    return Streams(payload, -(-payload // HOST_PAYLOAD_BYTES))


@dataclass(frozen=True, slots=True)
class ExchangeVolume:
    """One exchange in one direction, summed over all workers; the other direction has the same volume.

    Attributes:
        vectors: number of feature vectors.
        packets: packets that carry them.
        payload_bytes: bytes of the features.
        wire_bytes: link time in bytes: headers, zeros that fill packets, FCS, preamble and inter-frame gap included.
    """

    vectors: int
    packets: int
    payload_bytes: int
    wire_bytes: int


def host_volume(boundary: Boundary, features: int) -> ExchangeVolume:
    """Every boundary vertex once to each worker that needs it, as a stream for each pair of workers."""
    owner = boundary.owner[boundary.copies[:, 0]].astype(np.int64)
    sent = streams(owner, boundary.copies[:, 1], 4 * features, boundary.workers)
    return ExchangeVolume(boundary.R, int(sent.packets.sum()), int(sent.payload_bytes.sum()), sent.wire_bytes)


def unlimited_volume(boundary: Boundary, features: int, lanes: int = LANES) -> ExchangeVolume:
    """Every boundary vertex once to a switch that has aggregators of ``lanes`` lanes for all of them."""
    return _switch_volume(boundary.B, features, lanes)


def plan_volume(plan: Plan, features: int) -> ExchangeVolume:
    """Every vertex once to the switch for each block that contains it; ACK, DONE and GO are not counted."""
    return _switch_volume(plan.uploads, features, plan.lanes)


def _switch_volume(vectors: int, features: int, lanes: int) -> ExchangeVolume:
    packets = vectors * chunks_for(features, lanes)
    return ExchangeVolume(vectors, packets, 4 * features * vectors, vectors * vector_wire_bytes(features, lanes))
