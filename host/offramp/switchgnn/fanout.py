# SPDX-License-Identifier: Apache-2.0
"""Entries of ``v2agg``: from a vertex and a hop to a neighbour's aggregator (specification section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, rows_of
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import V1MODEL, ProgramTarget

TABLE = "SwitchGnnIngress.fanout.v2agg"
AGGREGATE = "SwitchGnnIngress.fanout.aggregate"
DELIVER = "SwitchGnnIngress.fanout.deliver"
CONTRIBUTE = "SwitchGnnIngress.fanout.contribute"


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions in all blocks of all plans; every array has an entry for each directed cut edge.

    Attributes:
        block_id: id of the block.
        src_id: the vertex that is uploaded.
        hop: counts the neighbours of ``src_id`` in the block.
        last: 1 for the last of them.
        dst_id: the vertex whose sum it enters.
        base: first chunk's aggregator of the sum.
        need: contributions that complete the sum.
        chunks: packets for each vertex.
        src_owner, dst_owner: workers that own the two vertices.
    """

    block_id: IntArray
    src_id: IntArray
    hop: IntArray
    last: IntArray
    dst_id: IntArray
    base: IntArray
    need: IntArray
    chunks: IntArray
    src_owner: IntArray
    dst_owner: IntArray

    def select(self, which: npt.NDArray[Any]) -> Contributions:
        """The contributions that a mask or indices select."""
        return Contributions(*(getattr(self, f.name)[which] for f in fields(self)))


def contributions(plans: Sequence[Plan], target: ProgramTarget = V1MODEL) -> Contributions:
    """The contributions of plans with disjoint Block_ids, hops in ascending order of the neighbours."""
    columns: list[list[IntArray]] = []
    for plan in plans:
        for block in plan.blocks:
            source, neighbour = rows_of(block.indptr), block.neighbours
            hop = np.arange(len(neighbour)) - block.indptr[source]
            columns.append(
                [
                    np.full(len(neighbour), block.block_id),
                    block.vertices[source],
                    hop,
                    (hop == block.fan_out[source] - 1).astype(np.int64),
                    block.vertices[neighbour],
                    target.bases(block.slots[neighbour], plan.chunks),
                    block.need[neighbour],
                    np.full(len(neighbour), plan.chunks),
                    block.owner[source].astype(np.int64),
                    block.owner[neighbour].astype(np.int64),
                ]
            )
    empty = [np.zeros(0, np.int64)] * len(fields(Contributions))
    return Contributions(*(np.concatenate(column) for column in zip(empty, *columns, strict=True)))


def fanout_rows(plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget = V1MODEL) -> list[ActionRows]:
    """One entry per directed cut edge of each block: those that aggregate, and those that deliver at once.

    Args:
        plans: plans with disjoint Block_ids.
        ports: switch port of each worker.
        target: the program that runs them.
    """
    terms = contributions(plans, target)
    if target.replicates:
        terms = by_port(terms, ports)
    return sum_rows(terms, np.asarray(ports, np.int64)[terms.dst_owner], target)


def by_port(terms: Contributions, ports: Sequence[int]) -> Contributions:
    """The contributions with each vertex's hops in the order of the ports to which they lead."""
    port = np.asarray(ports, np.int64)[terms.dst_owner]
    terms = terms.select(np.lexsort((terms.hop, port, terms.src_id, terms.block_id)))
    starts = np.flatnonzero(np.diff(terms.src_id, prepend=-1) | np.diff(terms.block_id, prepend=-1))
    sizes = np.diff(np.append(starts, len(terms.src_id)))
    hop = np.arange(len(terms.src_id)) - np.repeat(starts, sizes)
    return replace(terms, hop=hop, last=(hop == np.repeat(sizes, sizes) - 1).astype(np.int64))


def sum_rows(terms: Contributions, ports: IntArray, target: ProgramTarget = V1MODEL) -> list[ActionRows]:
    """The entries of contributions to sums that leave by ``ports`` of this switch."""
    single = terms.need == 1
    return [
        fanout_entries(AGGREGATE, terms.select(~single), ports[~single], target),
        fanout_entries(DELIVER, terms.select(single), ports[single], target),
    ]


def fanout_entries(action: str, terms: Contributions, ports: IntArray, target: ProgramTarget = V1MODEL) -> ActionRows:
    """Entries of one action; :data:`DELIVER` needs no aggregator."""
    keys = {"block_id": terms.block_id, "src_id": terms.src_id, "hop": terms.hop}
    params = {"base": terms.base, "need": terms.need} if action != DELIVER else {}
    return ActionRows(
        target.full(TABLE),
        target.action(action),
        keys,
        {**params, "port": ports, "dst_id": terms.dst_id, "last": terms.last},
    )
