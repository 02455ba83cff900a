"""Partial sums at the source: one pass a packet, no table of neighbours (specification section 5.7)."""

from __future__ import annotations

import numpy as np

from offramp.errors import OfframpError
from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray
from offramp_sim.slot.fifo import backlog, departures
from offramp_sim.slot.in_network import padded
from offramp_sim.slot.outcome import Outcome, Series, imbalance
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, Fabric


def pairwise(boundary: Boundary, chunks: int, memory_bytes: int, fabric: Fabric) -> Outcome:
    """Each worker sums what it has for a vertex and sends the sum: one pass a packet, R up, B down (section 5.7).

    All workers go through the destinations in the same order, window by window of as many as fit; a window is a
    block with a barrier. Destinations are taken from the workers in turn, so that all links are busy in each window.
    """
    limit = memory_bytes // (128 * chunks)
    if limit < 1:
        raise OfframpError(f"memory {memory_bytes} B: expected at least {128 * chunks} B, an aggregator a chunk")
    # By symmetry, a pair (vertex, worker that needs it) is also a pair (vertex, worker that sends to it).
    owner = boundary.owner[boundary.vertices].astype(np.int64)
    dealt = _in_turn(owner)
    rank = np.empty(boundary.B, np.int64)
    rank[dealt] = np.arange(boundary.B)
    rank = rank[np.searchsorted(boundary.vertices, boundary.copies[:, 0])]
    by_rank = np.argsort(rank, kind="stable")
    rank, senders, owner = rank[by_rank], boundary.copies[by_rank, 1], owner[dealt]
    slots = blocks = 0
    queues, opens, adds, sends = [], [], [], []
    later = np.arange(chunks)
    for start in range(0, boundary.B, limit):
        inside = (rank >= start) & (rank < start + limit)
        to, sender = rank[inside] - start, senders[inside]
        fifo = np.lexsort((to, sender))
        place = np.empty(len(to), np.int64)
        place[fifo] = np.arange(len(to)) - np.searchsorted(sender[fifo], sender[fifo])
        arrival = place * chunks + fabric.delay_slots
        count = min(limit, boundary.B - start)
        starts = np.searchsorted(to, np.arange(count))
        first, done = (f.reduceat(arrival, starts) for f in (np.minimum, np.maximum))
        ready = (done[:, np.newaxis] + later).ravel()
        left = departures(ready, np.repeat(owner[start : start + count], chunks))
        last = int(left.max()) + 1
        length = last + 3 * fabric.delay_slots
        opened = np.bincount((first[:, np.newaxis] + later).ravel(), minlength=length)
        queues.append(padded(backlog(ready, left), length))
        opens.append(np.cumsum(opened - np.bincount(ready, minlength=length)))
        adds.append(np.bincount((arrival[:, np.newaxis] + later).ravel(), minlength=length))
        sends.append(np.bincount(left, minlength=length))
        slots += length
        blocks += 1
    series = Series(*(np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (queues, opens, adds, sends)))
    return Outcome(
        "pairwise",
        slots * fabric.slot_s,
        fabric.slot_s,
        PACKET_WIRE_BYTES,
        boundary.R * chunks * PACKET_WIRE_BYTES,
        boundary.B * chunks * PACKET_WIRE_BYTES,
        down_vectors=boundary.B,
        blocks=blocks,
        levels=1,
        barrier_s=4 * fabric.delay_slots * fabric.slot_s * blocks,
        imbalance=imbalance(np.bincount(boundary.copies[:, 1], minlength=boundary.workers)),
        aggregators=limit * chunks,
        series=series,
    )


def _in_turn(owner: IntArray) -> IntArray:
    """Vertices in the order in which the workers put down one each, again and again."""
    by_owner = np.argsort(owner, kind="stable")
    turn = np.empty(len(owner), np.int64)
    turn[by_owner] = np.arange(len(owner)) - np.searchsorted(owner[by_owner], owner[by_owner])
    return np.lexsort((owner, turn))
