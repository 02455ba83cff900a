# SPDX-License-Identifier: Apache-2.0
"""The critical path (:func:`offramp.dgtp.bounds.critical_path`) in machine code."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.dgtp.native.layout import (
    PlacementRunState,
)


@native
def longest_path(ctx: PlacementRunState) -> float:
    """The length of the longest path over all iterations."""
    edges = ctx.edges
    ended = ctx.ended
    sources = ctx.in_edge
    targets = ctx.out_edge
    first_in = ctx.in_start
    first_out = ctx.out_start
    longest = 0.0
    for n in range(ctx.iterations):
        arrived = ctx.arrivals + edges * (n & 1)
        before = ctx.arrivals + edges * (1 - (n & 1))
        volumes = ctx.bytes + n * edges
        for i in range(ctx.tasks):
            task = ctx.order[i]
            start = ended[task]
            for k in range(first_in[task], first_in[task + 1]):
                edge = sources[k]
                start = max(start, arrived[edge] if ctx.lag[edge] == 0 else before[edge])
            end = start + ctx.seconds[task]
            ended[task] = end
            longest = max(longest, end)
            for k in range(first_out[task], first_out[task + 1]):
                edge = targets[k]
                arrived[edge] = end
                if ctx.remote[edge] == 1:
                    arrived[edge] = max(end, before[edge]) + volumes[edge] * ctx.weight[edge]
    return longest
