# SPDX-License-Identifier: Apache-2.0
"""Exchanges in windows of destinations, which keep all workers busy: whole vertices or partial sums are sent."""

from __future__ import annotations

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, distinct, rows_of
from offramp_base.errors import OfframpError
from offramp_sim.slot.fifo import backlog, departures
from offramp_sim.slot.in_network import padded
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, StarFabric, served_slots
from offramp_sim.slot.result import ExchangeResult, Series


def windows(boundary: Boundary, chunks: int, memory_bytes: int, fabric: StarFabric) -> ExchangeResult:
    """Upload a vertex in each window that holds a neighbour of it, high degrees first: B packets down.

    Blocks of both ends of an edge keep a graph's locality, and therefore hold vertices of few workers; windows trade
    locality for balance (specification section 8.4).
    """
    order = np.empty(boundary.B, np.int64)
    order[np.argsort(-boundary.need, kind="stable")] = np.arange(boundary.B)
    owner = boundary.owner[boundary.vertices].astype(np.int64)
    uploads = owner[boundary.neighbours] * boundary.B + order[boundary.neighbours]
    return _run("windows", boundary, rows_of(boundary.indptr), uploads, chunks, memory_bytes, fabric)


def pairwise(boundary: Boundary, chunks: int, memory_bytes: int, fabric: StarFabric) -> ExchangeResult:
    """Each worker sums what it has for a vertex and sends the sum: one pass per packet, R up, B down (section 5.7)."""
    # By symmetry, a pair (vertex, worker that needs it) is also a pair (vertex, worker that sends to it).
    to = np.searchsorted(boundary.vertices, boundary.copies[:, 0])
    turn = _turn(boundary)
    return _run("pairwise", boundary, to, boundary.copies[:, 1] * boundary.B + turn[to], chunks, memory_bytes, fabric)


def _run(
    scheme: str, boundary: Boundary, to: IntArray, upload: IntArray, chunks: int, memory_bytes: int, fabric: StarFabric
) -> ExchangeResult:
    """Contributions ``(to, upload)``: ranks of destinations, and worker times B plus what a worker sorts by.

    A window has as many destinations as fit, taken from the workers in turn, and ends with a barrier.
    """
    limit = memory_bytes // (128 * chunks)
    if limit < 1:
        raise OfframpError(f"memory {memory_bytes} B: expected at least {128 * chunks} B, an aggregator a chunk")
    turn = _turn(boundary)
    by_turn = np.argsort(turn[to], kind="stable")
    to, upload = turn[to][by_turn], upload[by_turn]
    owner = np.empty(boundary.B, np.int64)
    owner[turn] = boundary.owner[boundary.vertices]
    slots = packets = busiest = 0
    series: list[tuple[IntArray, ...]] = []
    for start in range(0, boundary.B, limit):
        count = min(limit, boundary.B - start)
        low, high = np.searchsorted(to, (start, start + count))
        uploads = distinct(upload[low:high].copy())
        worker = uploads // boundary.B
        arrived = (np.arange(len(uploads)) - np.searchsorted(worker, worker)) * chunks + fabric.delay_slots
        which = np.searchsorted(uploads, upload[low:high])
        starts = np.searchsorted(to[low:high], np.arange(start, start + count))
        added = _added(arrived, which, chunks, fabric)
        first, done = (f.reduceat(added, starts) for f in (np.minimum, np.maximum))
        ready = done.ravel()
        left = departures(ready, np.repeat(owner[start : start + count], chunks))
        length = int(left.max()) + 1 + 3 * fabric.delay_slots
        opened = np.bincount(first.ravel(), minlength=length)
        series.append(
            (
                padded(backlog(ready, left), length),
                np.cumsum(opened - np.bincount(ready, minlength=length)),
                np.bincount(added.ravel(), minlength=length),
                np.bincount(left, minlength=length),
            )
        )
        slots += length
        packets += len(uploads) * chunks
        busiest += int(np.bincount(worker).max()) * chunks
    blocks = len(series)
    return ExchangeResult(
        scheme,
        slots * fabric.slot_s,
        fabric.slot_s,
        PACKET_WIRE_BYTES,
        packets * PACKET_WIRE_BYTES,
        boundary.B * chunks * PACKET_WIRE_BYTES,
        recirculated_bytes=(len(to) * chunks - packets) * PACKET_WIRE_BYTES,
        down_vectors=boundary.B,
        blocks=blocks,
        levels=1,
        barrier_s=4 * fabric.delay_slots * fabric.slot_s * blocks,
        imbalance=busiest * boundary.workers / packets if packets else 1.0,
        aggregators=limit * chunks,
        series=Series(*(np.concatenate(parts) for parts in zip(*series, strict=True))) if series else Series(),
    )


def _turn(boundary: Boundary) -> IntArray:
    """``(B,)`` position of each vertex if the workers take turns in placing one each."""
    owner = boundary.owner[boundary.vertices]
    by_owner = np.argsort(owner, kind="stable")
    place = np.empty(len(owner), np.int64)
    place[by_owner] = np.arange(len(owner)) - np.searchsorted(owner[by_owner], owner[by_owner])
    turn = np.empty(len(owner), np.int64)
    turn[np.lexsort((owner, place))] = np.arange(len(owner))
    return turn


def _added(arrived: IntArray, which: IntArray, chunks: int, fabric: StarFabric) -> IntArray:
    """``(e, chunks)`` slot in which each contribution of upload ``which`` is added; later packets follow the first."""
    packets = arrived[:, np.newaxis] + np.arange(chunks)
    if fabric.passes_pps is None:
        return np.asarray(packets[which])
    return served_slots(packets, np.bincount(which, minlength=len(arrived)), which, fabric)
