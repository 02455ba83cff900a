# SPDX-License-Identifier: Apache-2.0
"""Send blocks through the switch as long as that saves bytes, the other edges between hosts (specification 8.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, distinct
from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.workers.traffic import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES
from offramp_sim.slot.host_based import slot_seconds
from offramp_sim.slot.in_network import planned
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, StarFabric
from offramp_sim.slot.result import ExchangeResult


def hybrid(boundary: Boundary, features: int, plan: Plan, fabric: StarFabric) -> ExchangeResult:
    """Send the leading blocks of ``plan`` through the switch and the other edges host-based, with the fewest bytes.

    The split lies between two levels, where bytes on the wire are fewest, so that it never sends more than a
    host-based exchange (specification section 8.5).
    """
    kept, rest = hybrid_split(boundary, features, plan)
    part = Plan(plan.workers, plan.chunks, plan.aggregators, plan.blocks[:kept], plan.R, plan.B, plan.C)
    switch = planned(part, fabric, "hybrid")
    packets = _copies_packets(rest, features, plan.workers)
    host_bytes = len(rest) * 4 * features + int(packets.sum()) * HOST_OVERHEAD_BYTES
    busiest = max(int(packets.sum(axis=axis).max(initial=0)) for axis in (0, 1))
    host_s = busiest * slot_seconds(fabric) + 2 * fabric.delay_s * bool(busiest)
    return ExchangeResult(
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
    parts = [np.zeros(0, np.int64)]
    owners: dict[int, int] = {}
    for block in blocks:
        rows = np.repeat(np.arange(len(block.need)), block.need)
        parts.append(block.vertices[rows] * workers + block.owner[block.neighbours])
        owners.update(zip(block.vertices.tolist(), block.owner.tolist(), strict=True))
    vertex, worker = np.divmod(distinct(np.concatenate(parts)), workers)
    owner = np.array([owners[v] for v in vertex.tolist()], np.int64)
    return np.stack([vertex, owner, worker], axis=1)


def _copies_packets(copies: IntArray, features: int, workers: int) -> IntArray:
    streams = 4 * features * np.bincount(copies[:, 1] * workers + copies[:, 2], minlength=workers * workers)
    return np.asarray(-(-streams // HOST_PAYLOAD_BYTES)).reshape(workers, workers)
