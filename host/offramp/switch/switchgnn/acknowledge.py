"""The multicast groups of ACK: for each vertex the owners of its neighbours (specification section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.graph.csr import IntArray, rows_of
from offramp.switch.switchgnn.barrier import GROUP, Groups, group_replicas
from offramp.switch.switchgnn.plan import BlockPlan, Plan

MAX_GROUPS = 1024
"""Groups for sets of workers; vertices of rarer sets acknowledge to all workers, who pass over what is not theirs."""

_MASK_BITS = 63


def ack_groups(plans: Sequence[Plan], ports: Sequence[int]) -> tuple[IntArray, Groups]:
    """``(n,)`` group of each vertex of each block, blocks end to end; the groups but that of all workers.

    Args:
        plans: with disjoint Block_ids.
        ports: switch port of each worker.
    """
    blocks = [block for plan in plans for block in plan.blocks]
    empty = np.zeros(0, np.int64)
    if len(ports) > _MASK_BITS:
        return np.full(sum(len(block.vertices) for block in blocks), GROUP, np.int64), {}
    masks = np.concatenate([empty, *map(_owner_masks, blocks)])
    sets, at, counts = np.unique(masks, return_inverse=True, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:MAX_GROUPS]
    groups = np.full(len(sets), GROUP, np.int64)
    groups[common] = GROUP + 1 + np.arange(len(common))
    everyone = group_replicas(ports)
    replicas = {
        number: [replica for worker, replica in enumerate(everyone) if mask >> worker & 1]
        for number, mask in zip(groups[common].tolist(), sets[common].tolist(), strict=True)
    }
    return groups[at], replicas


def _owner_masks(block: BlockPlan) -> IntArray:
    """``(k,)`` owners of each vertex's neighbours, a bit a worker."""
    masks = np.zeros(len(block.vertices), np.int64)
    np.bitwise_or.at(masks, rows_of(block.indptr), np.int64(1) << block.owner[block.neighbours].astype(np.int64))
    return masks
