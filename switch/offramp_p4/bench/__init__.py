# SPDX-License-Identifier: Apache-2.0
"""How fast the engines of the P4 switch run a program, and bmv2 beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offramp_p4.bench.workload import Workload

__all__ = ["FRAME_BYTES", "standard_workloads"]

FRAME_BYTES = (64, 512, 1500)


def standard_workloads(frame_bytes: Sequence[int] = FRAME_BYTES, *, seed: int = 1) -> list[Workload]:
    """SwitchGNN by recirculation and by replication; an IPv4 router with 10,000 routes for frames of these sizes."""
    from offramp_p4.bench.router import router
    from offramp_sim.switchgnn.workloads import replicated_switchgnn, switchgnn

    exchanges = [switchgnn(seed=seed), replicated_switchgnn(seed=seed)]
    return [*exchanges, *(router(size, seed=seed) for size in frame_bytes)]
