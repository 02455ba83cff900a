# SPDX-License-Identifier: Apache-2.0
"""The critical path in machine code; :func:`offramp.dgtp.bounds.critical_path` says what it is."""

from __future__ import annotations

from offramp_p4.native.subset import Doubles, Words, native
from offramp_sim.dgtp.native.layout import (
    ARRIVALS,
    BYTES,
    EDGES,
    ENDED,
    IN_EDGE,
    IN_START,
    ITERATIONS,
    LAG,
    ORDER,
    OUT_EDGE,
    OUT_START,
    REMOTE,
    SECONDS,
    TASKS,
    WEIGHT,
)


@native
def longest_path(ctx: Words) -> float:
    """The length of the longest path over all iterations."""
    edges = ctx[EDGES]
    ended = Doubles(ctx[ENDED])
    sources = Words(ctx[IN_EDGE])
    targets = Words(ctx[OUT_EDGE])
    first_in = Words(ctx[IN_START])
    first_out = Words(ctx[OUT_START])
    longest = 0.0
    for n in range(ctx[ITERATIONS]):
        arrived = Doubles(ctx[ARRIVALS]) + edges * (n & 1)
        before = Doubles(ctx[ARRIVALS]) + edges * (1 - (n & 1))
        volumes = Doubles(ctx[BYTES]) + n * edges
        for i in range(ctx[TASKS]):
            task = Words(ctx[ORDER])[i]
            start = ended[task]
            for k in range(first_in[task], first_in[task + 1]):
                edge = sources[k]
                start = max(start, arrived[edge] if Words(ctx[LAG])[edge] == 0 else before[edge])
            end = start + Doubles(ctx[SECONDS])[task]
            ended[task] = end
            longest = max(longest, end)
            for k in range(first_out[task], first_out[task + 1]):
                edge = targets[k]
                arrived[edge] = end
                if Words(ctx[REMOTE])[edge] == 1:
                    arrived[edge] = max(end, before[edge]) + volumes[edge] * Doubles(ctx[WEIGHT])[edge]
    return longest
