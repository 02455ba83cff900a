# SPDX-License-Identifier: Apache-2.0
"""Whole runs against a second implementation in fractions (tests/support/exact_flow.py). Blind to what is loaded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_flow import ExactFlow
from offramp.hermod.dag import COMBINE_GRADIENT, DISPATCH, REDUCE_SCATTER, Coflow, Compute, Dag, Flows, Task
from offramp.hermod.factors import CType, Factors
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.policies import order_of
from offramp_sim.hermod.flow.simulate import simulate

pytestmark = pytest.mark.full

ROLES = {CType.EP: DISPATCH, CType.PP: "activation", CType.DP: REDUCE_SCATTER}
MICRO_BATCHES = 4


def random_dag(seed: int) -> tuple[Dag, int]:
    """Some coflows and computations, each waiting for some of those before; and the number of NICs."""
    rng = np.random.default_rng(seed)
    ports = int(rng.integers(2, 6))
    tasks: list[Task] = []
    for k in range(int(rng.integers(3, 14))):
        waits = [b for b in range(k) if rng.random() < 0.2]
        if rng.random() < 0.3:
            tasks.append(Compute(int(rng.integers(ports)), float(rng.integers(0, 8)), 0, 0, (0, 1), False, waits))
            continue
        ctype = CType(int(rng.integers(0, 3)))
        pairs = {(int(a), int(b)) for a, b in rng.integers(0, ports, (int(rng.integers(1, 5)), 2)) if a != b}
        source, sink = np.array(sorted(pairs or {(0, 1)})).T
        mid = MICRO_BATCHES - 1 if ctype is CType.DP else int(rng.integers(MICRO_BATCHES))
        role = COMBINE_GRADIENT if ctype is CType.EP and rng.random() < 0.5 else ROLES[ctype]
        flows = Flows(source, sink, rng.integers(1, 9, len(source)).astype(np.float64))
        tasks.append(Coflow(role, Factors(mid, ctype, int(rng.integers(4))), 0, 0, flows, waits))
    return Dag(tasks, ports, 1, 1, 4, MICRO_BATCHES, False), ports


@pytest.mark.parametrize(
    ("policy", "queues", "hosts"),
    [
        ("fair", None, "queues"),
        ("fifo", None, "queues"),
        ("host-fifo", None, "queues"),
        ("lina", None, "queues"),
        ("hermod", None, "queues"),
        ("hermod", 2, "queues"),
        ("hermod", 2, "exact"),
        ("hermod", 4, "exact"),
    ],
)
@given(seed=st.integers(0, 2**32 - 1), routing=st.sampled_from(["spray", "ecmp"]), separate=st.booleans())
@settings(max_examples=30, derandomize=True, deadline=None)
def test_ends_are_those_in_fractions(
    policy: str, queues: int | None, hosts: str, seed: int, routing: str, separate: bool
) -> None:
    dag, ports = random_dag(seed)
    ranks = np.arange(ports)
    fabric = BisectionFabric(ranks, ranks, ports, 1, 1.0, routing, 2)
    loaded = load(dag, fabric, granularity="flow" if separate else "coflow")
    exact = ExactFlow(loaded, order_of(dag, policy, queues, hosts=hosts))
    outcome = simulate(loaded, policy, queues=queues, hosts=hosts, slack_s=1e-9)
    assert outcome.end.tolist() == pytest.approx([float(end) for end in exact.end if end is not None], abs=1e-6)
