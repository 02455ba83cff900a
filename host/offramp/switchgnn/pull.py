# SPDX-License-Identifier: Apache-2.0
"""Entries of ``owners``: the port behind which a vertex is fetched or answered (specification section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import V1MODEL, ProgramTarget

TABLE = "SwitchGnnIngress.pull.owners"
OWNER = "SwitchGnnIngress.pull.owner"


def owner_rows(plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget = V1MODEL) -> ActionRows:
    """One entry per boundary vertex.

    Args:
        plans: plans of one graph and partition.
        ports: switch port of each worker.
        target: the program that runs them.
    """
    blocks = [block for plan in plans for block in plan.blocks]
    vertices = np.concatenate([np.zeros(0, np.int64), *(block.vertices for block in blocks)])
    owners = np.concatenate([np.zeros(0, np.int64), *(block.owner for block in blocks)])
    vertex, first = np.unique(vertices, return_index=True)
    return ActionRows(
        target.full(TABLE), OWNER, {"vertex": vertex}, {"port": np.asarray(ports, np.int64)[owners[first]]}
    )
