# SPDX-License-Identifier: Apache-2.0
"""Uploads of blocks cut by METIS and from projective planes; docs/results has the tables.

Processor time, so that what else runs does not count: nothing here passes or fails by it.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from offramp.graph.balance import balanced_blocks, busiest
from offramp.graph.blocks import CutBlock, plan_blocks
from offramp.graph.boundary import Boundary
from offramp.graph.csr import rows_of, symmetric_csr
from offramp.graph.load import load
from offramp.graph.partition import partition
from offramp.switchgnn.plan import AGGREGATOR_BYTES, make_plan
from offramp.switchgnn.plan_update import updated

pytestmark = pytest.mark.bench
DENSE = "sbm:n=16000,k=41,degree=490,gamma=2.5,homophily=0.8,features=1"
WORKERS = 32


def test_uploads_on_a_dense_graph() -> None:
    graph = load(DENSE, 0)
    boundary = Boundary(graph, partition(graph, WORKERS, "metis", 0), WORKERS)
    print(f"\n{boundary.B} boundary vertices, {boundary.C} cut edges, {boundary.R} copies")  # noqa: T201
    print("| Room for | METIS: blocks, uploads, busiest | s | balanced: blocks, uploads, busiest | s |")  # noqa: T201
    for share in (0.9, 0.66, 0.45, 0.31, 0.2, 0.125):
        limit = int(share * boundary.B)
        row = [f"{share:.0%}"]
        for blocks, seconds in (
            timed(plan_blocks, boundary.cut_edges, limit),
            timed(balanced_blocks, boundary, limit),
        ):
            row += [f"{len(blocks)}, {uploads(blocks):,}, {busiest(blocks, boundary.owner):,}", f"{seconds:.2f}"]
        print("| " + " | ".join(row) + " |")  # noqa: T201


@pytest.mark.parametrize("changed", [0.001, 0.01])
def test_updates(changed: float) -> None:
    """A share of the edges goes, and as many others close triangles."""
    graph = load("sbm:n=200000,k=1000,degree=40,homophily=0.95,features=1", 0)
    owner = partition(graph, 8, "metis", 0)
    memory = 4000 * AGGREGATOR_BYTES
    before, whole = timed(make_plan, Boundary(graph, owner, 8), 1, memory)
    rng = np.random.default_rng(0)
    u, v = rows_of(graph.indptr), graph.indices
    edges = np.stack([u, v])[:, u < v]
    count = int(changed * edges.shape[1])
    middle = rng.integers(0, graph.vertices, count)
    degrees = np.diff(graph.indptr)
    ends = [graph.indices[graph.indptr[middle] + (rng.random(count) * degrees[middle]).astype(int)] for _ in range(2)]
    stay = rng.permutation(edges.shape[1])[count:]
    now = np.concatenate([edges[:, stay], np.stack(ends)], axis=1)
    indptr, indices = symmetric_csr(graph.vertices, *now)
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), owner, 8)
    update, seconds = timed(updated, before, boundary)
    fresh, again = timed(make_plan, boundary, 1, memory)
    took = f"plan {whole:.2f} s, updated {seconds:.2f} s, again {again:.2f} s"
    stayed = f"{update.kept} of {len(before.blocks)} blocks kept"
    print(f"\n{changed:.1%} of {edges.shape[1]:,} edges: {took}; {stayed}")  # noqa: T201
    print(f"uploads {update.plan.uploads:,}, from scratch {fresh.uploads:,}")  # noqa: T201


def timed(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return result, time.process_time() - start


def uploads(blocks: list[CutBlock]) -> int:
    return sum(len(block.vertices) for block in blocks)
