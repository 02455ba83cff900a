# SPDX-License-Identifier: Apache-2.0
"""Goldens of sections 7.3, 14.2 and 14.3, and a direct evaluation of the equations as oracle."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.csr import symmetric_csr
from offramp.graph.generate import generate
from offramp.graph.order import order_ranks
from offramp_base.errors import OfframpError
from slot_ideal import slot_trace


def star(n):
    return symmetric_csr(n, np.zeros(n - 1, int), np.arange(1, n))


def ring(n):
    return symmetric_csr(n, np.arange(n), (np.arange(n) + 1) % n)


def hub_at(n, position):
    """Leaves in ascending order, the hub at the 1-based ``position``."""
    return np.insert(np.arange(1, n), position - 1, 0)


def test_star_of_five():
    traces = [slot_trace(*star(5), hub_at(5, p)) for p in range(1, 6)]
    assert [t.slots for t in traces] == [5, 6, 7, 8, 8]
    assert [int(t.queue[-1]) for t in traces] == [0, 1, 2, 3, 3]
    assert traces[0].completed.tolist() == [4, 0, 0, 0, 1]
    assert traces[4].completed.tolist() == [0, 0, 0, 1, 4]


@pytest.mark.parametrize(("n", "mean"), [(3, 11 / 3), (4, 5.25), (5, 6.8), (8, 11.375)])
def test_star_orders(n, mean):
    """Leaves are interchangeable: the hub's position says it all, checked over all orders for small n."""
    slots = [slot_trace(*star(n), hub_at(n, p)).slots for p in range(1, n + 1)]
    assert slots == [n + p - 1 for p in range(1, n)] + [2 * n - 2]
    assert np.mean(slots) == pytest.approx(mean)
    assert np.mean(slots) == pytest.approx((3 * n - 1) / 2 - 1 / n)
    if n <= 5:
        every = [slot_trace(*star(n), np.array(order)).slots for order in permutations(range(n))]
        assert Counter(every) == {z: slots.count(z) * len(every) // n for z in set(slots)}
    gamr = order_ranks(*star(n))
    assert slot_trace(*star(n), gamr).slots == n


def test_ring_of_eight():
    gamr = order_ranks(*ring(8))
    assert (gamr + 1).tolist() == [1, 2, 8, 3, 7, 4, 6, 5]
    trace = slot_trace(*ring(8), gamr)
    assert trace.completed.tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
    assert trace.slots == 10
    worst = slot_trace(*ring(8), np.array([1, 2, 5, 6, 3, 4, 7, 8]) - 1)
    assert worst.completed.tolist() == [0, 0, 0, 0, 2, 2, 2, 2]
    assert worst.slots == 12
    assert slot_trace(*ring(8), np.array([1, 3, 5, 7, 2, 4, 6, 8]) - 1).slots == 9


@pytest.mark.parametrize("n", [4, 5, 6, 7, 12, 40])
def test_ring_in_gamr_order_takes_two_slots_more(n):
    assert slot_trace(*ring(n), order_ranks(*ring(n))).slots == n + 2


@pytest.mark.parametrize(
    ("n", "histogram"),
    [
        (3, {4: 6}),
        (4, {5: 8, 6: 16}),
        (5, {6: 40, 7: 80}),
        (6, {7: 72, 8: 648}),
        (7, {8: 224, 9: 3304, 10: 1512}),
        (8, {9: 512, 10: 20224, 11: 17280, 12: 2304}),
    ],
)
def test_ring_histograms_over_all_orders(n, histogram):
    """The first vertex is fixed and counted n times: a ring looks the same from each of its vertices."""
    csr = ring(n)
    counts = Counter(slot_trace(*csr, np.array((0, *rest))).slots for rest in permutations(range(1, n)))
    assert {z: n * count for z, count in counts.items()} == histogram


def test_figure_8():
    csr = symmetric_csr(5, [0, 0, 1, 2, 3], [1, 2, 2, 3, 4])
    trace = slot_trace(*csr, np.array([0, 2, 1, 3, 4]))
    assert trace.completed.tolist() == [0, 1, 1, 2, 1]
    assert (trace.slots, trace.peak_open) == (6, 3)


def test_six_vertex_example():
    csr = symmetric_csr(6, [0, 0, 0, 1, 1, 2, 3], [2, 3, 4, 2, 5, 4, 5])
    order = order_ranks(*csr)
    one, three = slot_trace(*csr, order), slot_trace(*csr, order, k=3)
    assert order.tolist() == [0, 2, 3, 4, 1, 5]
    assert one.completed.tolist() == [0, 1, 0, 1, 2, 2]
    assert (one.peak_queue, one.slots) == (2, 8)
    assert three.completed.tolist() == [1, 5]
    assert three.slots == 3


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(2, 14), st.integers(1, 5), st.integers(0, 999))
def test_agrees_with_the_equations_read_aloud(n, k, seed):
    rng = np.random.default_rng(seed)
    # A path through all vertices keeps each of them connected.
    u, v = rng.integers(0, n, (2, n))
    csr = symmetric_csr(n, np.concatenate([u, np.arange(n - 1)]), np.concatenate([v, np.arange(1, n)]))
    order = rng.permutation(n)
    left = np.diff(csr[0])
    queue, queues, opened, result = 0, [], [], []
    for t in range(-(-n // k)):
        done = 0
        for sent in order[t * k : (t + 1) * k]:
            for w in csr[1][csr[0][sent] : csr[0][sent + 1]]:
                left[w] -= 1
                done += left[w] == 0
        queue = max(done + queue - k, 0)
        result.append(done)
        queues.append(queue)
        opened.append(((left > 0) & (left < np.diff(csr[0]))).sum())
    trace = slot_trace(*csr, order, k)
    assert trace.completed.tolist() == result
    assert trace.queue.tolist() == queues
    assert trace.open.tolist() == opened
    assert trace.slots == -(-n // k) + -(-queue // k)


@pytest.mark.parametrize("spec", ["ba:n=1000,m=2", "ba:n=1000,m=8", "sbm:n=1000,k=1,degree=8,gamma=2.1"])
@pytest.mark.parametrize("k", [1, 8])
def test_gamr_beats_random_on_power_law_graphs(spec, k):
    graph = generate(spec, "1/0/0", 1)
    rows = np.flatnonzero(graph.degrees)
    u = np.repeat(np.searchsorted(rows, np.arange(graph.vertices)), graph.degrees)
    csr = symmetric_csr(len(rows), u, np.searchsorted(rows, graph.indices))
    gamr = slot_trace(*csr, order_ranks(*csr), k)
    random = [slot_trace(*csr, order_ranks(*csr, "random", seed), k) for seed in range(10)]
    assert gamr.slots < 0.9 * np.mean([trace.slots for trace in random])
    assert gamr.peak_queue < 0.8 * np.mean([trace.peak_queue for trace in random])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*star(3), np.arange(3), 0), "k 0: expected at least 1 packet a slot"),
        ((*star(3), np.array([0, 1, 1])), "order: expected a permutation of 3 ranks"),
        ((np.array([0, 1, 2, 2]), np.array([1, 0]), np.arange(3)), "block: expected at least one neighbour"),
    ],
)
def test_golden_errors(arguments, message):
    with pytest.raises(OfframpError) as error:
        slot_trace(*arguments)
    assert str(error.value).startswith(message)
