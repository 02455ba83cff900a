# SPDX-License-Identifier: Apache-2.0
"""Entries of ``hosts`` and the multicast group of GO (specification section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp import switch_groups
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import V1MODEL, ProgramTarget

TABLE = "SwitchGnnIngress.barrier.hosts"
HOST = "SwitchGnnIngress.barrier.host"
DONE = "SwitchGnnIngress.barrier.done"

Groups = dict[int, list[tuple[int, int]]]
"""``(port, instance)`` replicas of multicast groups; a worker's instance is the same in all groups."""

GROUP = switch_groups.SWITCHGNN
"""Multicast group of all workers."""


def host_rows(ports: Sequence[int], target: ProgramTarget = V1MODEL) -> ActionRows:
    """One entry per worker."""
    workers = np.arange(len(ports))
    return ActionRows(
        target.full(TABLE),
        HOST,
        {"host_id": workers},
        {
            "host_index": workers,
            "port": np.asarray(ports, np.int64),
            "job_members": np.full(len(ports), len(ports)),
            "job_group": np.full(len(ports), GROUP),
        },
    )


def group_replicas(ports: Sequence[int]) -> list[tuple[int, int]]:
    """``(port, instance)`` replicas of the group."""
    return [(port, instance) for instance, port in enumerate(ports, 1)]
