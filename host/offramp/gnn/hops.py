# SPDX-License-Identifier: Apache-2.0
"""Sampled neighbours of neighbours, for loaders that start from vertices and from pairs of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.dgs.sampling import Numbering
    from offramp.gnn.sampling import NeighbourSampler
    from offramp.gnn.whole import EdgeType
    from offramp.graph.csr import IntArray


class DrawnNeighbourhood(NamedTuple):
    """The vertices and edges that were drawn, by type.

    Attributes:
        nodes: vertices of the whole graph, those that were started from first.
        pairs: ``(2, e)`` edges in their numbers.
        edges: ids of the edges.
    """

    nodes: dict[str, IntArray]
    pairs: dict[EdgeType, IntArray]
    edges: dict[EdgeType, IntArray]


def neighbourhood(
    samplers: Mapping[EdgeType, NeighbourSampler],
    numberings: Mapping[str, Numbering],
    hops: Mapping[EdgeType, Sequence[int]],
    seeds: Mapping[str, IntArray],
    batch: int,
) -> DrawnNeighbourhood:
    """Neighbours of neighbours, hop by hop; each vertex is expanded once, in the hop after the one that drew it.

    Args:
        samplers: sampler of each type of edges; every rank calls this together.
        numberings: numbering of each type of vertices.
        hops: neighbours of each vertex in each hop, -1 for all, by type of edges.
        seeds: vertices of some types, no one twice.
        batch: a number that batches do not share.
    """
    none = np.zeros(0, np.int64)
    nodes = dict.fromkeys(numberings, none) | dict(seeds)
    frontier = {name: np.arange(len(of)) for name, of in nodes.items()}
    pairs: dict[EdgeType, list[IntArray]] = {key: [np.zeros((2, 0), np.int64)] for key in samplers}
    edges: dict[EdgeType, list[IntArray]] = {key: [none] for key in samplers}
    for hop in range(max(map(len, hops.values()), default=0)):
        first = {name: len(of) for name, of in nodes.items()}
        for key, sampler in samplers.items():
            source, _, target = key
            front = frontier[target]
            drawn = sampler.draw(nodes[target][front], hops[key][hop], batch, hop)
            nodes[source], local = numberings[source](nodes[source], drawn.sources)
            pairs[key].append(np.stack([local, np.repeat(front, drawn.counts)]))
            edges[key].append(drawn.edges)
        frontier = {name: np.arange(first[name], len(of)) for name, of in nodes.items()}
    return DrawnNeighbourhood(
        nodes,
        {key: np.concatenate(of, axis=1) for key, of in pairs.items()},
        {key: np.concatenate(of) for key, of in edges.items()},
    )


def hops_of(
    edges: Iterable[EdgeType], given: Sequence[int] | Mapping[EdgeType, Sequence[int]]
) -> dict[EdgeType, list[int]]:
    """Neighbours of each hop, by type of edges, from numbers for all of them or for each.

    Raises:
        OfframpError: a type without numbers, or numbers of hops that differ.
    """
    fanouts = {}
    for key in edges:
        if isinstance(given, Mapping) and key not in given:
            raise OfframpError(f"num_neighbors: expected numbers for {' '.join(key)}")
        fanouts[key] = list(given[key] if isinstance(given, Mapping) else given)
    if len({len(each) for each in fanouts.values()}) > 1:
        raise OfframpError("num_neighbors: expected as many hops for each type of edges")
    return fanouts
