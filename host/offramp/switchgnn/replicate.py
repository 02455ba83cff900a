# SPDX-License-Identifier: Apache-2.0
"""Entries of ``groups``, and their multicast groups: a copy of an upload for each neighbour of its vertex."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from offramp.switchgnn import acknowledge, barrier
from offramp.switchgnn.fanout import by_port, contributions
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import REPLICATED, V1MODEL, ProgramTarget
from offramp_base.errors import OfframpError

TABLE = "SwitchGnnIngress.replicate.groups"
COPIES = "SwitchGnnIngress.replicate.copies"

FIRST_GROUP = barrier.GROUP + 1 + acknowledge.MAX_GROUPS
MAX_GROUPS = (1 << 16) - FIRST_GROUP
"""Most groups: v1model's ids have 16 bits, and others take the first ones."""


def copy_entries(
    plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget = REPLICATED, *, groups: int = MAX_GROUPS
) -> tuple[ActionRows, dict[int, list[tuple[int, int]]]]:
    """One entry per vertex of each block, and ``(port, instance)`` replicas of each group; an instance is a hop.

    Args:
        plans: plans with disjoint Block_ids.
        ports: switch port of each worker.
        target: the program that runs them.
        groups: number of groups that the switch has for this.

    Raises:
        OfframpError: the plans need more groups.
    """
    terms = by_port(contributions(plans, target), ports)
    port = np.asarray(ports, np.int64)[terms.dst_owner]
    starts = np.flatnonzero(terms.hop == 0)
    sequences: dict[bytes, int] = {}
    replicas: dict[int, list[tuple[int, int]]] = {}
    group = np.zeros(len(starts), np.int64)
    for at, (start, end) in enumerate(pairwise([*starts.tolist(), len(port)])):
        sequence = port[start:end]
        number = sequences.setdefault(sequence.tobytes(), FIRST_GROUP + len(sequences))
        group[at] = number
        if number not in replicas:
            replicas[number] = [(p, hop) for hop, p in enumerate(sequence.tolist())]
    if len(replicas) > groups:
        raise OfframpError(
            f"replication: the plan needs {len(replicas)} multicast groups, the switch has {groups}; "
            f"{V1MODEL.name} recirculates and needs none"
        )
    keys = {"block_id": terms.block_id[starts], "src_id": terms.src_id[starts]}
    return ActionRows(target.full(TABLE), COPIES, keys, {"group": group}), replicas
