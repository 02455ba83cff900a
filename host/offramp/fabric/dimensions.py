# SPDX-License-Identifier: Apache-2.0
"""Themis's view of a fabric: dimensions that follow from hosts, racks and what joins these, where all are alike."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.cluster.model import FASTEST_BPS, ClusterDimension
from offramp.fabric.model import Fabric
from offramp_base.errors import OfframpError

_ALIKE: Final = 1e-9


def derived_dimensions(fabric: Fabric) -> tuple[ClusterDimension, ...]:
    """Up to three dimensions: the ranks of a host, the hosts of a rack, and the racks.

    A rack are the hosts at the same switches. The rate of a rank is its share of what its host has, and across racks
    its share of its rack's links to others where these have less. Ranks count along the dimensions in order.

    Raises:
        OfframpError: hosts or racks that differ; names both places.
    """
    hosts = fabric.cluster.hosts
    processes = np.bincount(fabric.rank_host, minlength=fabric.hosts)
    _same(fabric, processes, "ranks")
    rates = fabric.host_bps
    _same(fabric, rates, "bit/s of links")
    each = int(processes[0])
    dimensions = []
    if each > 1:
        inside = [FASTEST_BPS if host.inside_bps is None else host.inside_bps for host in hosts]
        _same(fabric, np.array(inside, np.float64), "bit/s inside")
        dimensions.append(_dimension(each, inside[0], 0.0))
    racks = _racks(fabric)
    size = len(racks[0])
    other = next((rack for rack in racks if len(rack) != size), None)
    if other is not None:
        a, b = racks[0][0], other[0]
        raise OfframpError(
            f"{fabric.place(b)}: {len(other)} hosts at the switches of {fabric.nodes[b]}, {size} at those of"
            f" {fabric.nodes[a]} ({fabric.place(a)}): expected as many, so that dimensions follow"
        )
    if racks != sorted(racks) or [host for rack in racks for host in rack] != list(range(fabric.hosts)):
        raise OfframpError(f"{fabric.cluster.origin}: expected the hosts of each rack next to each other")
    own = float(rates[0]) / each
    first = each * int(racks[0][0])
    if size > 1:
        near = first + each * np.arange(1, size)
        dimensions.append(_dimension(size, own, _latency(fabric, first, near)))
    if len(racks) > 1:
        up = [_uplinks(fabric, rack) for rack in racks]
        narrow = float(min(up)) / (each * size)
        far = each * np.array([rack[0] for rack in racks[1:]])
        dimensions.append(_dimension(len(racks), min(own, narrow), _latency(fabric, first, far)))
    return tuple(dimensions)


def _same(fabric: Fabric, values: npt.NDArray[Any], what: str) -> None:
    other = np.flatnonzero(np.abs(values - values[0]) > _ALIKE * max(1.0, float(values[0])))
    if len(other):
        k = int(other[0])
        raise OfframpError(
            f"{fabric.place(k)}: {fabric.nodes[k]} has {values[k]:g} {what}, {fabric.nodes[0]} {values[0]:g}"
            f" ({fabric.place(0)}): expected as many, so that dimensions follow"
        )


def _racks(fabric: Fabric) -> list[list[int]]:
    """Hosts by the nodes that their NICs lead to, in the order of the first host."""
    racks: dict[frozenset[int], list[int]] = {}
    nics = fabric.nics
    for host in range(fabric.hosts):
        far = nics.far[fabric.nics_of_host[host] : fabric.nics_of_host[host + 1]]
        racks.setdefault(frozenset(far.tolist()), []).append(host)
    return list(racks.values())


def _uplinks(fabric: Fabric, rack: list[int]) -> float:
    """Bits per second of the links from a rack's switches to others."""
    nics = fabric.nics
    switches = np.unique(nics.far[np.isin(nics.host, rack)])
    away = np.isin(fabric.ends[:, 0], switches) & ~np.isin(fabric.ends[:, 1], switches)
    leaves = away & (fabric.ends[:, 1] >= fabric.hosts) & fabric.works
    return float(fabric.rate_bps[leaves].sum())


def _latency(fabric: Fabric, rank: int, others: npt.NDArray[Any]) -> float:
    source = np.full(len(others), rank)
    return float(fabric.paths.delays_ns(source, others.astype(np.int64)).max())


def _dimension(size: int, rate_bps: float, latency_ns: float) -> ClusterDimension:
    rate = max(1, min(round(rate_bps), FASTEST_BPS))
    return ClusterDimension(type="switch", size=size, rate_bps=rate, latency_ns=latency_ns)
