# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's exchange at slot level: the blocks of a plan, one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.graph.csr import IntArray, distinct
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.wire import SHORT_FRAME_BYTES
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, BlockTrace, StarFabric, block_trace, require_paper_packets
from offramp_sim.slot.result import ExchangeResult, Series

ACK_WIRE_BYTES = wire_bytes(SHORT_FRAME_BYTES)
"""Bytes of an ACK on a link."""


def planned(
    plans: Plan | Sequence[Plan], fabric: StarFabric, scheme: str = "switchgnn", *, acks: bool = False
) -> ExchangeResult:
    """Run the blocks of a plan one after another, or those of several plans, each for a slice of the features."""
    parts = [plans] if isinstance(plans, Plan) else list(plans)
    require_paper_packets(parts)
    traced = {
        id(plan): [block_trace(block, plan.workers, plan.chunks, fabric) for block in plan.blocks] for plan in parts
    }
    traces = [trace for plan in parts for trace in traced[id(plan)]]
    loads = np.concatenate([np.zeros((1, parts[0].workers), np.int64), *(_loads(plan) for plan in parts)])
    up_bytes = sum(plan.packets for plan in parts) * PACKET_WIRE_BYTES
    blocks = sum(len(plan.blocks) for plan in parts)
    return ExchangeResult(
        scheme,
        sum(trace.slots for trace in traces) * fabric.slot_s,
        fabric.slot_s,
        PACKET_WIRE_BYTES,
        up_bytes,
        up_bytes,
        ack_bytes=sum(_ack_packets(plan) for plan in parts) * ACK_WIRE_BYTES if acks else 0,
        recirculated_bytes=sum(plan.recirculations for plan in parts) * PACKET_WIRE_BYTES,
        down_vectors=parts[0].results,
        blocks=blocks,
        levels=parts[0].levels,
        barrier_s=4 * fabric.delay_slots * fabric.slot_s * blocks,
        imbalance=float(loads.max(axis=1).sum() / loads.sum(axis=0).mean()) if up_bytes else 1.0,
        aggregators=max(plan.aggregators for plan in parts),
        series=_series(traces),
    )


def _loads(plan: Plan) -> IntArray:
    """``(blocks, workers)`` packets that each worker uploads in each block."""
    counts = [np.bincount(block.owner, minlength=plan.workers) for block in plan.blocks]
    return np.array(counts, np.int64).reshape(-1, plan.workers) * plan.chunks


def _ack_packets(plan: Plan) -> int:
    """One up for each result, and one down to each worker that has sent to it."""
    down = 0
    for block in plan.blocks:
        rows = np.repeat(np.arange(len(block.need)), block.need)
        down += len(distinct(rows * plan.workers + block.owner[block.neighbours]))
    return (plan.uploads + down) * plan.chunks


def _series(traces: list[BlockTrace]) -> Series:
    def joined(values: list[IntArray]) -> IntArray:
        return np.concatenate([np.zeros(0, np.int64), *values])

    queue = [padded(trace.waiting, trace.slots) for trace in traces]
    return Series(
        joined(queue),
        joined([padded(trace.open, trace.slots) for trace in traces]),
        joined([padded(trace.added, trace.slots) for trace in traces]),
        joined([padded(trace.sent, trace.slots) for trace in traces]),
    )


def padded(values: IntArray, length: int) -> IntArray:
    """``values`` with zeros behind them up to ``length``."""
    return np.pad(values, (0, length - len(values)))
