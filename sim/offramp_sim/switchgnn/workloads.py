# SPDX-License-Identifier: Apache-2.0
"""Workloads for measuring the P4 switch: packets of training workers, and a router's packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from offramp.p4src import p4_source
from offramp.switchgnn.wire import LANES
from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench import FRAME_BYTES
from offramp_p4.bench.router import router
from offramp_p4.bench.workload import SwitchWorkload

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch

_WORKERS = 4
_FEATURES = 64
_NO_MARKS = {"ECN_DEPTH": f"{(1 << 19) - 1:#x}"}
"""Threshold that marks nothing: queue lengths depend on a switch's speed, and without marks packets do not."""


def standard_workloads(frame_bytes: Sequence[int] = FRAME_BYTES, *, seed: int = 1) -> list[SwitchWorkload]:
    """SwitchGNN by recirculation and by replication; an IPv4 router with 10,000 routes for frames of these sizes."""
    recirculated = switchgnn(seed=seed)
    return [recirculated, _replicated(recirculated), *(router(size, seed=seed) for size in frame_bytes)]


def replicated_switchgnn(vertices: int = 800, rounds: int = 16, seed: int = 1) -> SwitchWorkload:
    """A GNN layer's rounds through the program in which the replication engine makes the copies."""
    return _replicated(switchgnn(vertices, rounds, seed))


def _replicated(recirculated: SwitchWorkload) -> SwitchWorkload:
    return replace(recirculated, name="SwitchGNN, replicated", source=p4_source("switchgnn/replicated_v1model.p4"))


def tofino_switchgnn(vertices: int = 800, rounds: int = 16, seed: int = 1) -> SwitchWorkload:
    """A GNN layer's rounds through the program for Tofino."""
    recirculated = switchgnn(vertices, rounds, seed)
    return replace(recirculated, name="SwitchGNN, Tofino", source=p4_source("switchgnn/tna.p4"), defines={})


def switchgnn(
    vertices: int = 800, rounds: int = 16, seed: int = 1, *, features: int = _FEATURES, lanes: int = LANES
) -> SwitchWorkload:
    """Rounds of a GNN layer over a random graph of four workers, through the SwitchGNN program with ``lanes`` lanes."""
    from offramp_sim.switchgnn import direct
    from offramp_sim.switchgnn.jobs import random_job
    from offramp_sim.switchgnn.lockstep import Lockstep
    from offramp_sim.switchgnn.reference import ReferenceSwitch

    job = random_job(
        seed, vertices=vertices, edges=5 * vertices, workers=_WORKERS, limit=vertices, features=(features,), lanes=lanes
    )
    batches: list[PacketBatch] = []

    def recorded(batch: PacketBatch) -> PacketBatch:
        batches.append(batch)
        return reference.process(batch)

    reference = ReferenceSwitch(job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, recorded)
    lockstep.start()
    start = [b for b in batches if len(b)]
    batches.clear()
    rng = np.random.default_rng(seed)
    x = rng.integers(-(2**20), 2**20, (vertices, features)).astype(np.int32)
    for _ in range(rounds):
        lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])

    def prepare(switch: AnySwitch) -> None:
        direct.load(switch, job.plans, job.ports)
        for batch in start:
            switch.process(batch)

    source, batches = p4_source("switchgnn/v1model.p4"), [b for b in batches if len(b)]
    defines = {**_NO_MARKS, "SEGMENTS": str(lanes // LANES)}
    return SwitchWorkload("SwitchGNN", source, prepare, batches, defines=defines)
