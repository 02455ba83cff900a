# SPDX-License-Identifier: Apache-2.0
"""Finds the dimensions that cross hosts: ranks are numbered host by host, the first dimension fastest."""

from __future__ import annotations

from offramp.cluster.model import Cluster


def crossing_dimensions(cluster: Cluster) -> list[int]:
    """Positions of the dimensions along which a rank communicates with ranks of other hosts.

    A dimension stays in hosts where its groups, with those of the dimensions before it, divide each host's ranks.
    """
    positions, group = [], 1
    for position, each in enumerate(cluster.dimensions):
        group *= each.size
        if each.size > 1 and any(host.processes % group for host in cluster.hosts):
            positions.append(position)
    return positions
