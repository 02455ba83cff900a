# SPDX-License-Identifier: Apache-2.0
"""One order for all chunks, where it is faster than a balanced schedule (beyond the paper).

Balancing needs chunks: with a few, the chunk that goes first to a slow dimension may take longer there than the
baseline takes altogether. So schedules are compared with every single order, by the simulation that gives the plan its
order of work. A lower bound on the time of an order spares most of these simulations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from offramp.themis.candidate import Candidate
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Network
from offramp.themis.pipeline import ChunkPolicy
from offramp.themis.schedule import ChunkSchedule, Order, all_orders, baseline_order, chunk_for, split, stages
from offramp.themis.themis import ThemisOptions

_ENUMERATED: Final = 7
"""Number of dimensions up to which all orders are tried; beyond it, only the baseline's."""


def or_single_order(
    candidate: Candidate,
    network: Network,
    demands: Sequence[Demand],
    chunks: int,
    options: ThemisOptions | None = None,
    unit: int = 1,
) -> Candidate:
    """The candidate, or the fastest schedule with a single order for each demand if this one is faster.

    Several demands have the baseline's order, or the order that is fastest for each of them alone.
    """
    if not (options or ThemisOptions()).fallback:
        return candidate
    sizes = [split(demand.size, chunks, unit) for demand in demands]
    if len(demands) == 1:
        return _fastest(candidate, network, demands[0], sizes[0])
    baselines, alone = [], []
    for demand, pieces in zip(demands, sizes, strict=True):
        part = demand.part(network)
        baselines.append(_schedule(part, demand.collective, pieces, baseline_order(part, _first(demand.collective))))
        single = Candidate.run(network, [demand], (baselines[-1],), ChunkPolicy.FIFO)
        alone.append(_fastest(single, network, demand, pieces).schedules[0])
    rivals = [
        Candidate.run(network, demands, tuple(schedules), policy)
        for schedules in (baselines, alone)
        for policy in (ChunkPolicy.FIFO, ChunkPolicy.SCF)
    ]
    return min((candidate, *rivals), key=lambda each: each.timeline.finish_ps)


def _fastest(candidate: Candidate, network: Network, demand: Demand, sizes: Sequence[int]) -> Candidate:
    """The fastest of a candidate and all single orders of one demand; of equally fast ones, the candidate."""
    part = demand.part(network)
    counts = Counter(sizes)
    bounds = [(_least_ps(part, demand, order, counts), order) for order in _orders(part, demand.collective)]
    for least, order in sorted(bounds):
        if least >= candidate.timeline.finish_ps:
            break
        schedule = (_schedule(part, demand.collective, sizes, order),)
        for policy in (ChunkPolicy.FIFO, ChunkPolicy.SCF):
            rival = Candidate.run(network, [demand], schedule, policy)
            candidate = min(candidate, rival, key=lambda each: each.timeline.finish_ps)
    return candidate


def _first(collective: Collective) -> Collective:
    return Collective.REDUCE_SCATTER if collective is Collective.ALL_REDUCE else collective


def _orders(part: Network, collective: Collective) -> Iterator[Order]:
    if sum(d.size > 1 for d in part.dimensions) > _ENUMERATED:
        yield baseline_order(part, _first(collective))
    else:
        yield from all_orders(part)


def _schedule(part: Network, collective: Collective, sizes: Sequence[int], order: Order) -> ChunkSchedule:
    return ChunkSchedule(part, collective, tuple(chunk_for(collective, size, order) for size in sizes))


def _least_ps(part: Network, demand: Demand, order: Order, counts: Counter[int]) -> int:
    """Picoseconds below which no queue finishes chunks of these sizes and this order.

    A dimension is free until the first chunk arrives, works for all of them, and the last one still has to pass the
    stages that follow.
    """
    dims = len(part.dimensions)
    busy = [0] * dims
    before: list[list[int]] = [[] for _ in range(dims)]
    after: list[list[int]] = [[] for _ in range(dims)]
    for size, count in counts.items():
        pieces = stages(part, demand.collective, chunk_for(demand.collective, size, order))
        total = sum(stage.busy_ps + stage.delay_ps for stage in pieces)
        past = 0
        seen = set()
        last = [0] * dims
        for stage in pieces:
            if stage.dim not in seen:
                before[stage.dim].append(past)
                seen.add(stage.dim)
            busy[stage.dim] += count * stage.busy_ps
            last[stage.dim] = total - past - stage.busy_ps
            past += stage.busy_ps + stage.delay_ps
        for k in seen:
            after[k].append(last[k])
    at_once = part.at_once
    works = (min(before[k]) + -(-busy[k] // at_once) + min(after[k]) for k in range(dims) if before[k])
    return demand.release_ps + max(works, default=0)
