# SPDX-License-Identifier: Apache-2.0
"""A job under several policies, and their gains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from offramp.fabric import Fabric
from offramp.hermod.build import job_dag
from offramp.hermod.chakra import load_dag
from offramp.hermod.dag import Dag
from offramp.hermod.job import HermodJob
from offramp.hermod.placement import Placement
from offramp.hermod.replicas.dag import replica_dag
from offramp.hermod.traffic import JobTraffic
from offramp.themis.network import Network
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.dimensions import Dimensions
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import PROPORTIONAL, Loaded, load
from offramp_sim.hermod.flow.replicas import load_replicas
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.hermod.flow.simulate import FlowResult, simulate
from offramp_sim.hermod.flow.workload import workload_dag
from offramp_sim.themis.workload_file import load_workload

MOST_OBJECTS: Final = 1024
"""Most workers of a job whose tasks are objects; larger jobs use arrays."""


@dataclass(frozen=True, slots=True)
class SimulationSetup:
    """The settings for simulating a job.

    Attributes:
        iterations: the last one is measured, those before it fill the pipeline.
        routing, leaf: those of the network (:class:`BisectionFabric`).
        all_to_all, overhead_s, granularity: see :func:`offramp_sim.hermod.flow.network.load`.
        queues, scheme: queues and scheme of the switches for Hermod; None for the exact order.
        sample: GPUs whose replicas are simulated for those of all; exact where replicas are alike, that is with spray
            and without jitter and imbalance, otherwise without the extremes of all.
        bidirectional: whether rings of replicas go both ways round, half of the bytes each.
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
    sample: int | None = None
    bidirectional: bool = False


def prepare(job: HermodJob, setup: SimulationSetup, *, one_by_one: bool = False, on: Fabric | None = None) -> Loaded:
    """The job's DAG on its network, or that of a sample of its replicas; a timeline needs its tasks ``one_by_one``.

    Args:
        job: model, GPUs and degrees of parallelism.
        setup: settings; those of the network do not count where there is a fabric.
        one_by_one: keep the tasks as objects.
        on: the fabric whose first hosts run the job; None: full bisection.

    Raises:
        OfframpError: a sample whose replicas would not be placed as those of the job, or a fabric that it does not fit.
    """
    if on is not None:
        if setup.sample is not None:
            raise OfframpError("sample: on a fabric no replicas are alike, expected the whole job")
        routed = RoutedFabric.placed(on, Placement.of(job), job.tp)
        return _load(job_dag(job, setup.iterations, seed=setup.seed, bidirectional=setup.bidirectional), routed, setup)
    mine = job if setup.sample is None else _sampled(job, setup.sample)
    placement = Placement.of(mine)
    fabric = BisectionFabric.of(placement, job.nic_gbps, setup.routing, setup.leaf, setup.seed)
    plain = setup.granularity == PROPORTIONAL and setup.all_to_all == "fluid"
    if mine.workers > MOST_OBJECTS and plain and not one_by_one:
        traffic = JobTraffic(mine, placement, False, setup.seed, job, setup.bidirectional)
        return load_replicas(replica_dag(traffic, setup.iterations, job.jitter, setup.seed), fabric)
    dag = job_dag(mine, setup.iterations, seed=setup.seed, whole=job, bidirectional=setup.bidirectional)
    return _load(dag, fabric, setup)


def _sampled(job: HermodJob, gpus: int) -> HermodJob:
    if gpus > job.gpus:
        raise OfframpError(f"sample {gpus}: expected at most the job's {job.gpus} GPUs")
    try:
        mine = replace(job, gpus=gpus)
    except OfframpError as error:
        raise OfframpError(f"sample {gpus}: {error}") from None
    servers, whole = (max(1, each.gpus // each.gpus_per_server) for each in (mine, job))
    alike = (mine.dp % servers == 0) == (job.dp % whole == 0)
    if not alike or mine.expert_workers != job.expert_workers or servers < min(whole, job.pp * job.expert_workers):
        least = job.pp * job.expert_workers * job.gpus_per_server
        raise OfframpError(
            f"sample {gpus}: expected whole servers, {least} GPUs or more, that replicas fill as in the job"
        )
    return mine


def prepare_traces(dag: Dag, nic_gbps: float, setup: SimulationSetup, on: Fabric | None = None) -> Loaded:
    """A DAG from traces, each rank on a server of its own, or on the ranks of a fabric in order."""
    ranks = np.arange(dag.workers)
    if on is not None:
        return _load(dag, RoutedFabric.on(on, ranks), setup)
    fabric = BisectionFabric(ranks, ranks, dag.workers, 1, nic_gbps * 1e9 / 8, setup.routing, setup.leaf, setup.seed)
    return _load(dag, fabric, setup)


def prepare_traces_on(place: Path, network: Network, setup: SimulationSetup) -> Loaded:
    """Traces whose ranks are the NPUs of a network with dimensions; collectives run along these.

    Raises:
        OfframpError: not as many ranks as NPUs, and what :func:`offramp.hermod.chakra.load_dag` says.
    """
    fabric = Dimensions.over(network)
    dag = load_dag(place, fabric)
    if dag.workers != network.npus:
        raise OfframpError(f"{place}: {dag.workers} ranks, {network.name} has {network.npus} NPUs")
    return _load(dag, fabric, setup)


def prepare_workload(name: str, network: Network, setup: SimulationSetup) -> Loaded:
    """A text workload of ASTRA-sim 1 or SimAI on a network with dimensions.

    Raises:
        OfframpError: a fault in the file, or groups that do not fit the network.
    """
    dag, fabric = workload_dag(load_workload(name, network), network)
    return _load(dag, fabric, setup)


def _load(dag: Dag, fabric: BisectionFabric, setup: SimulationSetup) -> Loaded:
    return load(
        dag,
        fabric,
        granularity=setup.granularity,
        all_to_all=setup.all_to_all,
        overhead_s=setup.overhead_s,
    )


def compare(
    job: HermodJob,
    policies: Iterable[str],
    setup: SimulationSetup,
    progress: Callable[[str, float], None] | None = None,
) -> dict[str, FlowResult]:
    """Simulate each policy; ``progress`` gets the policy and the share done."""
    loaded = prepare(job, setup)
    return {name: one(loaded, name, setup, progress) for name in policies}


def one(
    loaded: Loaded, policy: str, setup: SimulationSetup, progress: Callable[[str, float], None] | None = None
) -> FlowResult:
    """Simulate one policy; only Hermod's has queues."""
    queues = setup.queues if policy.startswith("hermod") else None
    report = None if progress is None else lambda share: progress(policy, share)
    return simulate(loaded, policy, queues=queues, scheme=setup.scheme, hosts=setup.hosts, progress=report)
