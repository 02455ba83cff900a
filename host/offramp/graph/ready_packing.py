# SPDX-License-Identifier: Apache-2.0
"""Bins of each layer within its own limit, greedily of the vertices that are ready (Wan, thesis, section 4.4.3).

What is ready when is planned, not awaited: a worker computes one bin after another, in a time that is the number of
values that the bin reads and writes, and a bin's messages arrive as it ends. So every worker knows all bins before
training, messages need no index, and results do not depend on what arrives when. In training a bin still starts as soon
as its rows are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from offramp.graph.bins import BinLimit, memory_limit, priority_order, ready_bins, target_limits
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from offramp.graph.csr import IntArray
    from offramp.graph.data import Graph


@dataclass(frozen=True)
class LayerLimits:
    """Limits of the layers' bins.

    Attributes:
        widths: d_0 to d_L: values of a vertex that layer 1 reads, then values that each layer writes.
        limits: limit of each layer's bins.
        eager: whether a bin takes only vertices whose rows are there; otherwise a layer begins when all are.

    Raises:
        OfframpError: not one limit for each layer.
    """

    widths: Sequence[int]
    limits: Sequence[BinLimit]
    eager: bool = True

    def __post_init__(self) -> None:
        if len(self.widths) != len(self.limits) + 1 or not self.limits:
            raise OfframpError(f"{len(self.limits)} limits of bins: expected {len(self.widths) - 1}, one per layer")

    @classmethod
    def of_memory(cls, memory: int, widths: Sequence[int], size: int, entry: int = 0, *, eager: bool) -> LayerLimits:
        """Limits such that inputs and outputs of a bin of each layer take half of ``memory`` bytes (step 2)."""
        return cls(widths, [memory_limit(memory, *pair, size, entry) for pair in pairwise(widths)], eager)

    @classmethod
    def of_targets(cls, initial: int, widths: Sequence[int], *, eager: bool) -> LayerLimits:
        """``initial`` targets in a bin of layer 1, and as many in others as take the same memory."""
        return cls(widths, [BinLimit(limit) for limit in target_limits(initial, list(widths))], eager)


def pack_layers(
    graph: Graph,
    owner: npt.NDArray[np.int32],
    workers: int,
    layers: LayerLimits,
    *,
    boundary_first: bool = True,
    isolated: bool = False,
) -> list[list[list[IntArray]]]:
    """Vertices of each bin, by layer and worker; each vertex is once in each layer.

    Args:
        graph: the whole graph.
        owner: ``(vertices,)`` worker of each vertex.
        workers: number of workers.
        layers: limits of the bins.
        boundary_first: whether vertices with remote neighbours come first; otherwise vertices come in order of id.
        isolated: whether rows of other workers are not needed.
    """
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    crossing = owner[tails] != owner[graph.indices]
    ends, sources = (np.zeros(0, np.int64),) * 2 if isolated else (tails[crossing], graph.indices[crossing])
    own = [owner == worker for worker in range(workers)]
    orders = [priority_order(graph, mine) if boundary_first else np.flatnonzero(mine) for mine in own]
    computed = np.zeros(graph.vertices)
    clocks = [0.0] * workers
    packed: list[list[list[IntArray]]] = []
    for number, limit in enumerate(layers.limits):
        ready = np.zeros(graph.vertices)
        if number:
            np.maximum.at(ready, ends, computed[sources])
        after = np.zeros(graph.vertices)
        packed.append([])
        for worker, order in enumerate(orders):
            if not layers.eager and len(order):
                ready[order] = ready[order].max()
            widths = layers.widths[number], layers.widths[number + 1]
            bins, times = _pack(graph, order, ready, limit, widths, clocks[worker])
            for part, time in zip(bins, times, strict=True):
                after[part] = clocks[worker] = time
            packed[-1].append(bins)
        computed = after
    return packed


def _pack(
    graph: Graph,
    order: IntArray,
    ready: npt.NDArray[np.float64],
    limit: BinLimit,
    widths: tuple[int, int],
    clock: float,
) -> tuple[list[IntArray], list[float]]:
    """Bins of one worker's layer that begins at ``clock``, and when each of them ends."""
    bins: list[IntArray] = []
    times: list[float] = []
    rest = order
    while len(rest):
        there = ready[rest] <= clock
        full, waiting = ready_bins(graph, rest[there], limit, outstanding=not there.all())
        if not full:  # the worker waits for more
            clock = float(ready[rest[~there]].min())
            continue
        for part in full:
            clock += float((graph.degrees[part] + 1).sum() * widths[0] + len(part) * widths[1])
            bins.append(part)
            times.append(clock)
        kept = ~there
        kept[np.flatnonzero(there)[int(there.sum()) - len(waiting) :]] = True
        rest = rest[kept]
    return bins, times
