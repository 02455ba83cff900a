# SPDX-License-Identifier: Apache-2.0
"""The choice of copies that hosts send themselves, by the bytes that each saves (specification section 8.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

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
"""Most arcs of a closure, which takes too long beyond: then whole levels, and copies by passes, are considered."""

_UNCUTTABLE = 2**30

_MASKS: WeakKeyDictionary[Plan, dict[tuple[int, float], Mask]] = WeakKeyDictionary()
"""Masks by lanes and price: several schemes have the same blocks."""

PASS_SHARES = (0.0, 0.1, 0.2, 0.4, 0.8)
"""Prices of a pass through the pipeline, as shares of the bytes of a copy between hosts."""


def selections(boundary: Boundary, plan: Plan, lanes: int, prices: Sequence[float] = (0.0,)) -> Iterator[Mask]:
    """``(R,)`` masks over ``boundary.copies`` of those that hosts send themselves.

    A copy of a vertex for a worker is saved when all contributions behind it go through the switch, which takes the
    upload of the vertex in each of their blocks and the results that they are added to. To choose what to upload and
    what to send back so that the copies saved are worth most beyond their cost is a maximum closure, a minimum cut.

    Args:
        boundary: boundary of the partition.
        plan: the blocks of the switch alone.
        lanes: lanes of a vector.
        prices: prices of a pass, ascending, as shares of the bytes of a copy between hosts. Each contribution behind a
            copy takes a pass, so that copies that save few bytes per pass are the first that hosts send. At price 0
            the mask is the one of fewest bytes. Blocks too large for a closure drop whole levels, then single copies.
    """
    arcs = sum(len(block.neighbours) for block in plan.blocks) + plan.uploads + plan.results + boundary.R
    if arcs <= MAX_ARCS:
        known, closure = _MASKS.setdefault(plan, {}), None
        for price in prices:
            if (lanes, price) not in known:
                closure = closure or _Closure(boundary, plan, lanes)
                known[lanes, price] = closure.hosted(price)
            yield known[lanes, price]
        return
    behind = [copies_behind(boundary, block) for block in plan.blocks]
    for level in range(1, plan.levels):
        hosted = np.zeros(boundary.R, np.bool_)
        for block, copies in zip(plan.blocks, behind, strict=True):
            if block.level >= level:
                hosted[copies] = True
        yield hosted
    passes = np.bincount(np.concatenate(behind), minlength=boundary.R)
    for price in filter(None, prices):
        yield price * passes >= 1


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


class _Closure:
    """The network whose minimum cut separates the copies worth less than the uploads and results that would save them.

    Args:
        boundary: boundary of the partition.
        plan: the blocks of the switch alone.
        lanes: lanes of a vector.
    """

    def __init__(self, boundary: Boundary, plan: Plan, lanes: int) -> None:
        behind, upload, result = [], [], []
        first = 0
        for block in plan.blocks:
            behind.append(copies_behind(boundary, block))
            upload.append(first + rows_of(block.indptr))
            result.append(first + len(block.vertices) + block.neighbours)
            first += 2 * len(block.vertices)
        none = np.zeros(0, np.int64)
        self._passes = np.bincount(np.concatenate([none, *behind]), minlength=boundary.R)
        self._host = round(2 * 4 * lanes * (1 + HOST_OVERHEAD_BYTES / HOST_PAYLOAD_BYTES))
        switch = vector_wire_bytes(lanes, plan.lanes)
        copies = np.concatenate([none, *behind, *behind])
        items = np.concatenate([none, *upload, *result])
        self._source, sink = boundary.R + first, boundary.R + first + 1
        # As one number each: pairs sort far slower.
        needs, needed = np.divmod(distinct(copies * first + items), max(1, first))
        used = np.flatnonzero(np.bincount(items, minlength=first))
        tails = np.concatenate([np.full(boundary.R, self._source), needs, boundary.R + used])
        heads = np.concatenate([np.arange(boundary.R), boundary.R + needed, np.full(len(used), sink)])
        self._rest = np.repeat([_UNCUTTABLE, switch], [len(needs), len(used)]).astype(np.int32)
        self._arcs = coo_array((np.arange(len(tails)), (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()

    def hosted(self, price: float) -> Mask:
        """``(R,)`` copies that are not worth what would save them, where a pass costs ``price`` of a copy's bytes."""
        worth = np.maximum(0, self._host - np.rint(price * self._host * self._passes))
        worth[self._passes == 0] = 0  # nothing goes through the switch for them
        capacity = np.concatenate([worth.astype(np.int32), self._rest])[self._arcs.data]
        network = csr_array((capacity, self._arcs.indices, self._arcs.indptr), shape=self._arcs.shape)
        residual = network - maximum_flow(network, self._source, self._source + 1).flow
        residual.data[residual.data < 0] = 0
        residual.eliminate_zeros()
        saved = breadth_first_order(residual, self._source, return_predecessors=False)
        hosted = np.ones(len(worth), np.bool_)
        hosted[saved[saved < len(worth)]] = False
        return hosted
