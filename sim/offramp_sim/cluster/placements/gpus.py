# SPDX-License-Identifier: Apache-2.0
"""The GPUs that are free, and the registry of placements, which choose among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from offramp.fabric import Fabric
from offramp_base.registry import Registry
from offramp_sim.cluster.job import ClusterJob

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class FreeGpus:
    """The GPUs that no job has, and what the running jobs put on the network.

    Attributes:
        fabric: the network.
        free: ``(ranks,)`` whether each rank is free.
        of_host: ``(hosts,)`` how many a job can get, of each host: none where all links have failed.
        rack: ``(hosts,)`` number of each host's rack: hosts at the same switches.
        use: ``(resources,)`` bytes per second that the running jobs put on each resource when all communicate.
        job: the job that is being placed.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.free = np.ones(fabric.ranks, np.bool_)
        self._of_host: Ints = np.bincount(fabric.rank_host, minlength=fabric.hosts)
        self.of_host = self._of_host.copy()
        self._linked = np.diff(fabric.nics_of_host) > 0
        self.rack = _racks(fabric)
        self.use: Floats = np.zeros(fabric.resources)
        self.job: ClusterJob | None = None
        self._first = np.searchsorted(fabric.rank_host, np.arange(fabric.hosts))

    def take(self, hosts: Ints, gpus: int, most: int | None = None) -> Ints:
        """``gpus`` free ranks of hosts in the given order, at most ``most`` of each, and mark them as taken."""
        taken: list[Ints] = []
        left = gpus
        for host in hosts.tolist():
            here = min(left, int(self.of_host[host]), most or left)
            if here:
                first = self._first[host]
                mine = first + np.flatnonzero(self.free[first : first + self._count(host)])[:here]
                taken.append(mine)
                left -= here
            if not left:
                break
        ranks = np.sort(np.concatenate(taken)) if taken else np.zeros(0, np.int64)
        self.mark(ranks, free=False)
        return ranks

    def mark(self, ranks: Ints, *, free: bool) -> None:
        """Give ranks back, or take them."""
        self.free[ranks] = free
        np.add.at(self._of_host, self.fabric.rank_host[ranks], 1 if free else -1)
        self._offer()

    def route(self, fabric: Fabric) -> None:
        """Go on with the network as it is now."""
        self.fabric = fabric
        self._offer()

    def _offer(self) -> None:
        cut_off = self._linked & (np.diff(self.fabric.nics_of_host) == 0)
        self.of_host = np.where(cut_off, 0, self._of_host)

    def _count(self, host: int) -> int:
        last = self._first[host + 1] if host + 1 < self.fabric.hosts else self.fabric.ranks
        return int(last - self._first[host])


def _racks(fabric: Fabric) -> Ints:
    numbers: dict[frozenset[int], int] = {}
    rack = np.zeros(fabric.hosts, np.int64)
    for host in range(fabric.hosts):
        far = fabric.nics.far[fabric.nics_of_host[host] : fabric.nics_of_host[host + 1]]
        rack[host] = numbers.setdefault(frozenset(far.tolist()), len(numbers))
    return rack


class GpuPlacement(Protocol):
    """Chooses a job's GPUs; there are enough free ones."""

    def __call__(self, gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:
        """Take ``count`` of the free GPUs: ``(count,)`` ranks, ascending."""
        ...


PLACEMENTS: Final[Registry[GpuPlacement]] = Registry(
    "GPU placement", "offramp.gpu_placements", "offramp_sim.cluster.placements"
)
"""Placements by name."""


def place(name: str) -> Callable[[GpuPlacement], GpuPlacement]:
    """Register a placement under a name."""
    return PLACEMENTS.register(name)


def by_rack(gpus: FreeGpus, count: int) -> Ints:
    """Hosts by rack: of the tightest that holds the job, or of the emptiest; the emptiest hosts first."""
    racks = np.bincount(gpus.rack, gpus.of_host)[gpus.rack]
    whole = racks >= count
    key = np.where(whole, racks, -racks)
    return np.lexsort((-gpus.of_host, gpus.rack, key, ~whole))
