# SPDX-License-Identifier: Apache-2.0
"""Bins of each layer against a plain walk over the priority list. Blind to how well planned times foresee real ones."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.graph.bins import BinLimit, priority_order
from offramp.graph.data import build_graph
from offramp.graph.partition import partition
from offramp.graph.ready_packing import LayerLimits, pack_layers
from offramp_base.errors import OfframpError

WORKERS = 3
EDGES = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 6), (6, 7), (2, 6), (1, 7)])


def slowly(graph, owner, layers: LayerLimits, *, boundary_first: bool) -> list[list[list[list[int]]]]:
    """The definition: a worker takes ready vertices in priority order until the limit, or waits for the next row."""
    neighbours = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(graph.vertices)]
    orders = []
    for worker in range(WORKERS):
        mine = owner == worker
        orders.append((priority_order(graph, mine) if boundary_first else np.flatnonzero(mine)).tolist())
    ends = dict.fromkeys(range(graph.vertices), 0.0)
    clocks = [0.0] * WORKERS
    packed = []
    for number, limit in enumerate(layers.limits):
        into, out = layers.widths[number : number + 2]
        now: dict[int, float] = {}
        packed.append([])
        for worker, order in enumerate(orders):
            ready = {
                v: max((ends[u] for u in neighbours[v] if owner[u] != worker), default=0.0) if number else 0.0
                for v in order
            }
            if not layers.eager and order:
                ready = dict.fromkeys(order, max(ready.values()))
            rest, bins = list(order), []
            while rest:
                candidates = [v for v in rest if ready[v] <= clocks[worker]]
                begun, loaded, full = [], set(), []
                for v in candidates:
                    grown = loaded | {v, *neighbours[v]}
                    if begun and len(grown) * limit.row + (len(begun) + 1) * limit.target > limit.most:
                        full.append(begun)
                        begun, grown = [], {v, *neighbours[v]}
                    begun, loaded = [*begun, v], grown
                used = len(loaded) * limit.row + len(begun) * limit.target
                if begun and (len(candidates) == len(rest) or used >= limit.most):
                    full.append(begun)
                if not full:
                    clocks[worker] = min(ready[v] for v in rest if ready[v] > clocks[worker])
                for part in full:
                    edges = sum(len(neighbours[v]) + 1 for v in part)
                    clocks[worker] += edges * into + len(part) * out
                    now |= dict.fromkeys(part, clocks[worker])
                    rest = [v for v in rest if v not in part]
                bins += full
            packed[-1].append(bins)
        ends = now
    return packed


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("boundary_first", [True, False])
def test_as_the_definition_says(eager: bool, boundary_first: bool) -> None:
    for seed in range(6):
        ends = np.random.default_rng(seed).integers(0, 40, (2, 90))
        graph = build_graph("random", 40, (ends[0], ends[1]))
        owner = partition(graph, WORKERS, "hash", seed)
        for layers in (
            LayerLimits((5, 3, 2, 4), (BinLimit(60, 5, 3), BinLimit(40, 3, 2), BinLimit(9, 0, 1)), eager),
            LayerLimits.of_targets(4, (6, 2, 2), eager=eager),
            LayerLimits.of_memory(300, (4, 2, 3), 4, eager=eager),
        ):
            expected = slowly(graph, owner, layers, boundary_first=boundary_first)
            actual = pack_layers(graph, owner, WORKERS, layers, boundary_first=boundary_first)
            assert [[[part.tolist() for part in bins] for bins in layer] for layer in actual] == expected


def test_golden_a_packs_what_is_ready() -> None:
    """Worker 2 has 6 (after 2 and 5) and 7 (after 1): 7 is ready first, since 2 and 1 come before 5."""
    graph = build_graph("golden A", 8, (EDGES[:, 0], EDGES[:, 1]))
    owner = np.array([0, 0, 0, 1, 1, 1, 2, 2], np.int32)
    layers = LayerLimits((1, 1, 1), (BinLimit(1), BinLimit(1)))
    first, second = pack_layers(graph, owner, 3, layers)
    assert [[part.tolist() for part in bins] for bins in first] == [[[1], [2], [0]], [[3], [5], [4]], [[6], [7]]]
    # Ends: 1 at 5, 2 at 11, 0 at 15; 3 at 5, 5 at 10, 4 at 14; 6 at 5, 7 at 9. Then worker 2 waits until 11 for 6.
    assert [part.tolist() for part in second[2]] == [[7], [6]]
    whole = pack_layers(graph, owner, 3, LayerLimits((1, 1, 1), (BinLimit(9), BinLimit(9))))
    assert [len(bins) for layer in whole for bins in layer] == [1] * 6


def test_each_layer_has_its_own_limit() -> None:
    wide = LayerLimits.of_memory(4000, (100, 10, 4), 4, eager=True)
    assert [(each.most, each.row, each.target) for each in wide.limits] == [(2000, 400, 40), (2000, 40, 16)]
    assert [each.most for each in LayerLimits.of_targets(10, (30, 10, 10), eager=True).limits] == [10, 20]
    with pytest.raises(OfframpError, match="1 limits of bins: expected 2, one per layer"):
        LayerLimits((3, 2, 2), (BinLimit(1),))
