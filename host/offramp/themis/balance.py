# SPDX-License-Identifier: Apache-2.0
"""A better scheduler than Themis's greedy one: mixes of orders from the linear program, chunks sized to the mix.

Themis cuts a collective into equal chunks and balances the loads as far as these allow; with few chunks, or if one
chunk's order moves more than the imbalance, time is lost. Here the linear program gives the share of the bytes that
each order should carry, chunks are sized to match the shares exactly, and the coarse simulation that Themis runs anyway
(section 4.6.2) chooses among several such mixes, Themis's own orders and a greedy one with look-ahead. So the result is
never slower than Themis with smallest chunk first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from offramp.themis import themis
from offramp.themis.bound import Bound, OrderProgram
from offramp.themis.candidate import Candidate
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Network
from offramp.themis.pipeline import ChunkPolicy, Key
from offramp.themis.schedule import ChunkSchedule, Order, active, all_orders, baseline_order, chunk_for, split
from offramp.themis.single import or_single_order

MIXES = 96
"""Number of optimal mixes that are tried, each spread differently over time."""

PATIENCE = 48
"""Consecutive candidates without improvement after which the search ends."""

CLOSE = 1e-5
"""Fraction of the bound within which the search ends."""


def balanced(
    network: Network, demands: Sequence[Demand], chunks: int, options: themis.ThemisOptions | None = None, unit: int = 1
) -> Candidate:
    """The best candidate for collectives that share a network, the same on every NPU."""
    program = OrderProgram(network, demands)
    bound = program.bound()
    latest = max((demand.release_ps for demand in demands if demand.size), default=0)
    best: Candidate | None = None
    patience = PATIENCE
    for schedules in _schedules(network, demands, chunks, options, unit, program, bound):
        for policy in (ChunkPolicy.SCF, _reduce_first(demands, schedules)):
            candidate = Candidate.run(network, demands, schedules, policy)
            if best is None or candidate.timeline.finish_ps < best.timeline.finish_ps:
                best, patience = candidate, PATIENCE
        assert best is not None
        patience -= 1
        if patience == 0 or (not latest and best.timeline.finish_ps <= bound.finish_ps * (1 + CLOSE)):
            break
    assert best is not None
    return or_single_order(best, network, demands, chunks, options, unit)


def _schedules(
    network: Network,
    demands: Sequence[Demand],
    chunks: int,
    options: themis.ThemisOptions | None,
    unit: int,
    program: OrderProgram,
    bound: Bound,
) -> Iterator[tuple[ChunkSchedule, ...]]:
    """Candidate schedules; the first is never worse than Themis."""
    parts = [demand.part(network) for demand in demands]
    equal = [split(demand.size, chunks, unit) for demand in demands]

    def each(make: themis.Maker) -> tuple[ChunkSchedule, ...]:
        return tuple(
            make(part, demand.collective, sizes) for part, demand, sizes in zip(parts, demands, equal, strict=True)
        )

    yield each(lambda part, collective, sizes: themis.schedule(part, collective, sizes, options))
    yield _mixed(parts, demands, chunks, unit, bound.mix, lambda: 0.5, even=True)
    yield _level(network, parts, demands, equal)
    yield each(_rotations)
    draw = random.Random(0)  # the same on every NPU
    for trial in range(MIXES):
        costs = [draw.random() for _ in program.columns]
        mix = program.other_mix(bound.finish_ps, costs)
        yield _mixed(parts, demands, chunks, unit, mix, draw.random, even=bool(trial % 2))


def _mixed(
    parts: Sequence[Network],
    demands: Sequence[Demand],
    chunks: int,
    unit: int,
    mix: Sequence[dict[Order, float]],
    phase: Callable[[], float],
    *,
    even: bool,
) -> tuple[ChunkSchedule, ...]:
    """Chunks in proportion to the shares of the orders; an order's chunks are equal and evenly spread."""
    schedules = []
    for part, demand, shares in zip(parts, demands, mix, strict=True):
        placed: list[tuple[float, int, Order]] = []
        for order, bytes_, count in _allot(demand.size, shares or {active(part): 1.0}, chunks, unit):
            start = phase()
            equal = [bytes_ // count // unit * unit] * count
            sizes = equal if even else split(bytes_, count, unit)
            placed += [((i + start) / count, size, order) for i, size in enumerate(sizes)]
        placed.sort(key=lambda row: row[0])
        cut = [(size, order) for _, size, order in placed if size]
        rest = demand.size - sum(size for size, _ in cut)
        if rest:  # less than a unit a chunk: one chunk takes it, so that the others stay equal
            cut = [(cut[0][0] + rest, cut[0][1]), *cut[1:]] if cut else [(rest, active(part))]
        each = tuple(chunk_for(demand.collective, size, order) for size, order in cut)
        schedules.append(ChunkSchedule(part, demand.collective, each))
    return tuple(schedules)


def _allot(size: int, shares: dict[Order, float], chunks: int, unit: int) -> list[tuple[Order, int, int]]:
    """Orders with the bytes and the number of chunks of each; if chunks are few, only the largest shares remain."""
    kept = sorted(shares, key=lambda order: (-shares[order], order))[:chunks]
    total = sum(shares[order] for order in kept)
    counts = [max(1, round(chunks * shares[order] / total)) for order in kept]
    while sum(counts) != chunks:
        counts[counts.index(max(counts))] += 1 if sum(counts) < chunks else -1
    bytes_ = [int(size * shares[order] / total) // unit * unit for order in kept]
    bytes_[0] += size - sum(bytes_)
    return [row for row in zip(kept, bytes_, counts, strict=True) if row[1]]


def _level(
    network: Network, parts: Sequence[Network], demands: Sequence[Demand], sizes: Sequence[Sequence[int]]
) -> tuple[ChunkSchedule, ...]:
    """Greedy with look-ahead: each chunk gets the order that minimises the highest load, over all demands."""
    loads = [0] * len(network.dimensions)
    schedules = []
    for part, demand, pieces in zip(parts, demands, sizes, strict=True):
        reduces = demand.collective is Collective.ALL_REDUCE
        stage = Collective.REDUCE_SCATTER if reduces else demand.collective
        tracker = themis.Tracker.reset(part, demand.collective, themis.InitialLoad.STAGE)
        tracker.add(loads)
        known: dict[int, list[tuple[Order, list[int]]]] = {}
        chunks = []
        for size in pieces:
            if size not in known:
                known[size] = [
                    (order, themis.chunk_loads(part, stage, order, size, turns=reduces)) for order in all_orders(part)
                ]
            order, added = min(known[size], key=lambda choice: _height(tracker.loads, choice[1]))
            tracker.add(added)
            loads = [a + b for a, b in zip(loads, added, strict=True)]
            chunks.append(chunk_for(demand.collective, size, order))
        schedules.append(ChunkSchedule(part, demand.collective, tuple(chunks)))
    return tuple(schedules)


def _height(loads: Sequence[int], added: Sequence[int]) -> tuple[int, int]:
    after = [a + b for a, b in zip(loads, added, strict=True)]
    return max(after), sum(load * load for load in after)


def _rotations(part: Network, collective: Collective, sizes: Sequence[float]) -> ChunkSchedule:
    """The baseline's order, rotated by one dimension per chunk, so that all dimensions work from the beginning."""
    order = baseline_order(part, collective)
    turns = [order[i:] + order[:i] for i in range(len(order))] or [()]
    chunks = tuple(chunk_for(collective, size, turns[i % len(turns)]) for i, size in enumerate(sizes))
    return ChunkSchedule(part, collective, chunks)


def _reduce_first(demands: Sequence[Demand], schedules: Sequence[ChunkSchedule]) -> Key:
    """Smallest first among the stages before a chunk's turn, then among those after it."""
    turns = [
        len(chunk.reduce) if demand.collective is Collective.ALL_REDUCE else 0
        for demand, schedule in zip(demands, schedules, strict=True)
        for chunk in schedule.chunks
    ]
    return lambda chunk, index, stage: (index >= turns[chunk], stage.sent)
