# SPDX-License-Identifier: Apache-2.0
"""Themis's algorithm 1: each chunk gets the order of dimensions that loads the least loaded most (section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offramp.themis.network import Collective, DimensionTopology, Network
from offramp.themis.schedule import ChunkSchedule, Order, active, baseline_order, chunk_for, shard
from offramp_base.errors import OfframpError


class InitialLoad(StrEnum):
    """Initial load of a dimension: the fixed delay A of which stages (section 4.4 leaves it open)."""

    COLLECTIVE = "collective"
    STAGE = "stage"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class ThemisOptions:
    """The two parameters of section 5.3, the choice that the paper leaves open, and what goes beyond it.

    Attributes:
        threshold: loads that differ by less than the time of this part of a chunk on the least loaded dimension
            count as balanced.
        initial: see :class:`InitialLoad`; ``collective`` is the text of algorithm 1, line 2.
        fallback: whether all chunks have one order where that is faster (:mod:`offramp.themis.single`).
    """

    threshold: float = 1 / 16
    initial: InitialLoad = InitialLoad.COLLECTIVE
    fallback: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise OfframpError(f"threshold {self.threshold}: expected a fraction of a chunk, 0 to 1")


AS_PUBLISHED: Final = ThemisOptions(fallback=False)
"""Algorithm 1 alone, for comparisons with the paper."""

Maker = Callable[[Network, Collective, Sequence[float]], ChunkSchedule]
"""Makes orders for chunks of these sizes."""


class Tracker:
    """Dim Load Tracker: the predicted load of each dimension in picoseconds (figure 6)."""

    def __init__(self, loads: Sequence[int]) -> None:
        self.loads = list(loads)

    @classmethod
    def reset(cls, network: Network, collective: Collective, initial: InitialLoad) -> Tracker:
        """A tracker for one collective: every dimension at its fixed delay (algorithm 1, line 2)."""
        if initial is InitialLoad.ZERO:
            return cls([0] * len(network.dimensions))
        stage = collective
        if initial is InitialLoad.STAGE and collective is Collective.ALL_REDUCE:
            stage = Collective.REDUCE_SCATTER
        return cls([d.fixed_ps(stage) for d in network.dimensions])

    def add(self, loads: Sequence[int]) -> None:
        """Add a chunk's loads to the dimensions."""
        for k, load in enumerate(loads):
            self.loads[k] += load


def chunk_loads(network: Network, stage: Collective, order: Order, size: float, *, turns: bool = False) -> list[int]:
    """Picoseconds that a chunk puts on each dimension (calcLoads in algorithm 1, lines 28 and 29).

    Args:
        network: the dimensions.
        stage: reduce-scatter, all-gather or all-to-all.
        order: order in which they are visited.
        size: size of the chunk, as defined by :class:`~offramp.themis.schedule.Chunk`.
        turns: whether this is the reducing half of an all-reduce, for which a last in-network dimension counts half of
            its single pass.
    """
    loads = [0] * len(network.dimensions)
    held = shard(network, size) if stage is Collective.ALL_GATHER else float(size)
    for k in order:
        d = network.dimensions[k]
        if turns and k == order[-1] and d.kind is DimensionTopology.IN_NETWORK:
            loads[k] += d.transfer_ps(Collective.ALL_REDUCE, held) // 2
        else:
            loads[k] += d.transfer_ps(stage, held)
        held = d.after(stage, held)
    return loads


def order_chunk(network: Network, stage: Collective, size: float, loads: Sequence[int], threshold: float) -> Order:
    """SCHEDULER.SCHEDULE without its side effect: the order for the next chunk (algorithm 1, lines 17 to 27).

    Ties keep the baseline's order.
    """
    dims = active(network)
    if not dims:
        return ()
    least = min(dims, key=lambda k: loads[k])
    d = network.dimensions[least]
    part = size * threshold
    limit = d.transfer_ps(stage, part / d.size if stage is Collective.ALL_GATHER else part)
    if max(loads[k] for k in dims) - loads[least] < limit:
        return baseline_order(network, stage)
    gather = stage is Collective.ALL_GATHER
    ascending = tuple(sorted(dims, key=lambda k: loads[k]))
    return ascending[::-1] if gather else ascending


def schedule(
    network: Network,
    collective: Collective,
    sizes: Sequence[float],
    options: ThemisOptions | None = None,
    tracker: Tracker | None = None,
) -> ChunkSchedule:
    """SCHEDULE_COLLECTIVE: Themis's orders for chunks of ``sizes`` bytes (algorithm 1, lines 1 to 16).

    Args:
        network: the dimensions that take part.
        collective: the collective to schedule.
        sizes: sizes of the chunks in bytes.
        options: parameters.
        tracker: loads to start from, changed in place; by default the dimensions' fixed delays.
    """
    options = options or ThemisOptions()
    tracker = tracker or Tracker.reset(network, collective, options.initial)
    reduces = collective is Collective.ALL_REDUCE
    stage = Collective.REDUCE_SCATTER if reduces else collective
    chunks = []
    for size in sizes:
        order = order_chunk(network, stage, size, tracker.loads, options.threshold)
        tracker.add(chunk_loads(network, stage, order, size, turns=reduces))
        chunks.append(chunk_for(collective, size, order))
    return ChunkSchedule(network, collective, tuple(chunks))


def baseline(network: Network, collective: Collective, sizes: Sequence[float]) -> ChunkSchedule:
    """The baseline: one hierarchical order for every chunk (section 2.3)."""
    stage = Collective.REDUCE_SCATTER if collective is Collective.ALL_REDUCE else collective
    order = baseline_order(network, stage)
    return ChunkSchedule(network, collective, tuple(chunk_for(collective, size, order) for size in sizes))
