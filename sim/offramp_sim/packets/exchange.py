# SPDX-License-Identifier: Apache-2.0
"""A plan as the arrays of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import distinct
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.wire import LANES, frame_bytes
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.packets import layout as at
from offramp_sim.packets.machine import SimulationMemory
from offramp_sim.packets.topology import Topology

Acks = Literal["none", "marked", "all"]
ACKS: Final[tuple[Acks, ...]] = get_args(Acks)
"""Sums that their owners acknowledge to all who contributed.

None; a marked one, at most once in a guard time, as receivers of DCQCN notify; or all, as published (section 3.4).
"""


@dataclass(frozen=True, slots=True)
class ExchangeProtocol:
    """Protocol parameters of an exchange.

    Attributes:
        acks: one of :data:`ACKS`.
        control: whether hosts obey marks, which come back in acknowledgements.
        timeout_ps: time without progress until a host asks for what is missing.
        guard_ps: shortest time between two cuts of a host's rate.
        raise_ps: time without a mark after which the rate is raised by 5 Gbit/s.
        passes_pps: pipeline passes per second of each switch; None: free.
        aggregators: aggregators of each of the strawman's leaves, assigned on demand; owners add the sums of leaves.
            None: blocks, in which each vertex has its own, and the owner's leaf adds them.
    """

    acks: Acks = "all"
    control: bool = True
    timeout_ps: int = 200_000_000
    guard_ps: int = 50_000_000
    raise_ps: int = 55_000_000
    passes_pps: float | None = None
    aggregators: int | None = None


def load(machine: SimulationMemory, plan: Plan, topology: Topology, protocol: ExchangeProtocol) -> int:
    """Fill the engine's arrays; returns the largest number of blocks that one event's packets may begin."""
    for context in machine.contexts:
        context.data_bytes = wire_bytes(frame_bytes(plan.lanes // LANES))
    blocks, chunks, hosts, leaves = plan.blocks, plan.chunks, topology.hosts, topology.leaves
    leaf_of = topology.leaf_of()
    sizes = np.array([len(block.vertices) for block in blocks], np.int64)
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(base[-1])
    owner = _joined([block.owner for block in blocks])
    need = _joined([block.need for block in blocks])
    row = np.concatenate([[0], np.cumsum(need)]).astype(np.int64)
    neighbour = _joined([block.neighbours + start for block, start in zip(blocks, base[:-1], strict=True)])
    block_of = np.repeat(np.arange(len(blocks)), sizes)
    upload, upload_row, remain = _uploads(plan, base, hosts)
    # What each leaf sums: its own hosts' contributions, at the owner's leaf everybody's; the strawman has one level.
    rows = np.repeat(np.arange(total), need)
    local = np.bincount(leaf_of[owner[neighbour]] * total + rows, minlength=leaves * total)
    local = local.reshape(leaves, total)
    on_demand = protocol.aggregators is not None
    if not on_demand:
        local[leaf_of[owner], np.arange(total)] = need
    left = np.repeat(local.ravel(), chunks).astype(np.int32)
    acks = distinct(rows * hosts + owner[neighbour])
    ack_vertex, ack_host = np.divmod(acks, hosts)
    ack_row = np.searchsorted(ack_vertex, np.arange(total + 1))

    cells = total * chunks
    for field, array in (
        (at.PartitionState.owners, owner.astype(np.int32)),
        (at.PartitionState.block_of, block_of.astype(np.int32)),
        (at.PartitionState.rows, row),
        (at.PartitionState.neighbours, neighbour.astype(np.int32)),
        (at.PartitionState.upload_rows, upload_row),
        (at.PartitionState.uploads, upload),
        (at.PartitionState.remain, remain * chunks),
        (at.PartitionState.ack_rows, ack_row.astype(np.int64)),
        (at.PartitionState.ack_hosts, ack_host.astype(np.int32)),
        (at.PartitionState.left, np.concatenate([left, left])),
        (at.PartitionState.marked_sum, np.zeros(leaves * cells, np.uint8)),
        (at.PartitionState.seen, np.zeros(cells, np.uint8)),
        (at.PartitionState.finished, np.zeros(cells, np.uint8)),
        (at.PartitionState.missing, np.repeat(need, chunks).astype(np.int32)),
        (at.PartitionState.got, np.zeros(len(neighbour) * chunks, np.uint8)),
        (at.PartitionState.free_aggregators, np.full(leaves, protocol.aggregators or 0, np.int64)),
        (at.PartitionState.mode, np.zeros(leaves * cells if on_demand else 1, np.uint8)),
        (at.PartitionState.alone, np.zeros(cells if on_demand else 1, np.uint8)),
        (at.PartitionState.done_round, np.full(hosts, -1, np.int64)),
        (at.PartitionState.pass_free, np.zeros(leaves, np.int64)),
    ):
        machine.give(field, array)
    for context in machine.contexts:
        context.blocks, context.chunks, context.vertices = len(blocks), chunks, total
        context.acks, context.control = ACKS.index(protocol.acks), protocol.control
        context.timeout_ps = protocol.timeout_ps
        context.guard_ps, context.raise_ps = protocol.guard_ps, protocol.raise_ps
        context.pass_ps = 0 if protocol.passes_pps is None else round(1e12 / protocol.passes_pps)
        context.on_demand = on_demand
    return max(int(need.max(initial=0)), hosts, _fetch_blocks(plan, hosts))


def _fetch_blocks(plan: Plan, hosts: int) -> int:
    """Most blocks of packets that a host begins when it asks for the features of all its vertices of a block.

    Copies of a packet go to as many ports; what a host asks for goes out by one.
    """
    most = max((int(np.bincount(b.owner, b.need, hosts).max(initial=0)) for b in plan.blocks), default=0)
    return most * plan.chunks // at.BLOCK_SLOTS + 2


def _joined(parts: list[npt.NDArray[np.int64]] | list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)


def _uploads(plan: Plan, base: npt.NDArray[np.int64], hosts: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Vertices by block, host and upload order; the start of each block's and host's; their number."""
    parts, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for block, start in zip(plan.blocks, base[:-1].tolist(), strict=True):
        owner = block.owner[block.order]
        parts.append(block.order[np.argsort(owner, kind="stable")] + start)
        counts.append(np.bincount(owner, minlength=hosts))
    count = np.concatenate(counts)
    return np.concatenate(parts), np.concatenate([[0], np.cumsum(count)]).astype(np.int64), count.astype(np.int64)
