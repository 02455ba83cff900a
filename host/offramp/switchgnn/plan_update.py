# SPDX-License-Identifier: Apache-2.0
"""A plan for a graph that has changed a little: blocks whose edges are the same stay as they are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from offramp.graph.blocks import CutBlock, plan_blocks
from offramp.graph.csr import IntArray, distinct, rows_of
from offramp.graph.order import order_ranks
from offramp.switchgnn.plan import MAX_NEED, BlockPlan, Plan, require_blocks, require_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.boundary import Boundary

_ID_BITS = 32


@dataclass(frozen=True)
class Update:
    """A plan, and how many of its blocks are those of the plan before, under the same Block_ids."""

    plan: Plan
    kept: int


def updated(plan: Plan, boundary: Boundary, order: str = "gamr", seed: int = 0) -> Update:
    """The plan of ``boundary`` that has as much as possible of ``plan``, which was made for another state of the graph.

    Edges that are cut no longer leave their blocks. One that is new joins a block that has both of its ends, else one
    that has an end and room, else a block of those that are left over. Work grows with the plan's edges linearly, and
    no partitioner runs but on what is left over. Every update may add uploads that a plan from scratch would not have.

    Raises:
        OfframpError: vertex ids beyond 32 bits, or more blocks than there are Block_ids.
    """
    require_ids(int(boundary.vertices[-1]) + 1 if boundary.B else 0)
    limit = plan.aggregators // plan.chunks
    if boundary.need.max(initial=0) > MAX_NEED:
        limit = min(limit, MAX_NEED + 1)
    wanted = _keys(boundary.cut_edges)
    before = [_keys(_edges(block)) for block in plan.blocks]
    present = np.zeros(len(wanted), np.bool_)
    held = [_still(keys, wanted, present) for keys in before]
    new = wanted[~present]
    vertices = [
        block.vertices if len(now) == len(keys) else distinct(_pairs(now).flatten())
        for block, keys, now in zip(plan.blocks, before, held, strict=True)
    ]
    joined, left = _placed(new, vertices, limit)
    blocks = [np.concatenate([keys, np.array(more, np.int64)]) for keys, more in zip(held, joined, strict=True)]
    same = [
        len(now) == len(keys) and not more and _owners_are(block, boundary.owner)
        for block, keys, now, more in zip(plan.blocks, before, held, joined, strict=True)
    ]
    fresh = [block.edges for block in plan_blocks(_pairs(left), limit, seed)]
    # What is left over takes the places of blocks that have become empty, so that others keep their Block_ids.
    edges = [_pairs(np.sort(keys)) if len(keys) else fresh.pop() if fresh else _pairs(keys) for keys in blocks]
    empty = [not len(part) for part in edges]
    edges += fresh
    require_blocks(len(edges) - sum(empty), plan.first_block_id)
    block_plans: list[BlockPlan] = []
    kept = 0
    for index, part in enumerate(edges):
        block_id = plan.first_block_id + len(block_plans)
        if index < len(same) and same[index]:
            kept += plan.blocks[index].block_id == block_id
            block_plans.append(replace(plan.blocks[index], block_id=block_id))
        elif len(part):
            block_plans.append(_planned(CutBlock.of(part), boundary.owner, block_id, order, seed))
    counts = {"workers": boundary.workers, "R": boundary.R, "B": boundary.B, "C": boundary.C}
    return Update(replace(plan, blocks=block_plans, **counts), kept)


def _planned(block: CutBlock, owner: npt.NDArray[np.int32], block_id: int, order: str, seed: int) -> BlockPlan:
    indptr, neighbours = block.csr()
    ranks = order_ranks(indptr, neighbours, order, seed + block_id)
    return BlockPlan(block_id, block.vertices, owner[block.vertices], indptr, neighbours, ranks, block.level)


def _owners_are(block: BlockPlan, owner: npt.NDArray[np.int32]) -> bool:
    return bool(np.array_equal(block.owner, owner[block.vertices]))


def _edges(block: BlockPlan) -> IntArray:
    pairs = np.stack([block.vertices[rows_of(block.indptr)], block.vertices[block.neighbours]], axis=1)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def _keys(edges: IntArray) -> IntArray:
    """Edges as numbers that are sorted as the edges are."""
    return edges[:, 0] << _ID_BITS | edges[:, 1]


def _pairs(keys: IntArray) -> IntArray:
    return np.stack([keys >> _ID_BITS, keys & ((1 << _ID_BITS) - 1)], axis=1)


def _still(keys: IntArray, wanted: IntArray, present: npt.NDArray[np.bool_]) -> IntArray:
    """Those of ``keys`` that are ``wanted``, which it marks in ``present``; all numbers ascend."""
    if not len(wanted):
        return keys[:0]
    place = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    there = wanted[place] == keys
    present[place[there]] = True
    still: IntArray = keys[there]
    return still


def _placed(new: IntArray, vertices: list[IntArray], limit: int) -> tuple[list[list[int]], IntArray]:
    """For each block, of ``vertices``, the new edges that join it; and those for which no block has room."""
    joined: list[list[int]] = [[] for _ in vertices]
    left = []
    ends = _pairs(new)
    touched = distinct(ends.flatten())
    sizes = [len(members) for members in vertices]
    blocks_of: defaultdict[int, set[int]] = defaultdict(set)
    for index, members in enumerate(vertices):
        for vertex in np.intersect1d(members, touched, assume_unique=True).tolist():
            blocks_of[vertex].add(index)
    for key, (u, v) in zip(new.tolist(), ends.tolist(), strict=True):
        of_u, of_v = blocks_of[u], blocks_of[v]
        fitting = of_u & of_v or {index for index in of_u | of_v if sizes[index] < limit}
        if not fitting:
            left.append(key)
            continue
        index = min(fitting)
        joined[index].append(key)
        for vertex in (u, v):
            sizes[index] += index not in blocks_of[vertex]
            blocks_of[vertex].add(index)
    return joined, np.array(left, np.int64)
