# SPDX-License-Identifier: Apache-2.0
"""Whole jobs, from graph to plans, with the expected sums: for examples, experiments and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.graph.blocks import CutBlock
from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, symmetric_csr
from offramp.graph.order import order_ranks
from offramp.switchgnn.chunks import aggregator_bytes, chunks_for
from offramp.switchgnn.plan import BlockPlan, Plan, make_plan
from offramp.switchgnn.wire import LANES


@dataclass(eq=False)
class CutGraph:
    """A graph in CSR."""

    indptr: IntArray
    indices: IntArray


@dataclass(frozen=True, eq=False)
class GraphPlans:
    """Plans for one graph and its workers.

    Attributes:
        boundary: the cut graph.
        plans: loaded side by side on the switch.
        ports: switch port of each worker.
    """

    boundary: Boundary
    plans: list[Plan]
    ports: list[int]

    def expected(self, features: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """``(vertices, F)`` sums over remote neighbours, straight from the cut edges."""
        sums = np.zeros(features.shape, np.int64)
        for u, v in self.boundary.cut_edges:
            sums[u] += features[v]
            sums[v] += features[u]
        return sums


def six_vertices(blocks: Sequence[Sequence[tuple[int, int]]] | None = None, order: str = "gamr") -> GraphPlans:
    """The example of specification section 14.3; ``blocks`` of cut edges, or all in one block.

    ``order`` is ``gamr`` or ``id``.
    """
    edges = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 4), (3, 5)]
    boundary = _boundary(6, edges, [0, 0, 1, 1, 2, 2], 3)
    parts = blocks or [[(int(u), int(v)) for u, v in boundary.cut_edges]]
    plans = [_block_plan(i, CutBlock.of(np.array(part)), boundary, order) for i, part in enumerate(parts)]
    limit = max(len(plan.vertices) for plan in plans)
    return GraphPlans(boundary, [Plan(3, 1, limit, plans, boundary.R, boundary.B, boundary.C)], [1, 2, 3])


SIX_VERTEX_BLOCKS = [[(0, 2), (0, 4), (2, 4)], [(1, 5), (3, 5)], [(0, 3)], [(1, 2)]]
"""Blocks of the six-vertex example for three aggregators, section 14.3."""


def random_job(
    seed: int,
    *,
    vertices: int,
    edges: int,
    workers: int,
    limit: int,
    features: Sequence[int] = (8,),
    order: str = "gamr",
    lanes: int = LANES,
) -> GraphPlans:
    """A random graph with random owners; a plan for each width, at most ``limit`` vertices in a block.

    Aggregators have ``lanes`` lanes.
    """
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, vertices, (edges, 2))
    boundary = _boundary(vertices, pairs, rng.integers(0, workers, vertices), workers)
    plans, first = [], int(rng.integers(0, 100))
    for width in features:
        chunks = chunks_for(width, lanes)
        memory = limit * chunks * aggregator_bytes(lanes)
        plans.append(make_plan(boundary, chunks, memory, order, seed, first, lanes=lanes))
        first += len(plans[-1].blocks)
    ports = rng.permutation(np.arange(1, workers + 10))[:workers]
    return GraphPlans(boundary, plans, ports.tolist())


def _boundary(vertices: int, edges: npt.ArrayLike, owner: npt.ArrayLike, workers: int) -> Boundary:
    pairs = np.asarray(edges, np.int64).reshape(-1, 2)
    return Boundary(CutGraph(*symmetric_csr(vertices, pairs[:, 0], pairs[:, 1])), owner, workers)


def _block_plan(block_id: int, block: CutBlock, boundary: Boundary, order: str) -> BlockPlan:
    indptr, neighbours = block.csr()
    ranks = order_ranks(indptr, neighbours, order)
    return BlockPlan(block_id, block.vertices, boundary.owner[block.vertices], indptr, neighbours, ranks)
