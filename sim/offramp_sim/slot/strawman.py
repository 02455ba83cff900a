# SPDX-License-Identifier: Apache-2.0
"""The strawman: random order, an aggregator if one is free, raw delivery otherwise (specification section 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, distinct, rows_of
from offramp.switchgnn.wire import DATA_FRAME_BYTES
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.slot.fifo import backlog, departures
from offramp_sim.slot.ports import StarFabric, served_slots
from offramp_sim.slot.result import ExchangeResult, Series, imbalance

PACKET_WIRE_BYTES = wire_bytes(DATA_FRAME_BYTES)
_OFFSET, _GOLDEN = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions on which uploads get an aggregator.

    Attributes:
        aggregated: ``(B,)`` whether each vertex is summed in the switch.
        done: ``(B,)`` position of the upload that brings each vertex's last contribution.
        first: ``(B,)`` position of the upload that brings its first contribution.
        raw: ``(p, 2)`` pairs (rank, worker): features delivered unchanged, once to each worker that needs them.
        peak_open: most aggregators (in vertices) in use after an upload.
    """

    aggregated: npt.NDArray[np.bool_]
    done: IntArray
    first: IntArray
    raw: IntArray
    peak_open: int


def decide(boundary: Boundary, order: IntArray, limit: int | None, *, fixed: bool = False) -> Decisions:
    """Uploads arrive in ``order`` (ranks); each passes its neighbours by ascending id; ``limit`` vertices fit.

    A vertex's first contribution decides: it gets an aggregator until its sum is complete, or none. With ``fixed``,
    aggregators belong to the ``limit`` vertices of least hash for the whole exchange, whatever arrives when.
    """
    n = boundary.B
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    arrival = place[boundary.neighbours]
    first, done = (f.reduceat(arrival, boundary.indptr[:-1]) if n else arrival for f in (np.minimum, np.maximum))
    most = n if limit is None else limit
    aggregated = _by_hash(boundary.vertices, most) if fixed else _allocate(first, done, most)
    opened, closed = (np.bincount(places[aggregated], minlength=n) for places in (first, done))
    held = np.cumsum(opened - closed)
    rows = rows_of(boundary.indptr)
    host = ~aggregated[rows]
    owners = boundary.owner[boundary.vertices].astype(np.int64)
    pairs = distinct(boundary.neighbours[host] * boundary.workers + owners[rows[host]])
    return Decisions(
        aggregated, done, first, np.stack(np.divmod(pairs, boundary.workers), axis=1), int(held.max(initial=0))
    )


def _allocate(first: IntArray, done: IntArray, limit: int) -> npt.NDArray[np.bool_]:
    """Go through first and last contributions in order; a vertex with a single one opens and closes in one pass."""
    n = len(first)
    vertices = np.arange(n)
    times = np.concatenate([first, done])
    which = np.concatenate([vertices, vertices])
    closing = np.repeat([0, 1], n)
    aggregated = [False] * n
    free = limit
    for event in np.lexsort((closing, which, times)).tolist():
        v = event if event < n else event - n
        if event < n:
            if free:
                aggregated[v] = True
                free -= 1
        elif aggregated[v]:
            free += 1
    return np.array(aggregated, np.bool_)


def _by_hash(vertices: IntArray, most: int) -> npt.NDArray[np.bool_]:
    chosen = np.zeros(len(vertices), np.bool_)
    chosen[np.argsort((vertices.astype(np.uint64) + _OFFSET) * _GOLDEN, kind="stable")[:most]] = True
    return chosen


def strawman(
    boundary: Boundary,
    chunks: int,
    memory_bytes: int | None,
    fabric: StarFabric,
    seed: int = 0,
    order: str = "random",
    *,
    fixed: bool = False,
) -> ExchangeResult:
    """Simulate an exchange without blocks; with ``memory_bytes`` None, every vertex gets an aggregator.

    ``order`` ``random`` is the paper's; ``gamr`` shows the effect of the order alone. ``fixed``: see :func:`decide`. A
    refused contribution takes a pass too, in which it leaves, once for each worker.
    """
    limit = None if memory_bytes is None else memory_bytes // (128 * chunks)
    owner = boundary.owner[boundary.vertices].astype(np.int64)
    ranks = _upload_order(boundary, order, seed)
    position = _position(owner, ranks)
    by_arrival = ranks[np.argsort(position[ranks], kind="stable")]
    decided = decide(boundary, by_arrival, limit, fixed=fixed)
    if fabric.passes_pps is not None:
        return _with_passes(boundary, chunks, limit, fabric, position, decided, fixed=fixed)
    # Packets come chunk by chunk behind each other; what holds for a vertex's first holds for all.
    slot = position[by_arrival] * chunks + fabric.delay_slots
    agg = decided.aggregated
    ready = np.concatenate([slot[decided.done[agg]], (position * chunks + fabric.delay_slots)[decided.raw[:, 0]]])
    port = np.concatenate([owner[agg], decided.raw[:, 1]])
    later = np.arange(chunks)
    ready, port = (ready[:, np.newaxis] + later).ravel(), np.repeat(port, chunks)
    left = departures(ready, port)
    slots = int(left.max(initial=-1)) + 1 + fabric.delay_slots
    opened = np.bincount(_chunked(slot[decided.first[agg]], later), minlength=slots)
    closed = np.bincount(_chunked(slot[decided.done[agg]], later), minlength=slots)
    fan_out = np.bincount(boundary.neighbours, weights=np.repeat(agg, boundary.need), minlength=boundary.B)
    added = np.bincount(
        _chunked(position * chunks + fabric.delay_slots, later), weights=np.repeat(fan_out, chunks), minlength=slots
    )
    series = Series(backlog(ready, left), np.cumsum(opened - closed), added.astype(np.int64), np.bincount(left))
    return _result(boundary, chunks, limit, fabric, decided, slots, series, fixed=fixed)


