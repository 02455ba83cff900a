# SPDX-License-Identifier: Apache-2.0
"""Oracle: a switch stepped slot by slot. Blind to loss, finite buffers and congestion control."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp.switchgnn.plan import make_plan
from offramp_base.errors import OfframpError
from offramp_sim.slot.ports import StarFabric, block_trace, exchange_trace
from slot_ideal import slot_trace

NEAR = StarFabric(delay_s=0.0)


def stepped(block, workers, chunks, delay):
    """Arrivals, additions and departures one slot at a time; queues and open aggregators after each slot."""
    uplinks = [deque((u, c) for u in block.uploads_of(w).tolist() for c in range(chunks)) for w in range(workers)]
    left = {(v, c): int(block.need[v]) for v in range(len(block.vertices)) for c in range(chunks)}
    ports = [0] * workers
    queues, opened, results, slot = [], [], 0, 0
    in_flight = deque()
    while results < len(left):
        in_flight.append([uplink.popleft() for uplink in uplinks if uplink])
        arriving = in_flight.popleft() if slot >= delay else []
        for u, c in arriving:
            for v in block.row(u).tolist():
                left[v, c] -= 1
                ports[block.owner[v]] += left[v, c] == 0
        for w in range(workers):
            if ports[w]:
                ports[w] -= 1
                results += 1
        queues.append(list(ports))
        opened.append(sum(0 < count < block.need[v] for (v, _), count in left.items()))
        slot += 1
    return slot + 3 * delay, queues, opened


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 3), st.sampled_from(["gamr", "random"]))
def test_agrees_with_a_stepped_switch(seed, chunks, delay, order):
    rng = np.random.default_rng(seed)
    n, workers = int(rng.integers(2, 25)), int(rng.integers(2, 6))
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, 2 * n)))
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), rng.integers(0, workers, n), workers)
    plan = make_plan(boundary, chunks, int(rng.integers(2, n + 2)) * chunks * 128, order, seed)
    fabric = StarFabric(delay_s=delay * NEAR.slot_s)
    exchange = exchange_trace(plan, fabric)
    for block, trace in zip(plan.blocks, exchange.blocks, strict=True):
        slots, queues, opened = stepped(block, workers, chunks, delay)
        assert trace.slots == slots
        assert trace.queue.tolist() == queues
        assert trace.open.tolist() == opened
        assert trace.peak_port_queue == max(map(max, queues))
        assert trace.peak_open <= len(block.vertices) * chunks
    assert exchange.slots == sum(trace.slots for trace in exchange.blocks)
    assert exchange.barrier_slots == 4 * delay * len(plan.blocks)


def two_workers(n):
    """A perfect matching between two workers: result ``i`` is done when both ends have arrived."""
    indptr, indices = symmetric_csr(2 * n, np.arange(n), np.arange(n) + n)
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), np.repeat([0, 1], n))


def test_matching_streams_at_line_rate():
    plan = make_plan(two_workers(50), 2, 10**6, "id")
    assert exchange_trace(plan, NEAR).slots == 100
    assert exchange_trace(plan, NEAR).peak_queue == 0
    default = exchange_trace(plan)
    assert default.fabric.slot_s == pytest.approx(16.16e-9)
    assert default.fabric.delay_slots == 124
    assert default.slots == 100 + default.barrier_slots == 100 + 4 * 124
    assert default.seconds == pytest.approx(596 * 16.16e-9)


def test_passes_at_a_finite_rate_bound_the_exchange():
    graph = generate("sbm:n=400,degree=30", "1/0/0", 2)
    plan = make_plan(Boundary(graph, partition(graph, 8, "hash")), 1, 10**6)
    free = exchange_trace(plan, NEAR)
    last = free.slots
    for passes_a_slot in (64, 8, 1, 0.25):
        limited = exchange_trace(plan, StarFabric(delay_s=0.0, passes_pps=passes_a_slot / NEAR.slot_s))
        assert limited.slots >= max(last, (plan.passes - 1) / passes_a_slot)
        last = limited.slots
    assert last <= plan.passes / 0.25 + free.slots
    ample = exchange_trace(plan, StarFabric(delay_s=0.0, passes_pps=1e6 / NEAR.slot_s))
    assert ample.slots == free.slots


def test_one_pass_a_slot_serves_hops_in_order():
    """A hub and three leaves of another worker: the hub's three hops take a slot each."""
    indptr, indices = symmetric_csr(4, [0, 0, 0], [1, 2, 3])
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), [0, 1, 1, 1])
    (block,) = make_plan(boundary, 1, 10**6).blocks
    trace = block_trace(block, 2, 1, StarFabric(delay_s=0.0, passes_pps=1 / NEAR.slot_s))
    # Slots 0-2 hold the hub's hops, 3-5 the leaves; the hub's sum is done with the last of them.
    assert trace.slots == 6
    assert trace.open.tolist() == [0, 0, 0, 1, 1, 0]


def test_gamr_beats_random_with_a_link_for_each_worker():
    graph = generate("sbm:n=3000,k=32,gamma=2.2,degree=60", "1/0/0", 0)
    boundary = Boundary(graph, partition(graph, 32, "hash"))
    gamr, random = (
        exchange_trace(make_plan(boundary, 1, boundary.B * 128, order), NEAR) for order in ("gamr", "random")
    )
    assert gamr.slots < 0.95 * random.slots
    assert gamr.peak_queue < 0.8 * random.peak_queue


def test_one_worker_a_vertex_is_never_faster_than_the_single_queue_of_the_paper():
    """With every port of its own, results wait less: the slot model bounds the uploads, not the ports."""
    indptr, indices = symmetric_csr(9, np.arange(9), (np.arange(9) + 1) % 9)
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), np.arange(9))
    (block,) = make_plan(boundary, 1, 10**6).blocks
    ideal = slot_trace(block.indptr, block.neighbours, block.order)
    assert block_trace(block, 9, 1, NEAR).slots == 1 < ideal.slots


def test_a_rate_must_be_positive():
    plan = make_plan(two_workers(2), 1, 10**6)
    with pytest.raises(OfframpError, match=r"passes_pps 0\.0: expected a rate above 0"):
        exchange_trace(plan, StarFabric(passes_pps=0.0))
