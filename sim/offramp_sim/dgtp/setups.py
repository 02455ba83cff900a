# SPDX-License-Identifier: Apache-2.0
"""The paper's clusters and jobs (sections VI-A and VI-B), with synthetic profiles where the paper prints none.

The paper prints neither execution times nor volumes. Times are chosen so that a 1080Ti takes 60 ms for a mini-batch;
volumes follow from fan-outs and feature lengths with an assumed share of neighbours that are fetched only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from offramp.dgtp.cluster import Machine, MachineCluster
from offramp.dgtp.job import DgtpJob, TaskType
from offramp.dgtp.packing import pack
from offramp.dgtp.problem import Problem
from offramp.dgtp.setup_file import PlacementSetup
from offramp.dgtp.volume import FlowVolume
from offramp_base.errors import OfframpError

_GB: Final = 1e9
_GBPS: Final = 1e9
_DEMANDS: Final[dict[str, dict[str, float]]] = {
    "worker": {"memory": 3 * _GB, "cpu": 1, "gpu": 1},
    "sampler": {"memory": 7 * _GB, "cpu": 2},
    "ps": {"memory": 5 * _GB, "cpu": 1},
}
_SECONDS: Final = {"store": 0.010, "sampler": 0.020, "worker": 0.060, "ps": 0.003}
V100: Final = {"worker": 2.5}
"""Speed-up of a V100 over a 1080Ti in training; assumed, since the paper does not say."""


@dataclass(frozen=True, slots=True)
class PlacementDataset:
    """Bytes gathered per iteration at 1,000 seeds, their spread, the model, and training vertices.

    Gathered bytes are assumed; spreads make the peak-to-mean ratios that section VI-B reports (1.16, 1.08).
    """

    gathered: float
    spread: float
    model_bytes: float
    training: int


DATASETS: Final = {
    "products": PlacementDataset(100e6, 0.050, 0.83e6, 196_615),
    "reddit": PlacementDataset(200e6, 0.050, 1.84e6, 153_431),
    "papers100m": PlacementDataset(150e6, 0.019, 1.14e6, 1_207_179),
}


def make_job(
    dataset: str,
    workers: int,
    samplers: int,
    sync: str,
    epochs: int = 5,
    *,
    batch: int = 1000,
    gathered: float | None = None,
    compute: float = 1.0,
) -> DgtpJob:
    """A job of the paper: volumes and times grow with the batch of a sampler, the number of iterations falls.

    Args:
        dataset: dataset of Table II.
        workers: how many.
        samplers: samplers of each.
        sync: ``ps`` or ``ring``.
        epochs: passes of every sampler over all training vertices.
        batch: seeds of a sampler an iteration.
        gathered: bytes at 1,000 seeds instead of the assumed ones.
        compute: times, as multiples of the assumed ones.

    Raises:
        OfframpError: no such data set.
    """
    if dataset not in DATASETS:
        raise OfframpError(f"data set {dataset}: expected one of {', '.join(DATASETS)}")
    data, scale = DATASETS[dataset], batch / 1000
    volume = FlowVolume((data.gathered if gathered is None else gathered) * scale, data.spread)

    def kind(name: str, grows: float = scale) -> TaskType:
        return TaskType(_SECONDS[name] * compute * grows, _DEMANDS.get(name, {}))

    return DgtpJob(
        workers=workers,
        samplers=samplers,
        sync=sync,
        gathered=volume,
        subgraph=volume,
        model_bytes=data.model_bytes,
        iterations=epochs * -(-data.training // batch),
        store=kind("store"),
        sampler=kind("sampler"),
        worker=kind("worker"),
        ps=kind("ps", 1.0),
    )


def homogeneous_testbed() -> MachineCluster:
    """Four servers of two 1080Ti; two of them at 10 Gbit/s, two at 50 (section VI-A)."""
    capacity = {"cpu": 8, "gpu": 2, "memory": 48 * _GB}
    rates = [10 * _GBPS, 10 * _GBPS, 50 * _GBPS, 50 * _GBPS]
    return MachineCluster(tuple(Machine(f"server{i}", capacity, rate, rate) for i, rate in enumerate(rates)))


def heterogeneous_testbed() -> MachineCluster:
    """Two servers of two 1080Ti at 10 Gbit/s, two of four V100 at 100, behind a switch of 50 (section VI-A)."""
    small = {"cpu": 8, "gpu": 2, "memory": 48 * _GB}
    large = {"cpu": 20, "gpu": 4, "memory": 256 * _GB}
    rate = 50 * _GBPS  # the switch gives at most 50 between two servers
    return MachineCluster(
        (
            *(Machine(f"gtx{i}", small, 10 * _GBPS, 10 * _GBPS) for i in range(2)),
            *(Machine(f"v100-{i}", large, rate, rate, V100) for i in range(2)),
        )
    )


def random_cluster(machines: int, job: DgtpJob, seed: int) -> tuple[MachineCluster, int]:
    """Machines of random resources that can host the job, and how many draws could not (section VI-B).

    Raises:
        OfframpError: none of 2,000 can.
    """
    rng = np.random.default_rng(seed)
    for refused in range(2000):
        capacities = [
            {
                "memory": float(rng.integers(32, 129)) * _GB,
                "cpu": int(rng.integers(4, 17)),
                "gpu": int(rng.integers(1, 5)),
            }
            for _ in range(machines)
        ]
        rates = rng.choice([10 * _GBPS, 20 * _GBPS, 50 * _GBPS], machines).tolist()
        cluster = MachineCluster(
            tuple(Machine(f"m{i}", c, rate, rate) for i, (c, rate) in enumerate(zip(capacities, rates, strict=True)))
        )
        try:
            pack(Problem(job.graph(machines), cluster), list(range(machines)))
        except OfframpError:
            continue
        return cluster, refused
    raise OfframpError(f"random cluster: none of 2000 draws of {machines} machines can host the job")


def simulated_job(dataset: str, batch: int = 1000, compute: float = 1.0) -> tuple[DgtpJob, int]:
    """A job of the simulation studies, and its number of machines (section VI-B)."""
    if dataset == "papers100m":
        return make_job(dataset, 20, 4, "ps", 25, batch=batch, compute=compute), 16
    return make_job(dataset, 16, 2, "ps", 5, batch=batch, compute=compute), 8


_TESTBED_JOBS: Final[Mapping[str, tuple[str, str]]] = {
    "testbed-products-ps": ("products", "ps"),
    "testbed-reddit-ps": ("reddit", "ps"),
    "testbed-products-ring": ("products", "ring"),
    "testbed-reddit-ring": ("reddit", "ring"),
}
NAMES: Final = (*_TESTBED_JOBS, "heterogeneous", "simulated-products", "simulated-papers100m")


def make_setup(name: str, seed: int = 0) -> PlacementSetup:
    """A setup of the paper by name; ``seed`` draws the clusters of the simulation studies.

    Raises:
        OfframpError: there is none of that name.
    """
    if name in _TESTBED_JOBS:
        dataset, sync = _TESTBED_JOBS[name]
        job, cluster = make_job(dataset, 6, 2, sync), homogeneous_testbed()
    elif name == "heterogeneous":
        job, cluster = make_job("products", 8, 2, "ring"), heterogeneous_testbed()
    elif name.startswith("simulated-") and name.removeprefix("simulated-") in DATASETS:
        job, machines = simulated_job(name.removeprefix("simulated-"))
        cluster, _ = random_cluster(machines, job, seed)
    else:
        raise OfframpError(f"setup {name}: expected a YAML file or one of {', '.join(NAMES)}")
    return PlacementSetup(name, Problem(job.graph(len(cluster)), cluster), job.iterations)
