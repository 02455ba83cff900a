# SPDX-License-Identifier: Apache-2.0
"""Seeded sets of graphs of the sizes of ZINC and MalNet, which no dependency ships (table 4.3)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from offramp.graph.csr import IntArray, symmetric_csr
from offramp.graph.generate import ba, rmat, sbm
from offramp.graph.split import split_vertices
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

SPLIT: Final = "0.6/0.2/0.2"
_VALENCE: Final = 4


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs side by side; the fields are those of :class:`offramp.torchgt.task.GraphTask`."""

    indptr: IntArray
    indices: IntArray
    features: npt.NDArray[np.float32]
    graph_of: IntArray
    targets: npt.NDArray[np.float64]
    masks: npt.NDArray[np.bool_]
    classes: int


Sample = tuple[int, IntArray, IntArray, IntArray, float]
"""Vertices, both ends of the edges, type of each vertex, target."""


def generate_set(spec: str, split: str | None, seed: int) -> GraphSet:
    """Generate the set that ``NAME:field=value,…`` describes, with NAME one of :data:`SETS`.

    Raises:
        OfframpError: the set or a field is unknown, or a value is out of range.
    """
    name, _, text = spec.partition(":")
    sample = SETS[name]
    fields = {p.name: p.default for p in list(inspect.signature(sample).parameters.values())[2:]}
    fields["count"] = 200
    for assignment in filter(None, text.split(",")):
        key, _, value = assignment.partition("=")
        if key not in fields:
            raise OfframpError(f"{spec}: {key}: expected one of {', '.join(fields)}")
        least, most = RANGES[key]
        number = whole_number(value)
        if number is None or not least <= number <= most:
            raise OfframpError(f"{spec}: {key}: expected {least} to {most}, got {value!r}")
        fields[key] = number
    count, rng = fields.pop("count"), np.random.default_rng(seed)
    samples = [sample(rng, place, **fields) for place in range(count)]
    return _joined(samples, 0 if name == "molecules" else fields["k"], split or SPLIT, seed)


RANGES: Final = {"count": (5, 10**6), "nodes": (16, 10**6), "rings": (0, 10**6), "k": (2, 5)}


def molecules(rng: np.random.Generator, _place: int, nodes: int = 23, rings: int = 2) -> Sample:
    """A random tree of degree at most 4 and some edges that close rings, with as many vertices and edges as in ZINC.

    Its target is the mean distance between two vertices (Wiener's index over the number of pairs), which depends on all
    pairs.
    """
    n = max(4, round(rng.normal(nodes, nodes / 5)))
    degrees, ends = np.zeros(n, np.int64), []
    for vertex in range(1, n):
        recent = np.flatnonzero(degrees[:vertex] < _VALENCE - 1)[-int(rng.integers(2, 8)) :]
        ends.append((int(rng.choice(recent)), vertex))
        degrees[list(ends[-1])] += 1
    ends += [(int(u), int(v)) for u, v in rng.integers(0, n, (rings, 2))]
    u, v = np.array(ends).T
    indptr, indices = symmetric_csr(n, u, v)
    adjacency = csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n))
    distance = shortest_path(adjacency, unweighted=True)
    return n, u, v, np.diff(indptr), float(distance.sum() / (n * (n - 1)))


def families(rng: np.random.Generator, place: int, nodes: int = 400, k: int = 5) -> Sample:
    """Graphs of up to five families (like MalNet's five types), which degrees alone cannot distinguish.

    Preferential attachment, R-MAT, communities, a ring of neighbours with shortcuts, and uniform random edges.
    """
    family = place % k
    n = max(16, round(rng.normal(nodes, nodes / 8)))
    match family:
        case 0:
            _, u, v, _ = ba(rng, n, 2)
        case 1:
            n, u, v, _ = rmat(rng, int(np.log2(n)), degree=4)
        case 2:
            _, u, v, _ = sbm(rng, n, 8, 4.0, 0.95)
        case 3:
            u = np.repeat(np.arange(n), 2)
            v = (u + np.tile([1, 2], n)) % n
            v = np.where(rng.random(2 * n) < 0.1, rng.integers(0, n, 2 * n), v)
        case _:
            u, v = rng.integers(0, n, (2, 2 * n))
    return n, u, v, np.zeros(n, np.int64), float(family)


SETS: Final[dict[str, Callable[..., Sample]]] = {"molecules": molecules, "families": families}


def scaled(targets: npt.NDArray[np.float64], train: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Targets scaled to mean 0 and deviation 1 over the training graphs."""
    own = targets[train]
    mean, deviation = (float(own.mean()), float(own.std())) if len(own) else (0.0, 1.0)
    return (targets - mean) / max(deviation, 1e-9)


def _joined(samples: list[Sample], classes: int, split: str, seed: int) -> GraphSet:
    sizes = np.array([n for n, *_ in samples])
    starts = np.cumsum(sizes) - sizes
    u, v = (np.concatenate([s[i] + first for s, first in zip(samples, starts, strict=True)]) for i in (1, 2))
    indptr, indices = symmetric_csr(int(sizes.sum()), u, v)
    types = np.concatenate([s[3] for s in samples])
    targets = np.array([s[4] for s in samples])
    labels = targets.astype(np.int64) if classes else np.zeros(len(samples), np.int64)
    masks = np.stack(split_vertices(labels, max(1, classes), split, seed))
    if not classes:
        targets = scaled(targets, masks[0])
    features: Any = np.eye(int(types.max()) + 1, dtype=np.float32)[types]
    return GraphSet(indptr, indices, features, np.repeat(np.arange(len(samples)), sizes), targets, masks, classes)
