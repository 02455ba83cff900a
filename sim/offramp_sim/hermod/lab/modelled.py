# SPDX-License-Identifier: Apache-2.0
"""The coflows of a scenario at the flow level, for machines without namespaces."""

from __future__ import annotations

from typing import Final

import numpy as np

from offramp.hermod.dag import ACTIVATION, DISPATCH, GRADIENT, Coflow, Compute, Dag, Flows, Task
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import SEPARATE, load
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.hermod.lab.rank import token_bytes
from offramp_sim.hermod.lab.scenario import KINDS, LAYERS, MICRO_BATCHES, LabScenario

_ROLES: Final = {"EP": DISPATCH, "PP": ACTIVATION, "DP-0": GRADIENT, "DP-1": GRADIENT}


def model(scenario: LabScenario) -> dict[str, float]:
    """Seconds of each coflow, from its start to the end of its last flow: no packets, no TCP, no start-up."""
    tasks: list[Task] = []
    position = {}
    for kind in sorted(KINDS, key=scenario.start_s):
        tasks.append(Compute(0, scenario.start_s(kind), 0, 0, (0, 1), backward=False))
        position[kind] = len(tasks)
        tasks.append(
            Coflow(_ROLES[kind], scenario.factors(kind), 0, 0, flows_of(scenario, kind), waits=[len(tasks) - 1])
        )
    ranks = np.arange(scenario.ranks)
    dag = Dag(tasks, scenario.ranks, 1, 1, LAYERS, MICRO_BATCHES, interleaved=False)
    fabric = BisectionFabric(ranks, ranks, scenario.ranks, 1, scenario.rate_bps / 8)
    policy, queues = ("hermod", scenario.queues - 1) if scenario.priorities else ("fifo", None)
    outcome = simulate(load(dag, fabric, granularity=SEPARATE), policy, queues=queues)
    return {kind: float(outcome.end[at] - scenario.start_s(kind)) for kind, at in position.items()}


def flows_of(scenario: LabScenario, kind: str) -> Flows:
    """The flows of a coflow: tokens as drawn, activations to the upper half, gradients round the ring."""
    ranks, unit = np.arange(scenario.ranks), scenario.unit
    if kind == "EP":
        sizes = np.array(token_bytes(scenario), float)
        source, sink = np.nonzero(sizes)
        return Flows(source, sink, sizes[source, sink])
    if kind == "PP":
        half = scenario.ranks // 2
        return Flows(ranks[:half], ranks[half:], np.full(half, float(unit)))
    sent = 2 * (scenario.ranks - 1) / scenario.ranks * 4 * (unit // 8 // 2)
    return Flows(ranks, np.roll(ranks, -1), np.full(scenario.ranks, sent))
