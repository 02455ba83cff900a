# SPDX-License-Identifier: Apache-2.0
"""Entries of ``members``, the worker behind each port, and the counter of frames from anyone else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.target import V1MODEL, ProgramTarget

TABLE = "SwitchGnnIngress.origin.members"
WORKER = "SwitchGnnIngress.origin.worker"
UPLINK = "SwitchGnnIngress.origin.uplink"
DOWNLINK = "SwitchGnnIngress.origin.downlink"
STRANGERS = "SwitchGnnIngress.strangers.by_port"

PORTS = 512
"""Number of ports, and of cells of the counter of strangers."""

FROM_LEAVES = 0
"""Source, on a leaf, of frames from any uplink: the number of no worker's port there."""


def worker_rows(ports: Sequence[int], target: ProgramTarget = V1MODEL) -> ActionRows:
    """One entry per port with a worker behind it."""
    return _rows(WORKER, ports, target)


def uplink_rows(ports: Sequence[int]) -> ActionRows:
    """One entry per port of a leaf that leads to a spine."""
    return _rows(UPLINK, ports)


def downlink_rows(ports: Sequence[int]) -> ActionRows:
    """One entry per port of a spine, which leads to a leaf, in their order."""
    return _rows(DOWNLINK, ports, leaf=np.arange(len(ports)))


def _rows(
    action: str, ports: Sequence[int], target: ProgramTarget = V1MODEL, **params: npt.NDArray[np.int64]
) -> ActionRows:
    return ActionRows(target.full(TABLE), action, {"port": np.asarray(ports, np.int64)}, params)
