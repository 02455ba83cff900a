# SPDX-License-Identifier: Apache-2.0
"""Random jobs that runs of a soak share, made once for many seeds of faults."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_sim.switchgnn.jobs import GraphPlans, random_job

SIZES = {
    "AGGREGATORS": "128",
    "VERTICES": "128",
    "FANOUT_ENTRIES": "4096",
    "SLOT_ENTRIES": "1024",
    "OWNER_ENTRIES": "1024",
    "HOSTS": "16",
}
"""Macros of a program with room for any of the jobs."""


@dataclass(frozen=True, eq=False)
class SoakJob:
    """A job and how its workers repair loss.

    Attributes:
        job: plans for features of one packet and of two.
        acks: whether workers acknowledge.
        network: leaves and spines; None for one switch.
        vertices: number of vertices of the graph.
    """

    job: GraphPlans
    acks: bool
    network: LeafSpine | None
    vertices: int

    @property
    def ports(self) -> list[int]:
        """Port of each worker; at leaves and spines that of :class:`LeafSpineNetwork`."""
        return self.job.ports if self.network is None else list(range(1, self.network.workers + 1))

    @property
    def racks(self) -> tuple[int, ...]:
        """The leaf of each worker; empty for one switch."""
        return () if self.network is None else self.network.racks


@lru_cache(4)
def job_of_one_switch(number: int) -> SoakJob:
    """Two to six workers, one to a dozen blocks."""
    rng = np.random.default_rng([number, 1])
    return _make(number, rng, None, int(rng.integers(2, 7)))


@lru_cache(4)
def job_of_leaves_and_spines(number: int) -> SoakJob:
    """Two to six workers in two to four racks, with one to three spines."""
    rng = np.random.default_rng([number, 2])
    workers = int(rng.integers(2, 7))
    racks = int(rng.integers(2, min(workers, 4) + 1))
    assigned = rng.permutation([*range(racks), *rng.integers(0, racks, workers - racks)])
    network = LeafSpine(tuple(assigned.tolist()), spines=int(rng.integers(1, 4)))
    return _make(number, rng, network, workers)


def _make(number: int, rng: np.random.Generator, network: LeafSpine | None, workers: int) -> SoakJob:
    vertices = int(rng.integers(4, 11))
    job = random_job(
        number,
        vertices=vertices,
        edges=int(rng.integers(vertices, 2 * vertices + 1)),
        workers=workers,
        limit=int(rng.integers(4, 15)),
        features=(5, 40),
        order=str(rng.choice(["gamr", "random"])),
    )
    return SoakJob(job, bool(rng.random() < 0.5), network, vertices)
