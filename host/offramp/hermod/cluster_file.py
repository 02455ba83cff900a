# SPDX-License-Identifier: Apache-2.0
"""The parameters of Hermod's network from a cluster file: GPUs, the rate of a NIC, NICs under a leaf."""

from __future__ import annotations

from collections import Counter

from offramp.cluster import Cluster
from offramp_base.errors import OfframpError


def network_of(cluster: Cluster) -> dict[str, float | int]:
    """Parameters of :class:`offramp_sim.hermod.flow.fabric.BisectionFabric`: ``gpus``, ``nic_gbps`` and ``leaf``.

    Raises:
        OfframpError: hosts with no link, links of several rates, or racks of several sizes; names file and line.
    """
    rates: dict[int, str] = {}
    racks: Counter[str] = Counter()
    nics = 0
    for host in cluster.hosts:
        links = cluster.links_of[host.name]
        if not links:
            raise OfframpError(f"{cluster.place(host.name)}: {host.name}: expected a link, which says its rate")
        for link in links:
            rates.setdefault(link.rate_bps, host.name)
            racks[link.far(host.name).node] += 1
            nics += 1
    if len(rates) > 1:
        first, second, *_ = rates.values()
        raise OfframpError(f"{cluster.place(second)}: {second}: expected links of the rate that those of {first} have")
    if len(set(racks.values())) > 1:
        sizes = ", ".join(f"{name} {count}" for name, count in racks.items())
        raise OfframpError(f"{cluster.origin}: expected as many NICs under each leaf, there are: {sizes}")
    (rate,) = rates
    return {"gpus": sum(max(1, h.gpus) for h in cluster.hosts), "nic_gbps": rate / 1e9, "leaf": max(racks.values())}
