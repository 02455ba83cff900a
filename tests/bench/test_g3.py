# SPDX-License-Identifier: Apache-2.0
"""G3's partitioner and bins on a graph with Reddit's number of vertices; docs/results has the table.

Processor time, so that what else runs does not count: nothing here passes or fails by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest

from offramp.graph.bins import BinLimit, pack_bins, priority_order
from offramp.graph.g3 import first_stage
from offramp.graph.load import load
from offramp.graph.remote import RemoteNeighbours
from offramp.graph.repartition import repartition

pytestmark = pytest.mark.bench
GRAPH = "sbm:n=232965,k=41,degree=100,gamma=2.5,homophily=0.8,features=1"
WORKERS = 8
_T = TypeVar("_T")


def timed(what: str, work: Callable[[], _T]) -> _T:
    start = time.process_time()
    result = work()
    print(f"{what}: {time.process_time() - start:.2f} s")  # noqa: T201
    return result


@pytest.mark.timeout(1200)
def test_reddits_number_of_vertices() -> None:
    graph = load(GRAPH, 0, "1/0/0")
    start = timed("METIS, two constraints", lambda: first_stage(graph, WORKERS, 1))
    before = timed("remote neighbours", lambda: RemoteNeighbours(graph, start, WORKERS)).recv
    done = timed("with swaps", lambda: repartition(graph, start, WORKERS))
    print(f"{graph.edges} edges, {len(done.steps) - 1} swaps, {done.steps[0]} to {done.steps[-1]}")  # noqa: T201
    assert done.recv.max() <= before.max()
    assert done.recv.min() / done.recv.max() >= 0.97
    order = timed("priority order of a worker", lambda: priority_order(graph, done.owner == 0))
    bins = timed("its bins", lambda: pack_bins(graph, order, BinLimit(20_000, row=1, target=0)))
    assert np.array_equal(np.concatenate(bins), order)
