# SPDX-License-Identifier: Apache-2.0
"""Random clusters and jobs, and what any way of theirs needs at least, by other means than the planner's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import prod
from random import Random
from typing import Any, Final

import numpy as np
import yaml
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from offramp.cluster import Cluster
from offramp.job.settings import JobSettings

_RATES: Final = (10, 40, 100, 250, 1000, 10_000)
_MBIT: Final = 10**6


def cluster_document(draw: Random) -> dict[str, Any]:
    """A cluster: a star, leaves under spines, a chain or a mesh; hosts of several ranks and links; with dimensions."""
    shape = draw.choice(["star", "leaves", "chain", "mesh"])
    hosts = draw.randint(2, 7)
    ranks = draw.choice([1, 1, 1, 2, 3])
    target: dict[str, Any] = draw.choice([{"target": "plain"}, {"control": "10.0.0.1:9559", "memory": "8MB"}])
    places = 1 if shape == "star" else draw.randint(2, 5)
    switches = [f"s{n}" for n in range(places)]
    fast = draw.choice(_RATES)
    links: list[dict[str, Any]] = []
    edges: set[tuple[str, str]] = set()
    edge = switches
    if shape == "leaves":
        spines = switches[: draw.randint(1, max(1, places - 1))]
        edge = switches[len(spines) :]
        edges |= {(leaf, spine) for leaf in edge for spine in spines}
    elif shape in ("chain", "mesh"):
        edges |= set(pairwise(switches))
    if shape == "mesh":
        edges |= {pair for pair in combinations(switches, 2) if draw.random() < 0.4}
    for a, b in sorted(edges):
        links += [{"ends": [a, b], "rate": f"{draw.choice(_RATES)}mbit"}] * draw.choice([1, 1, 2])
    for n in range(hosts):
        for place in draw.sample(edge, min(len(edge), draw.choice([1, 1, 1, 2]))):
            links.append({"ends": [f"h{n}", place], "rate": f"{draw.choice([fast, fast, 100])}mbit"})
    document = {
        "name": "drawn",
        "hosts": [{"name": f"h{n}", "ranks": ranks} for n in range(hosts)],
        "switches": [{"name": name, **target} for name in switches],
        "links": links,
    }
    if draw.random() < 0.7:
        document["dimensions"] = _dimensions(draw, hosts * ranks)
    return document


def _dimensions(draw: Random, ranks: int) -> list[dict[str, Any]]:
    sizes, rest = [], ranks
    for prime in (2, 3, 5, 7):
        while rest % prime == 0:
            rest //= prime
            sizes.append(prime)
    while len(sizes) > 1 and draw.random() < 0.4:
        sizes.append(sizes.pop() * sizes.pop())
    kinds = ["ring", "fully-connected", "switch", "in-network"]
    return [
        {"type": draw.choice(kinds if size in (2, 4, 8) else kinds[:2]), "size": size, "rate": f"{rate}mbit"}
        for size in sizes
        for rate in [draw.choice(_RATES)]
    ]


def contradiction(document: dict[str, Any]) -> bool:
    """Whether a dimension that leaves hosts is faster than all links of some host, by enumerating who talks to whom."""
    ranks = [host["name"] for host in document["hosts"] for _ in range(host["ranks"])]
    carried = dict.fromkeys(ranks, 0)
    for link in document["links"]:
        for end in link["ends"]:
            if end in carried:
                carried[end] += int(link["rate"].removesuffix("mbit"))
    sizes = [each["size"] for each in document.get("dimensions", [])]
    for k, each in enumerate(document.get("dimensions", [])):
        stride = prod(sizes[:k])
        peers = {
            (ranks[a], ranks[b])
            for a in range(len(ranks))
            for b in range(len(ranks))
            if a // (stride * sizes[k]) == b // (stride * sizes[k]) and a % stride == b % stride
        }
        leaves = any(a != b for a, b in peers)
        if leaves and int(each["rate"].removesuffix("mbit")) > min(carried.values()):
            return True
    return False


def job_document(draw: Random) -> dict[str, Any]:
    """A job that sums, exchanges, or does both."""
    sums, exchanges = draw.choice([(1, 0), (0, 1), (1, 1), (1, 0)])
    return {
        "command": ("true",),
        "all_reduce": sums * draw.randint(1, 50_000_000),
        "all_to_all": exchanges * draw.randint(1, 50_000_000),
        "collectives": draw.choice([1, 1, 4]),
        "exchanges": draw.choice([1, 3]),
        "compute_s": draw.choice([0.0, 0.0, 0.5]),
        "lossy": draw.random() < 0.5,
        "bits": draw.choice([1, 2, 4, 8]),
        "deadline_s": draw.choice([1.0, 10.0, 60.0]),
    }


def as_text(document: dict[str, Any]) -> str:
    """The cluster's file."""
    return str(yaml.safe_dump(document, sort_keys=False))


def network_floor_s(
    cluster: Cluster, hosts: Sequence[str], size: float, between: np.ndarray, *, adds: bool = False
) -> float:
    """Seconds that a sum of ``size`` bytes on every host and ``(hosts, hosts)`` bytes between them need at least.

    Every division of the hosts has a maximum flow, which what crosses it cannot exceed; every host has its links; and
    without switches that add, all hosts together send the sum's bytes twice but once for one of them.
    """
    names = [*cluster.by_name, "from", "to"]
    index = {name: n for n, name in enumerate(names)}
    rates: dict[tuple[int, int], int] = {}
    carried = dict.fromkeys(hosts, 0)
    for link in cluster.links:
        a, b = index[link.a.node], index[link.b.node]
        for pair in ((a, b), (b, a)):
            rates[pair] = rates.get(pair, 0) + link.rate_bps // _MBIT
        for end in (link.a.node, link.b.node):
            if end in carried:
                carried[end] += link.rate_bps
    longest = 0.0
    for n, name in enumerate(hosts):
        others = [m for m in range(len(hosts)) if m != n]
        longest = max(longest, 8 * (size + max(between[n, others].sum(), between[others, n].sum())) / carried[name])
    if not adds:
        sent = between.sum() - np.trace(between) + 2 * (len(hosts) - 1) * size
        longest = max(longest, 8 * sent / sum(carried.values()))
    for count in range(1, len(hosts)):
        for chosen in combinations(range(1, len(hosts)), count):
            others = [n for n in range(len(hosts)) if n not in chosen]
            ends = {(index["from"], index[hosts[n]]): 10**8 for n in chosen}
            ends |= {(index[hosts[n]], index["to"]): 10**8 for n in others}
            rows, columns = zip(*(rates | ends), strict=True)
            values = np.array(list((rates | ends).values()), dtype=np.int32)
            graph = csr_array((values, (rows, columns)), shape=(len(names), len(names)))
            flow = maximum_flow(graph, index["from"], index["to"]).flow_value * _MBIT
            crossing = max(between[np.ix_(chosen, others)].sum(), between[np.ix_(others, chosen)].sum())
            longest = max(longest, 8 * (size + crossing) / flow)
    return longest


def sums_floor_s(cluster: Cluster, job: JobSettings, way: str) -> float:
    """Seconds that a step's communication needs at least by a way of a program that sums."""
    ranks = np.array([host.processes for host in cluster.hosts], dtype=float)
    between = np.outer(ranks, ranks) * job.all_to_all / ranks.sum()
    size = float(job.all_reduce)
    if way == "sylvie":
        size *= job.bits / 32
    adds = way == "allreduce" or (way == "themis" and any(each.type == "in-network" for each in cluster.dimensions))
    return network_floor_s(cluster, [host.name for host in cluster.hosts], size, between, adds=adds)
