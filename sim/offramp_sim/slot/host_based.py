# SPDX-License-Identifier: Apache-2.0
"""Exchanges without help from the switch: BNS-GCN at p = 1 and G3 (specification section 10)."""

from __future__ import annotations

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray
from offramp.switchgnn.volume import host_volume
from offramp.workers.traffic import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES
from offramp_sim.slot.fifo import backlog, departures
from offramp_sim.slot.ports import StarFabric
from offramp_sim.slot.result import ExchangeResult, Series, imbalance

HOST_PACKET_BYTES = HOST_PAYLOAD_BYTES + HOST_OVERHEAD_BYTES
"""Bytes of a full packet of a host-based exchange on the wire."""


def stream_packets(boundary: Boundary, features: int) -> IntArray:
    """``(workers, workers)`` packets from each worker (row) to each other."""
    workers = boundary.workers
    pairs = boundary.owner[boundary.copies[:, 0]].astype(np.int64) * workers + boundary.copies[:, 1]
    streams = 4 * features * np.bincount(pairs, minlength=workers * workers)
    return np.asarray(-(-streams // HOST_PAYLOAD_BYTES)).reshape(workers, workers)


def bns_gcn(boundary: Boundary, features: int, fabric: StarFabric) -> ExchangeResult:
    """An all-to-all: every worker sends to all others, a packet to each in turn, beginning with its successor."""
    packets = stream_packets(boundary, features)
    ready, port = _round_robin(packets)
    ready += _delay(fabric)
    left = departures(ready, port)
    slots = int(left.max(initial=-1)) + 1 + _delay(fabric)
    series = Series(queue=backlog(ready, left), sent=np.bincount(left))
    return _outcome("bns-gcn", boundary, features, fabric, slots, imbalance(packets.sum(axis=1)), series)


def g3(boundary: Boundary, features: int, fabric: StarFabric) -> ExchangeResult:
    """G3: partitions balance communication but do not reduce it, so the volume is BNS-GCN's with equal loads."""
    packets = int(stream_packets(boundary, features).sum())
    each = -(-packets // boundary.workers)
    slots = each + 2 * _delay(fabric) if each else 0
    return _outcome("g3", boundary, features, fabric, slots, 1.0, Series())


def epoch_seconds(scheme: str, exchange_s: float, exchanges: int, compute_s: float = 0.0, bins: int = 8) -> float:
    """Seconds of an epoch: communication, then computation; G3 overlaps all but one of its ``bins`` (section 10)."""
    communication = exchange_s * exchanges
    if scheme == "g3":
        return max(communication, compute_s) + min(communication, compute_s) / bins
    return communication + compute_s


def slot_seconds(fabric: StarFabric) -> float:
    """Seconds that a full host-based packet takes on a link."""
    return HOST_PACKET_BYTES * 8 / fabric.link_bps


def _delay(fabric: StarFabric) -> int:
    return round(fabric.delay_s / slot_seconds(fabric))


def _round_robin(packets: IntArray) -> tuple[IntArray, IntArray]:
    """Slot in which each packet leaves its worker, and the worker that it goes to."""
    workers = len(packets)
    counts = packets.ravel()
    stream = np.repeat(np.arange(workers * workers), counts)
    turn = np.arange(len(stream)) - np.repeat(np.cumsum(counts) - counts, counts)
    source, target = np.divmod(stream, workers)
    order = np.argsort((source * (int(turn.max(initial=0)) + 1) + turn) * workers + (target - source) % workers)
    load = packets.sum(axis=1)
    slots = np.arange(len(stream)) - np.repeat(np.cumsum(load) - load, load)
    return slots, target[order]


def _outcome(
    scheme: str, boundary: Boundary, features: int, fabric: StarFabric, slots: int, skew: float, series: Series
) -> ExchangeResult:
    slot_s = slot_seconds(fabric)
    volume = host_volume(boundary, features)
    return ExchangeResult(
        scheme,
        slots * slot_s,
        slot_s,
        HOST_PACKET_BYTES,
        volume.wire_bytes,
        volume.wire_bytes,
        down_vectors=volume.vectors,
        imbalance=skew,
        series=series,
    )