def _with_passes(
    boundary: Boundary,
    chunks: int,
    limit: int | None,
    fabric: StarFabric,
    position: IntArray,
    decided: Decisions,
    *,
    fixed: bool,
) -> ExchangeResult:
    """The exchange where passes take time: a sum is ready with the pass that completes it."""
    owner = boundary.owner[boundary.vertices].astype(np.int64)
    agg, later = decided.aggregated, np.arange(chunks)
    arrived = position[:, np.newaxis] * chunks + fabric.delay_slots + later
    served = served_slots(arrived, boundary.need, boundary.neighbours, fabric)
    starts = boundary.indptr[:-1]
    first, done = (f.reduceat(served, starts) if len(starts) else served for f in (np.minimum, np.maximum))
    rows = rows_of(boundary.indptr)
    host = ~agg[rows]
    keys = boundary.neighbours[host] * boundary.workers + owner[rows[host]]
    raw = np.full((len(decided.raw), chunks), np.iinfo(np.int64).max)
    wanted = decided.raw[:, 0] * boundary.workers + decided.raw[:, 1]
    np.minimum.at(raw, np.searchsorted(wanted, keys), served[host])
    ready = np.concatenate([done[agg].ravel(), raw.ravel()])
    left = departures(ready, np.repeat(np.concatenate([owner[agg], decided.raw[:, 1]]), chunks))
    slots = max(int(left.max(initial=-1)), int(served.max(initial=-1))) + 1 + fabric.delay_slots
    held = np.bincount(first[agg].ravel(), minlength=slots) - np.bincount(done[agg].ravel(), minlength=slots)
    added = np.bincount(served[~host].ravel(), minlength=slots)
    series = Series(backlog(ready, left), np.cumsum(held), added, np.bincount(left))
    return _result(boundary, chunks, limit, fabric, decided, slots, series, fixed=fixed)


def _result(
    boundary: Boundary,
    chunks: int,
    limit: int | None,
    fabric: StarFabric,
    decided: Decisions,
    slots: int,
    series: Series,
    *,
    fixed: bool,
) -> ExchangeResult:
    vectors = int(decided.aggregated.sum()) + len(decided.raw)
    owner = boundary.owner[boundary.vertices].astype(np.int64)
    name = "strawman-unlimited" if limit is None else "strawman-hash" if fixed else "strawman"
    return ExchangeResult(
        name,
        slots * fabric.slot_s,
        fabric.slot_s,
        PACKET_WIRE_BYTES,
        boundary.B * chunks * PACKET_WIRE_BYTES,
        vectors * chunks * PACKET_WIRE_BYTES,
        recirculated_bytes=(2 * boundary.C - boundary.B) * chunks * PACKET_WIRE_BYTES,
        down_vectors=vectors,
        imbalance=imbalance(np.bincount(owner, minlength=boundary.workers)),
        aggregators=None if limit is None else limit * chunks,
        series=series,
    )


def _upload_order(boundary: Boundary, order: str, seed: int) -> IntArray:
    from offramp.graph.order import order_ranks

    return order_ranks(boundary.indptr, boundary.neighbours, order, seed)


def _position(owner: IntArray, ranks: IntArray) -> IntArray:
    """``(B,)`` place of each vertex among those of its worker."""
    by_worker = np.argsort(owner[ranks], kind="stable")
    workers = owner[ranks][by_worker]
    position = np.empty(len(ranks), np.int64)
    position[ranks[by_worker]] = np.arange(len(ranks)) - np.searchsorted(workers, workers)
    return position


def _chunked(slots: IntArray, later: IntArray) -> IntArray:
    return (slots[:, np.newaxis] + later).ravel()
