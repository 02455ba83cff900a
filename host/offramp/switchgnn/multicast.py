# SPDX-License-Identifier: Apache-2.0
"""Rows that are uploaded once and delivered to every worker that needs them: sums of one term each.

The switch's program is that of sums. A copy of a vertex at a worker is a vertex of its own, whose only neighbour is the
original; adding to an empty aggregator changes no bit, so that any 32-bit values travel. Gradients of the copies take
the plan of partial sums the other way (:func:`offramp.switchgnn.pairwise.pairwise_plan`), and are added up on it.
"""

from __future__ import annotations

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn.copies import RowCopies
from offramp.switchgnn.pairwise import in_turns, partial_ids, sums_in
from offramp.switchgnn.plan import BlockPlan, Plan, require_blocks, require_ids
from offramp.switchgnn.wire import LANES


def multicast_plan(
    copies: RowCopies, chunks: int, memory_bytes: int, first_block_id: int = 0, lanes: int = LANES
) -> Plan:
    """Blocks of as many copies as fit in ``memory_bytes``, by vertices that alternate between their owners.

    A vertex whose copies are in two blocks is uploaded in both.

    Args:
        copies: rows that workers need of other workers.
        chunks: packets of a row.
        memory_bytes: memory of the aggregators.
        first_block_id: Block_id of the first block.
        lanes: lanes of an aggregator.

    Raises:
        OfframpError: memory for no copy, more blocks than there are Block_ids, ids beyond 32 bits.
    """
    aggregators, limit = sums_in(memory_bytes, chunks, lanes)
    require_ids(len(copies.owner) + copies.R)
    count = -(-copies.R // limit)
    require_blocks(count, first_block_id)
    _, place = in_turns(copies.owner, copies.copies[:, 0])
    by_place = np.argsort(place[copies.copies[:, 0]], kind="stable")
    parts = np.split(by_place, np.arange(1, count) * limit) if count else []
    blocks = [_block(first_block_id + i, copies, part) for i, part in enumerate(parts)]
    counts = copies.R, copies.B, copies.C
    return Plan(copies.workers, chunks, aggregators, blocks, *counts, first_block_id, lanes)


def _block(block_id: int, copies: RowCopies, part: IntArray) -> BlockPlan:
    """The block of the pairs ``part`` of ``copies``, in upload order."""
    vertex, receiver = copies.copies[part].T
    sources, first = np.unique(vertex, return_index=True)
    ids, pairs = partial_ids(copies)[part], np.sort(part)
    fan_out = np.bincount(np.searchsorted(sources, vertex), minlength=len(sources))
    return BlockPlan(
        block_id,
        vertices=np.concatenate([sources, np.sort(ids)]),
        owner=np.concatenate([copies.owner[sources], copies.copies[pairs, 1]]).astype(np.int32),
        indptr=np.concatenate([[0], np.cumsum(fan_out), np.full(len(receiver), len(receiver))]),
        neighbours=len(sources) + np.arange(len(receiver)),
        order=np.argsort(first),
        directed=True,
    )
