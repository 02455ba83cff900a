# SPDX-License-Identifier: Apache-2.0
"""Partial sums: one upload per worker and destination, one pass per packet (specification section 5.7)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, distinct
from offramp.switchgnn.chunks import aggregator_bytes
from offramp.switchgnn.copies import RowCopies
from offramp.switchgnn.plan import BlockPlan, Plan, require_blocks, require_ids
from offramp.switchgnn.wire import LANES
from offramp_base.settings.error import SettingsError


def partial_ids(boundary: Boundary | RowCopies) -> IntArray:
    """``(R,)`` ids, beyond those of the vertices, with which the partial sums of ``boundary.copies`` are sent.

    The graph is undirected, so a pair (vertex, worker that needs it) is a pair (vertex, worker that adds to it).
    """
    return len(boundary.owner) + np.arange(boundary.R)


def pairwise_plan(
    boundary: Boundary | RowCopies,
    chunks: int,
    memory_bytes: int,
    through: npt.NDArray[np.bool_] | None = None,
    first_block_id: int = 0,
    lanes: int = LANES,
) -> Plan:
    """Blocks of as many destinations as fit in ``memory_bytes``, for the partial sums that ``through`` selects.

    A partial sum is uploaded by the worker that made it and is added to one sum, as if it were a vertex with one
    neighbour. All workers go through the destinations in the same order, which takes turns among their owners, so
    that aggregators fill early and results spread over the links. An aggregator is needed for a destination only;
    partial sums take entries of the duplicate guard.

    Args:
        boundary: boundary of the partition.
        chunks: packets of a sum.
        memory_bytes: memory of the aggregators.
        through: ``(R,)`` which of ``boundary.copies`` go through the switch; None: all.
        first_block_id: Block_id of the first block.
        lanes: lanes of an aggregator.

    Raises:
        OfframpError: memory for no destination, more blocks than there are Block_ids, ids beyond 32 bits.
    """
    aggregators, limit = sums_in(memory_bytes, chunks, lanes)
    require_ids(len(boundary.owner) + boundary.R)
    pairs = np.arange(boundary.R) if through is None else np.flatnonzero(through)
    ids, (vertex, sender) = partial_ids(boundary)[pairs], boundary.copies[pairs].T
    destinations, place = in_turns(boundary.owner, vertex)
    count = -(-len(destinations) // limit)
    require_blocks(count, first_block_id)
    by_place = np.argsort(place[vertex], kind="stable")
    starts = np.searchsorted(place[vertex[by_place]], np.arange(1, count) * limit)
    blocks = [
        _block(first_block_id + i, boundary, ids[part], vertex[part], sender[part])
        for i, part in enumerate(np.split(by_place, starts) if count else [])
    ]
    counts = boundary.R, boundary.B, boundary.C
    return Plan(boundary.workers, chunks, aggregators, blocks, *counts, first_block_id, lanes)


def sums_in(memory_bytes: int, chunks: int, lanes: int = LANES) -> tuple[int, int]:
    """Number of aggregators in ``memory_bytes``, and number of sums of ``chunks`` packets that they hold.

    Raises:
        OfframpError: not one.
    """
    aggregators = memory_bytes // aggregator_bytes(lanes)
    if aggregators < chunks:
        raise SettingsError(
            "memory",
            f"holds {max(aggregators, 0)} aggregators; a sum needs {chunks}, "
            f"expected at least {chunks * aggregator_bytes(lanes)} B",
            f"{memory_bytes} B",
        )
    return aggregators, aggregators // chunks


def in_turns(owner: npt.NDArray[np.int32], vertices: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct ``vertices`` in an order that alternates between their owners, and the place of each vertex in it."""
    each = distinct(vertices.copy())
    each = each[_take_turns(owner[each])]
    place = np.empty(len(owner), np.int64)
    place[each] = np.arange(len(each))
    return each, place


def _take_turns(owner: npt.NDArray[np.int32]) -> IntArray:
    """Order that spreads every worker's items evenly."""
    by_owner = np.argsort(owner, kind="stable")
    counts = np.bincount(owner)
    nth = np.empty(len(owner), np.int64)
    nth[by_owner] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.lexsort((owner, (nth + 0.5) / counts[owner]))


def _block(
    block_id: int, boundary: Boundary | RowCopies, ids: IntArray, vertex: IntArray, sender: IntArray
) -> BlockPlan:
    """The block of partial sums ``ids`` for ``vertex`` by ``sender``, given in upload order."""
    sums = distinct(vertex.copy())
    by_id = np.argsort(ids)
    vertices = np.concatenate([sums, ids[by_id]])
    owner = np.concatenate([boundary.owner[sums], sender[by_id]]).astype(np.int32)
    fan_out = np.repeat([0, 1], [len(sums), len(ids)])
    order = np.argsort(by_id) + len(sums)
    indptr = np.concatenate([[0], np.cumsum(fan_out)])
    return BlockPlan(block_id, vertices, owner, indptr, np.searchsorted(sums, vertex[by_id]), order, directed=True)
