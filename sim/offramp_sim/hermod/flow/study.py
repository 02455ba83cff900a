# SPDX-License-Identifier: Apache-2.0
"""A job under several policies, and what it gains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from offramp.hermod.build import job_dag
from offramp.hermod.dag import Dag
from offramp.hermod.job import Job
from offramp.hermod.placement import Placement
from offramp_sim.hermod.flow.fabric import Fabric
from offramp_sim.hermod.flow.network import PROPORTIONAL, Loaded, load
from offramp_sim.hermod.flow.simulate import FlowResult, simulate


@dataclass(frozen=True, slots=True)
class Setup:
    """How a job is simulated.

    Attributes:
        iterations: the last one counts, those before fill the pipeline.
        routing, leaf: of the network (:class:`Fabric`).
        all_to_all, overhead_s, granularity: see :func:`offramp_sim.hermod.flow.network.load`.
        queues, scheme: of the switches for Hermod; None for the exact order.
        hosts: with queues, whether senders keep the ``exact`` order or see the ``queues`` too.
    """

    iterations: int = 3
    routing: str = "ecmp"
    leaf: int = 16
    all_to_all: str = "fluid"
    overhead_s: float = 0.0
    granularity: str = PROPORTIONAL
    queues: int | None = None
    scheme: str = "split"
    hosts: str = "queues"
    seed: int = 0


def prepare(job: Job, setup: Setup) -> Loaded:
    """The job's DAG on its network."""
    dag = job_dag(job, setup.iterations, seed=setup.seed)
    return _load(dag, Fabric.of(Placement.of(job), job.nic_gbps, setup.routing, setup.leaf, setup.seed), setup)


def prepare_traces(dag: Dag, nic_gbps: float, setup: Setup) -> Loaded:
    """A DAG from traces, each rank on a server of its own."""
    ranks = np.arange(dag.workers)
    fabric = Fabric(ranks, ranks, dag.workers, 1, nic_gbps * 1e9 / 8, setup.routing, setup.leaf, setup.seed)
    return _load(dag, fabric, setup)


def _load(dag: Dag, fabric: Fabric, setup: Setup) -> Loaded:
    return load(
        dag,
        fabric,
        granularity=setup.granularity,
        all_to_all=setup.all_to_all,
        overhead_s=setup.overhead_s,
    )


def compare(
    job: Job, policies: Iterable[str], setup: Setup, progress: Callable[[str, float], None] | None = None
) -> dict[str, FlowResult]:
    """An outcome for each policy; ``progress`` hears the policy and the share that is done."""
    loaded = prepare(job, setup)
    return {name: one(loaded, name, setup, progress) for name in policies}


def one(loaded: Loaded, policy: str, setup: Setup, progress: Callable[[str, float], None] | None = None) -> FlowResult:
    """One policy; the queues are those of Hermod."""
    queues = setup.queues if policy.startswith("hermod") else None
    report = None if progress is None else lambda share: progress(policy, share)
    return simulate(loaded, policy, queues=queues, scheme=setup.scheme, hosts=setup.hosts, progress=report)
