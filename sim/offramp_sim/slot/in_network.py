"""SwitchGNN's exchange at slot level, as published and with the extensions of the specification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.errors import OfframpError
from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray
from offramp.switch.switchgnn.plan import BlockPlan, Plan, make_plan
from offramp.switch.switchgnn.volume import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES
from offramp.wire.ethernet import wire_bytes
from offramp.wire.switchgnn import SHORT_FRAME_BYTES
from offramp_sim.slot.fifo import backlog, departures
from offramp_sim.slot.host_based import slot_seconds
from offramp_sim.slot.outcome import Outcome, Series, imbalance
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, BlockTrace, Fabric, block_trace

ACK_WIRE_BYTES = wire_bytes(SHORT_FRAME_BYTES)
"""An ACK on a link."""


def planned(plan: Plan, fabric: Fabric, scheme: str = "switchgnn", *, acks: bool = False, repeat: int = 1) -> Outcome:
    """Run the blocks of ``plan`` one after another, all of them ``repeat`` times (a slice of the features each)."""
    traces = [block_trace(block, plan.workers, plan.chunks, fabric) for block in plan.blocks]
    slots = repeat * sum(trace.slots for trace in traces)
    packets = plan.packets * repeat
    loads = np.zeros(plan.workers, np.int64)
    busiest = 0
    for block in plan.blocks:
        load = np.bincount(block.owner, minlength=plan.workers)
        loads += load
        busiest += int(load.max())
    return Outcome(
        scheme,
        slots * fabric.slot_s,
        fabric.slot_s,
        PACKET_WIRE_BYTES,
        packets * PACKET_WIRE_BYTES,
        packets * PACKET_WIRE_BYTES,
        ack_bytes=_ack_packets(plan) * repeat * ACK_WIRE_BYTES if acks else 0,
        recirculated_bytes=plan.recirculations * repeat * PACKET_WIRE_BYTES,
        down_vectors=plan.results,
        blocks=len(plan.blocks) * repeat,
        levels=plan.levels,
        barrier_s=4 * fabric.delay_slots * fabric.slot_s * len(plan.blocks) * repeat,
        imbalance=busiest / loads.mean() if busiest else 1.0,
        aggregators=plan.aggregators,
        series=_series(traces),
    )


def _ack_packets(plan: Plan) -> int:
    """One up for each result, and one down to each worker that has sent to it."""
    down = 0
    for block in plan.blocks:
        rows = np.repeat(np.arange(len(block.need)), block.need)
        down += len(np.unique(rows * plan.workers + block.owner[block.neighbours]))
    return (plan.uploads + down) * plan.chunks


def _series(traces: list[BlockTrace]) -> Series:
    def joined(values: list[IntArray]) -> IntArray:
        return np.concatenate([np.zeros(0, np.int64), *values])

    queue = [_padded(trace.queue.sum(axis=1, dtype=np.int64), trace.slots) for trace in traces]
    return Series(
        joined(queue),
        joined([_padded(trace.open, trace.slots) for trace in traces]),
        joined([_padded(trace.added, trace.slots) for trace in traces]),
        joined([_padded(trace.sent, trace.slots) for trace in traces]),
    )


def _padded(values: IntArray, length: int) -> IntArray:
    return np.pad(values, (0, length - len(values)))


def chunk_major(boundary: Boundary, chunks: int, memory_bytes: int, fabric: Fabric, seed: int = 0) -> Outcome:
    """A slice of 128 bytes of every vertex before the next: one aggregator a vertex, a barrier for each slice."""
    plan = make_plan(boundary, 1, memory_bytes, "gamr", seed)
    return planned(plan, fabric, "chunk-major", repeat=chunks)


def hybrid(boundary: Boundary, features: int, plan: Plan, fabric: Fabric) -> Outcome:
    """The leading blocks of ``plan`` through the switch and the other edges host-based, where bytes are fewest.

    The stop is chosen between levels by bytes on the wire, so that it never sends more than host-based
    (specification section 8.5).
    """
    kept, rest = hybrid_split(boundary, features, plan)
    part = Plan(plan.workers, plan.chunks, plan.aggregators, plan.blocks[:kept], plan.R, plan.B, plan.C)
    switch = planned(part, fabric, "hybrid")
    packets = _copies_packets(rest, features, plan.workers)
    host_bytes = len(rest) * 4 * features + int(packets.sum()) * HOST_OVERHEAD_BYTES
    busiest = max(int(packets.sum(axis=axis).max(initial=0)) for axis in (0, 1))
    host_s = busiest * slot_seconds(fabric) + 2 * fabric.delay_s * bool(busiest)
    return Outcome(
        "hybrid",
        switch.seconds + host_s,
        fabric.slot_s,
        PACKET_WIRE_BYTES,
        switch.up_bytes + host_bytes,
        switch.down_bytes + host_bytes,
        recirculated_bytes=switch.recirculated_bytes,
        down_vectors=switch.down_vectors + len(rest),
        blocks=switch.blocks,
        levels=switch.levels,
        barrier_s=switch.barrier_s,
        imbalance=switch.imbalance,
        aggregators=plan.aggregators,
        series=switch.series,
    )


def hybrid_split(boundary: Boundary, features: int, plan: Plan) -> tuple[int, IntArray]:
    """Blocks that go through the switch, and the sorted pairs (vertex, worker) that are sent by hosts."""
    starts = [0, *(i for i in range(1, len(plan.blocks)) if plan.blocks[i].level != plan.blocks[i - 1].level)]
    best: tuple[int, int, IntArray] | None = None
    uploaded = np.cumsum([0, *(len(block.vertices) for block in plan.blocks)])
    for kept in (*starts, len(plan.blocks)):
        rest = _copies(plan.blocks[kept:], boundary.workers)
        packets = int(_copies_packets(rest, features, boundary.workers).sum())
        host = len(rest) * 4 * features + packets * HOST_OVERHEAD_BYTES
        cost = int(uploaded[kept]) * plan.chunks * PACKET_WIRE_BYTES + host
        if best is None or cost < best[0]:
            best = cost, kept, rest
    assert best is not None
    return best[1:]


def _copies(blocks: Sequence[BlockPlan], workers: int) -> IntArray:
    """``(p, 3)`` vertex, its owner and a worker that needs it, each once."""
    found = [np.zeros(0, np.int64)]
    owners: dict[int, int] = {}
    for block in blocks:
        rows = np.repeat(np.arange(len(block.need)), block.need)
        found.append(block.vertices[rows] * workers + block.owner[block.neighbours])
        owners.update(zip(block.vertices.tolist(), block.owner.tolist(), strict=True))
    vertex, worker = np.divmod(np.unique(np.concatenate(found)), workers)
    owner = np.array([owners[v] for v in vertex.tolist()], np.int64)
    return np.stack([vertex, owner, worker], axis=1)


def _copies_packets(copies: IntArray, features: int, workers: int) -> IntArray:
    streams = 4 * features * np.bincount(copies[:, 1] * workers + copies[:, 2], minlength=workers * workers)
    return np.asarray(-(-streams // HOST_PAYLOAD_BYTES)).reshape(workers, workers)


def pairwise(boundary: Boundary, chunks: int, memory_bytes: int, fabric: Fabric) -> Outcome:
    """Each worker sums what it has for a vertex and sends the sum: one pass a packet, R up, B down (section 5.7).

    All workers go through the destinations in the same order, window by window of as many as fit; a window is a
    block with a barrier.
    """
    limit = memory_bytes // (128 * chunks)
    if limit < 1:
        raise OfframpError(f"memory {memory_bytes} B: expected at least {128 * chunks} B, an aggregator a chunk")
    # By symmetry, a pair (vertex, worker that needs it) is also a pair (vertex, worker that sends to it).
    rank = np.searchsorted(boundary.vertices, boundary.copies[:, 0])
    owner = boundary.owner[boundary.vertices].astype(np.int64)
    slots = blocks = 0
    queues, opens, adds, sends = [], [], [], []
    later = np.arange(chunks)
    for start in range(0, boundary.B, limit):
        inside = (rank >= start) & (rank < start + limit)
        to, sender = rank[inside] - start, boundary.copies[inside, 1]
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
        queues.append(_padded(backlog(ready, left), length))
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
