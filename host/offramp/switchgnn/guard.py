# SPDX-License-Identifier: Apache-2.0
"""Entries of ``slots``: a vertex's place in the duplicate guard (section 5.2), its sender, and who gets its ACK."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import V1MODEL, ProgramTarget

TABLE = "SwitchGnnIngress.guard.slots"
SLOT = "SwitchGnnIngress.guard.slot"
SEEN = "SwitchGnnIngress.guard.seen"
UPLOADS = "SwitchGnnIngress.guard.uploads"


def slot_rows(plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget = V1MODEL) -> ActionRows:
    """One entry per vertex of each block: its first chunk's slot, its chunks, its port, no group for its ACK.

    Args:
        plans: plans with disjoint Block_ids.
        ports: switch port of each worker; what names a vertex of the worker may come from there alone.
        target: the program that runs them.
    """
    port_of = np.asarray(ports, np.int64)
    parts = [
        (
            np.full(len(block.vertices), block.block_id),
            block.vertices,
            target.bases(block.slots, plan.chunks),
            np.full(len(block.vertices), plan.chunks),
            port_of[block.owner],
        )
        for plan in plans
        for block in plan.blocks
    ]
    columns = zip(*parts, strict=True) if parts else [[np.zeros(0, np.int64)]] * 5
    block_id, src_id, base, chunks, port = (np.concatenate(column).astype(np.int64) for column in columns)
    keys = {"block_id": block_id, "src_id": src_id}
    group = {"group": np.zeros(len(block_id), np.int64)} if target.slots_acknowledge else {}
    return ActionRows(target.full(TABLE), SLOT, keys, {"base": base, "chunks": chunks, "port": port, **group})
