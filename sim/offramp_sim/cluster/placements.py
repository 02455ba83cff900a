# SPDX-License-Identifier: Apache-2.0
"""Placements: which free GPUs a job gets. Packages bring their own by entry points (:data:`PLACEMENTS`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from offramp.fabric import Fabric
from offramp_base.registry import Registry

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
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.free = np.ones(fabric.ranks, np.bool_)
        self._of_host: Ints = np.bincount(fabric.rank_host, minlength=fabric.hosts)
        self.of_host = self._of_host.copy()
        self._linked = np.diff(fabric.nics_of_host) > 0
        self.rack = _racks(fabric)
        self.use: Floats = np.zeros(fabric.resources)
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


class GpuPlacement(Protocol):
    """Chooses a job's GPUs; there are enough free ones."""

    def __call__(self, gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:
        """Take ``count`` of the free GPUs: ``(count,)`` ranks, ascending."""
        ...


PLACEMENTS: Final[Registry[GpuPlacement]] = Registry("placement", "offramp.placements")
"""Placements by name."""


def _place(name: str) -> Callable[[GpuPlacement], GpuPlacement]:
    return PLACEMENTS.register(name)


@_place("packed")
def packed(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:  # noqa: ARG001
    """The fewest hosts: one whose free GPUs fit best, or else the emptiest hosts of the emptiest racks."""
    fits = np.flatnonzero(gpus.of_host >= count)
    if len(fits):
        return gpus.take(fits[[np.argmin(gpus.of_host[fits])]], count)
    return gpus.take(_by_rack(gpus, count), count)


@_place("rack")
def rack(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:  # noqa: ARG001
    """One rack, the fullest in which the job fits; or else the racks with the most free GPUs."""
    return gpus.take(_by_rack(gpus, count), count)


@_place("spread")
def spread(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:  # noqa: ARG001
    """As few GPUs of each host as there can be, the emptiest hosts first, racks in turn."""
    by_rack = np.lexsort((-gpus.of_host, gpus.rack))
    begin = np.searchsorted(gpus.rack[by_rack], gpus.rack[by_rack])
    turn = np.empty_like(by_rack)
    turn[by_rack] = np.arange(len(by_rack)) - begin
    order = np.lexsort((gpus.rack, turn, -gpus.of_host))
    most = 1
    while np.minimum(gpus.of_host, most).sum() < count:
        most += 1
    return gpus.take(order, count, most)


@_place("random")
def random_gpus(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:
    """Any of the free GPUs."""
    ranks = np.sort(random.choice(np.flatnonzero(gpus.free), count, replace=False))
    gpus.mark(ranks, free=False)
    return ranks


@_place("quiet")
def quiet(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:  # noqa: ARG001
    """As packed, but of hosts and racks that serve as well those whose links the running jobs use least."""
    fits = np.flatnonzero(gpus.of_host >= count)
    busy = _host_use(gpus)
    if len(fits):
        return gpus.take(fits[np.lexsort((busy[fits], gpus.of_host[fits]))][:1], count)
    racks = np.bincount(gpus.rack, gpus.of_host)
    of_rack = np.bincount(gpus.rack, busy) / np.bincount(gpus.rack)
    whole = racks[gpus.rack] >= count
    order = np.lexsort((busy, -gpus.of_host, gpus.rack, of_rack[gpus.rack], -racks[gpus.rack] * ~whole, ~whole))
    return gpus.take(order, count)


def _by_rack(gpus: FreeGpus, count: int) -> Ints:
    """Hosts by rack: of the tightest that holds the job, or of the emptiest; the emptiest hosts first."""
    racks = np.bincount(gpus.rack, gpus.of_host)[gpus.rack]
    whole = racks >= count
    key = np.where(whole, racks, -racks)
    return np.lexsort((-gpus.of_host, gpus.rack, key, ~whole))


def _host_use(gpus: FreeGpus) -> Floats:
    """``(hosts,)`` the busiest of each host's links, as a share of its rate."""
    fabric = gpus.fabric
    share = gpus.use[fabric.nics.up] / fabric.capacity[fabric.nics.up]
    use = np.zeros(fabric.hosts)
    np.maximum.at(use, fabric.nics.host, share)
    return use


def _racks(fabric: Fabric) -> Ints:
    numbers: dict[frozenset[int], int] = {}
    rack = np.zeros(fabric.hosts, np.int64)
    for host in range(fabric.hosts):
        far = fabric.nics.far[fabric.nics_of_host[host] : fabric.nics_of_host[host + 1]]
        rack[host] = numbers.setdefault(frozenset(far.tolist()), len(numbers))
    return rack
