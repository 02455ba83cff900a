# SPDX-License-Identifier: Apache-2.0
"""Placements without a search: packed, in a rack, spread, on quiet hosts, at random."""

from __future__ import annotations

import numpy as np

from offramp_sim.cluster.placements.gpus import Floats, FreeGpus, Ints, by_rack, place


@place("packed")
def packed(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:  # noqa: ARG001
    """The fewest hosts: one whose free GPUs fit best, or else the emptiest hosts of the emptiest racks."""
    fits = np.flatnonzero(gpus.of_host >= count)
    if len(fits):
        return gpus.take(fits[[np.argmin(gpus.of_host[fits])]], count)
    return gpus.take(by_rack(gpus, count), count)


@place("rack")
def rack(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:  # noqa: ARG001
    """One rack, the fullest in which the job fits; or else the racks with the most free GPUs."""
    return gpus.take(by_rack(gpus, count), count)


@place("spread")
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


@place("random")
def random_gpus(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:
    """Any of the free GPUs."""
    ranks = np.sort(random.choice(np.flatnonzero(gpus.free), count, replace=False))
    gpus.mark(ranks, free=False)
    return ranks


@place("quiet")
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


def _host_use(gpus: FreeGpus) -> Floats:
    """``(hosts,)`` the busiest of each host's links, as a share of its rate."""
    fabric = gpus.fabric
    share = gpus.use[fabric.nics.up] / fabric.capacity[fabric.nics.up]
    use = np.zeros(fabric.hosts)
    np.maximum.at(use, fabric.nics.host, share)
    return use
