# SPDX-License-Identifier: Apache-2.0
"""The bound of Themis's schedules in closed form: the oracle of the linear program."""

from __future__ import annotations

import math
from itertools import combinations

from offramp.themis.network import Collective, DimensionTopology, Network
from offramp.themis.schedule import active
from offramp_base.errors import OfframpError


def closed_form_ps(network: Network, collective: Collective, size: float) -> float:
    """The bound of one reduce-scatter, all-gather or all-reduce without fixed delays (specification section 11).

    The largest, over sets T of dimensions, of the least traffic that T can have (T visited last) over its bandwidth.

    Raises:
        OfframpError: an all-to-all, or an in-network dimension: the polytope is another one.
    """
    dims = active(network)
    if collective is Collective.ALL_TO_ALL or any(
        network.dimensions[k].kind is DimensionTopology.IN_NETWORK for k in dims
    ):
        raise OfframpError(
            "closed form of the bound: expected reduce-scatter, all-gather or all-reduce, not in-network"
        )
    worst = 0.0
    for count in range(1, len(dims) + 1):
        for last in combinations(dims, count):
            inside = math.prod(network.dimensions[k].size for k in last)
            before = math.prod(network.dimensions[k].size for k in dims) / inside
            bandwidth = sum(network.dimensions[k].bandwidth_bps for k in last)
            worst = max(worst, (1 - 1 / inside) / before / bandwidth)
    twice = 2 if collective is Collective.ALL_REDUCE else 1
    return twice * worst * size * 8e12
