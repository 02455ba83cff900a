# SPDX-License-Identifier: Apache-2.0
"""DGTP's search as a placement: a job's GPUs are workers, and hosts are machines with what their NICs have left."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from offramp.dgtp.cluster import Machine, MachineCluster
from offramp.dgtp.problem import Problem
from offramp.dgtp.search import Search, search
from offramp.dgtp.taskgraph import Edge, Task, TaskGraph
from offramp.dgtp.volume import FlowVolume
from offramp_sim.cluster.job import ClusterJob
from offramp_sim.cluster.placements.gpus import FreeGpus, Ints, by_rack, place
from offramp_sim.dgtp.native.machine import FastCluster

_MOST_HOSTS: Final = 64
"""Hosts among which a search chooses."""
_OFFSETS: Final = 16
"""Peers of each GPU that stand for all in an all-to-all."""
_SEARCH: Final = Search(method="portfolio", walks=1, steps=200, reliefs=500, trials=50, iterations=5)
_LEAST: Final = 0.01
"""Share of a NIC that running jobs leave at least."""


@place("dgtp")
def dgtp(gpus: FreeGpus, count: int, random: np.random.Generator) -> Ints:
    """DGTP's search over the hosts of the racks that serve a packed job, or one host if the job fits there."""
    fits = np.flatnonzero(gpus.of_host >= count)
    if len(fits) or gpus.job is None:
        return gpus.take(fits[[np.argmin(gpus.of_host[fits])]] if len(fits) else by_rack(gpus, count), count)
    hosts = by_rack(gpus, count)
    hosts = hosts[gpus.of_host[hosts] > 0]
    needed = int(np.searchsorted(np.cumsum(gpus.of_host[hosts]), count)) + 1
    hosts = hosts[: max(needed, min(2 * needed, _MOST_HOSTS))]
    problem = Problem(task_graph(gpus.job, count), MachineCluster(tuple(_machine(gpus, int(host)) for host in hosts)))
    machine = search(problem, FastCluster, replace(_SEARCH, seed=int(random.integers(1 << 31))), processes=1).machine
    here = np.bincount(machine, minlength=len(hosts))
    ranks = [gpus.take(hosts[[k]], int(here[k])) for k in np.flatnonzero(here)]
    return np.sort(np.concatenate(ranks))


def task_graph(job: ClusterJob, count: int) -> TaskGraph:
    """Workers that compute, and send to their peers in the ring and in all-to-alls for the next iteration."""
    tasks = tuple(Task(f"worker {i}", "worker", job.compute_s, {"gpu": 1}) for i in range(count))
    volume = np.zeros(count)
    volume[1 % count] += 2 * (count - 1) / count * job.all_reduce
    offsets = np.unique(np.linspace(1, count - 1, min(count - 1, _OFFSETS)).astype(np.int64))
    volume[offsets] += job.all_to_all / max(1, len(offsets))
    edges = [
        Edge(i, (i + int(offset)) % count, FlowVolume(float(volume[offset])), lag=1)
        for offset in np.flatnonzero(volume)
        for i in range(count)
    ]
    return TaskGraph(tasks, tuple(edges))


def _machine(gpus: FreeGpus, host: int) -> Machine:
    fabric = gpus.fabric
    nics = slice(fabric.nics_of_host[host], fabric.nics_of_host[host + 1])
    rates = []
    for links in (fabric.nics.down[nics], fabric.nics.up[nics]):
        whole = fabric.capacity[links]
        rates.append(8 * float(np.maximum(whole - gpus.use[links], _LEAST * whole).sum()))
    down, up = rates
    return Machine(fabric.nodes[host], {"gpu": int(gpus.of_host[host])}, down or 1.0, up or 1.0)
