# SPDX-License-Identifier: Apache-2.0
"""The choice of copies that hosts send themselves, for the fewest bytes per exchange (specification section 8.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, distinct, rows_of
from offramp.switchgnn.chunks import vector_wire_bytes
from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.workers.traffic import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES

Mask = npt.NDArray[np.bool_]

MAX_ARCS = 1_000_000
"""Most arcs of a closure, which takes too long beyond; then only whole levels of blocks are considered."""

_UNCUTTABLE = 2**30


def selections(boundary: Boundary, plan: Plan, lanes: int) -> Iterator[Mask]:
    """``(R,)`` masks over ``boundary.copies`` of those that hosts send themselves, including the best mask.

    A copy of a vertex for a worker is saved when all contributions behind it go through the switch, which takes the
    upload of the vertex in each of their blocks and the results that they are added to. To choose what to upload and
    what to send back so that the copies saved are worth most beyond their cost is a maximum closure, a minimum cut.
    """
    host = round(2 * 4 * lanes * (1 + HOST_OVERHEAD_BYTES / HOST_PAYLOAD_BYTES))
    switch = vector_wire_bytes(lanes, plan.lanes)
    arcs = sum(len(block.neighbours) for block in plan.blocks) + plan.uploads + plan.results + boundary.R
    if arcs <= MAX_ARCS:
        yield _closure(boundary, plan, host, switch)
        return
    for level in range(1, plan.levels):
        hosted = np.zeros(boundary.R, np.bool_)
        for block in plan.blocks:
            if block.level >= level:
                hosted[copies_behind(boundary, block)] = True
        yield hosted


def selections_of_partials(boundary: Boundary, plan: Plan, lanes: int) -> Iterator[Mask]:
    """The same for partial sums: a destination with few contributing workers is not worth its result."""
    r = np.repeat(boundary.r, boundary.r)
    host = 2 * 4 * lanes * (1 + HOST_OVERHEAD_BYTES / HOST_PAYLOAD_BYTES)
    yield r * host <= (r + 1) * vector_wire_bytes(lanes, plan.lanes)


def copies_behind(boundary: Boundary, block: BlockPlan) -> IntArray:
    """Index into ``boundary.copies`` of the copy that would carry each contribution of a block."""
    keys = boundary.copies[:, 0] * boundary.workers + boundary.copies[:, 1]
    wanted = block.vertices[rows_of(block.indptr)] * boundary.workers + block.owner[block.neighbours]
    return np.searchsorted(keys, wanted)


def without(boundary: Boundary, plan: Plan, hosted: Mask) -> Plan:
    """``plan`` without the contributions behind ``hosted`` copies."""
    if not hosted.any():
        return plan
    blocks: list[BlockPlan] = []
    for block in plan.blocks:
        keep = ~hosted[copies_behind(boundary, block)]
        if keep.any():
            left = block if keep.all() else _restricted(block, keep)
            blocks.append(replace(left, block_id=plan.first_block_id + len(blocks)))
    return replace(plan, blocks=blocks)


def _restricted(block: BlockPlan, keep: Mask) -> BlockPlan:
    source, target = rows_of(block.indptr)[keep], block.neighbours[keep]
    used = np.union1d(source, target)
    rank = np.full(len(block.vertices), -1, np.int64)
    rank[used] = np.arange(len(used))
    fan_out = np.bincount(rank[source], minlength=len(used))
    order = rank[block.order]
    order = order[order >= 0]
    return BlockPlan(
        block.block_id,
        block.vertices[used],
        block.owner[used],
        np.concatenate([[0], np.cumsum(fan_out)]),
        rank[target],
        order[fan_out[order] > 0],
        block.level,
        directed=True,
    )


def _closure(boundary: Boundary, plan: Plan, host: int, switch: int) -> Mask:
    """Copies that are worth less than the uploads and results that would save them."""
    copy, upload, result = [], [], []
    first = 0
    for block in plan.blocks:
        copy.append(copies_behind(boundary, block))
        upload.append(first + rows_of(block.indptr))
        result.append(first + len(block.vertices) + block.neighbours)
        first += 2 * len(block.vertices)
    if not copy:
        return np.ones(boundary.R, np.bool_)
    copies, items = np.concatenate([*copy, *copy]), np.concatenate([*upload, *result])
    source, sink = boundary.R + first, boundary.R + first + 1
    needs, needed = np.divmod(distinct(copies * first + items), first)  # as one number each: pairs sort far slower
    used = np.flatnonzero(np.bincount(items, minlength=first))
    tails = np.concatenate([np.full(boundary.R, source), needs, boundary.R + used])
    heads = np.concatenate([np.arange(boundary.R), boundary.R + needed, np.full(len(used), sink)])
    capacity = np.repeat([host, _UNCUTTABLE, switch], [boundary.R, len(needs), len(used)]).astype(np.int32)
    network = coo_array((capacity, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    residual = network - maximum_flow(csr_array(network), source, sink).flow
    residual.data[residual.data < 0] = 0
    residual.eliminate_zeros()
    saved = breadth_first_order(residual, source, return_predecessors=False)
    hosted = np.ones(boundary.R, np.bool_)
    hosted[saved[saved < boundary.R]] = False
    return hosted
