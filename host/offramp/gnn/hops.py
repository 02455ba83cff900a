# SPDX-License-Identifier: Apache-2.0
"""Sampled neighbours of neighbours, for loaders that start from vertices and from pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from offramp.dgs.sampling import Numbering
    from offramp.gnn.sampling import Sampler
    from offramp.graph.csr import IntArray


def neighbourhood(
    sampler: Sampler, numbering: Numbering, hops: Sequence[int], seeds: IntArray, batch: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Vertices, seeds first; ``(2, e)`` edges in their numbers; the edges' ids. Each vertex is expanded once.

    Args:
        sampler: draws; every rank calls this together.
        numbering: of the graph's vertices.
        hops: neighbours of each vertex in each hop, -1 for all.
        seeds: vertices of the whole graph, no one twice.
        batch: a number that batches do not share.
    """
    nodes, frontier = seeds, np.arange(len(seeds))
    pairs, ids = [], []
    for hop, fanout in enumerate(hops):
        drawn = sampler.draw(nodes[frontier], fanout, batch, hop)
        first = len(nodes)
        nodes, local = numbering(nodes, drawn.sources)
        pairs.append(np.stack([local, np.repeat(frontier, drawn.counts)]))
        ids.append(drawn.edges)
        frontier = np.arange(first, len(nodes))
    none = np.zeros((2, 0), np.int64)
    return nodes, np.concatenate([none, *pairs], axis=1), np.concatenate([none[0], *ids])
