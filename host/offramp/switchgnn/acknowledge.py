# SPDX-License-Identifier: Apache-2.0
"""Entries of ``ack_groups``, and their multicast groups (specification section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.graph.csr import IntArray, rows_of
from offramp.switchgnn.barrier import GROUP, group_replicas
from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import V1MODEL, ProgramTarget

TABLE = "SwitchGnnIngress.acknowledge.ack_groups"
OWNERS = "SwitchGnnIngress.acknowledge.owners"

MAX_GROUPS = 1024
"""Most groups of workers; vertices of rarer sets acknowledge to all workers, which ignore what is not theirs."""

MASK_BITS = 63
"""Most members of a set for which a group is made."""


def ack_entries(
    plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget = V1MODEL
) -> tuple[ActionRows, dict[int, list[tuple[int, int]]]]:
    """One entry per vertex of each block, and ``(port, instance)`` replicas of each group except that of all workers.

    Args:
        plans: plans with disjoint Block_ids.
        ports: switch port of each worker.
        target: the program that runs them.
    """
    blocks = [block for plan in plans for block in plan.blocks]
    empty = np.zeros(0, np.int64)
    vertices = np.concatenate([empty, *(block.vertices for block in blocks)])
    block_ids = np.concatenate([empty, *(np.full(len(block.vertices), block.block_id) for block in blocks)])
    group = np.full(len(vertices), GROUP, np.int64)
    everyone = group_replicas(ports)
    replicas: dict[int, list[tuple[int, int]]] = {}
    if len(ports) <= MASK_BITS:
        masks = np.concatenate([empty, *map(_owner_masks, blocks)])
        sets, at, counts = np.unique(masks, return_inverse=True, return_counts=True)
        common = np.argsort(-counts, kind="stable")[:MAX_GROUPS]
        groups = np.full(len(sets), GROUP, np.int64)
        groups[common] = GROUP + 1 + np.arange(len(common))
        group = groups[at]
        for number, mask in zip(groups[common].tolist(), sets[common].tolist(), strict=True):
            replicas[number] = [replica for worker, replica in enumerate(everyone) if mask >> worker & 1]
    keys = {"block_id": block_ids, "src_id": vertices}
    return ActionRows(target.full(TABLE), OWNERS, keys, {"group": group}), replicas


def _owner_masks(block: BlockPlan) -> IntArray:
    """``(k,)`` masks of the owners of contributions to each vertex, one bit per worker."""
    masks = np.zeros(len(block.vertices), np.int64)
    indptr, sources = block.sources
    np.bitwise_or.at(masks, rows_of(indptr), np.int64(1) << block.owner[sources].astype(np.int64))
    return masks
