# SPDX-License-Identifier: Apache-2.0
"""The owner of each vertex."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import Adjacency, IntArray, rows_of, symmetric_csr
from offramp.graph.g3 import first_stage
from offramp.graph.kahypar import available as kahypar_available
from offramp.graph.kahypar import kahypar_parts
from offramp.graph.metis import metis_parts
from offramp.graph.partition_file import names_file, read_partition
from offramp.graph.racks import hierarchical, least_cross_rack, rack_of
from offramp.graph.repartition import Repartition, repartition
from offramp.graph.sampled import sampled
from offramp.graph.streaming import stream_partition
from offramp.splitmix import GOLDEN, mix
from offramp_base.errors import OfframpError
from offramp_base.extras import fall_back
from offramp_base.registry import Registry

Partitioner = Callable[[Adjacency, int, int], npt.NDArray[np.integer]]
"""``(n,)`` worker of each vertex of a graph, from the number of workers, two at least, and a seed."""

PARTITIONERS: Final[Registry[Partitioner]] = Registry("partitioner", "offramp.partitioners")

AUTO: Final = "auto"
_BLIND: Final = ("hash", "chunk", "random")
"""Partitioners that do not look at the edges."""

KAHYPAR_PINS = 400_000
"""``auto`` takes Mt-KaHyPar up to this many stored entries (5 to 10 s on two cores)."""


METIS_ENTRIES = 1 << 25
"""METIS sees a sample of the edges of a graph with more stored entries than these."""


@dataclass
class _RowAdjacency:
    """An adjacency that has only its rows (:class:`~offramp.graph.csr.Adjacency`)."""

    indptr: IntArray
    indices: IntArray


def partition_ends(
    vertices: int, u: npt.ArrayLike, v: npt.ArrayLike, workers: int, method: str, seed: int
) -> npt.NDArray[np.int32]:
    """:func:`partition` of the undirected graph with edges ``u[i]``-``v[i]``."""
    return partition(_RowAdjacency(*symmetric_csr(vertices, u, v)), workers, method, seed)


def partition(
    graph: Adjacency, workers: int, method: str = "auto", seed: int = 0, racks: int = 1
) -> npt.NDArray[np.int32]:
    """``(n,)`` int32 worker that owns each vertex; every worker owns at least one.

    ``metis`` minimises cut edges (as in the paper), ``metis-volume`` METIS's communication volume, both by a sample of
    the edges if there are more than :data:`METIS_ENTRIES`; ``kahypar`` minimises the multicast volume R; ``g3``
    balances vertices, edges and remote neighbours, ``g3-best`` and ``g3-literal`` do by the algorithm as its thesis
    prints it (:mod:`offramp.graph.repartition`); ``hash`` mixes ids with the seed, ``chunk`` takes consecutive ids,
    ``random`` deals a seeded permutation, ``stream`` reads edges one by one (:mod:`offramp.graph.streaming`);
    ``auto`` is ``kahypar`` where installed and quick, else ``metis-volume``. Anything with a dot or a slash is a file
    (:mod:`offramp.graph.partition_file`).

    With ``racks``, consecutive workers share one: methods that look at the edges cut into racks first and then into
    their workers, unless METIS straight into workers sends less between racks.

    Raises:
        OfframpError: unknown method, a file of another graph, a missing package, a number of workers outside
            ``[1, n]``, or workers that cannot be shared out evenly to the racks.
    """
    n = len(graph.indptr) - 1
    if names_file(method):
        return read_partition(Path(method), graph, workers)
    if method not in methods():
        raise OfframpError(f"partition {method!r}: expected one of {', '.join(methods())}")
    if not 1 <= workers <= n:
        raise OfframpError(f"workers {workers}: expected 1 to {n}, the number of vertices")
    rack_of(workers, racks)
    if 1 < racks < workers and method not in _BLIND:
        return _in_racks(graph, workers, method, seed, racks)
    if method == AUTO:
        small = len(graph.indices) + n <= KAHYPAR_PINS
        method = "kahypar" if small and kahypar_available() else "metis-volume"
        if small and workers > 1 and method != "kahypar":
            fall_back("partition auto: metis-volume in place of kahypar", "mtkahypar")
    if workers == 1:
        return np.zeros(n, np.int32)
    owner = PARTITIONERS.get(method)(graph, workers, seed)
    if owner.shape != (n,) or owner.dtype.kind not in "iu" or owner.min() < 0 or owner.max() >= workers:
        raise OfframpError(f"partition {method}: expected {n} workers from 0 to {workers - 1}, one for each vertex")
    return _occupied(owner.astype(np.int64), workers).astype(np.int32)


def methods() -> list[str]:
    """Names of all ways to partition a graph, files aside."""
    return [AUTO, *PARTITIONERS.names()]


def _in_racks(graph: Adjacency, workers: int, method: str, seed: int, racks: int) -> npt.NDArray[np.int32]:
    def cut(part: Adjacency, parts: int) -> npt.NDArray[np.int32]:
        return partition(part, parts, method, seed)

    flat = [partition(graph, workers, name, seed) for name in dict.fromkeys([method, "metis"])]
    try:
        owners = [hierarchical(graph, workers, racks, cut), *flat]
    except OfframpError:
        owners = flat  # a rack is too small for its workers
    return least_cross_rack(graph, workers, racks, owners)


@PARTITIONERS.register("metis")
def _metis(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:
    return metis_parts(*sampled(graph.indptr, graph.indices, METIS_ENTRIES, seed), workers, seed)


@PARTITIONERS.register("metis-volume")
def _metis_volume(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:
    return metis_parts(*sampled(graph.indptr, graph.indices, METIS_ENTRIES, seed), workers, seed, "volume")


@PARTITIONERS.register("kahypar")
def _kahypar(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:
    return kahypar_parts(graph.indptr, graph.indices, workers, seed)[0]


def _g3(mode: str) -> Partitioner:
    def owners(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:
        start = _occupied(first_stage(graph, workers, seed), workers)
        return repartition(graph, start, workers, Repartition(mode=mode)).owner

    return owners


for _name, _mode in {"g3": "guarded", "g3-best": "best", "g3-literal": "literal"}.items():
    PARTITIONERS.register(_name)(_g3(_mode))


@PARTITIONERS.register("stream")
def _stream(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:  # noqa: ARG001
    rows, columns = rows_of(graph.indptr), np.asarray(graph.indices, np.int64)
    return stream_partition(lambda: [(rows, columns)], len(graph.indptr) - 1, len(rows), workers)


@PARTITIONERS.register("hash")
def _hash(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:
    mixed = _mix(np.arange(len(graph.indptr) - 1, dtype=np.uint64), seed)
    return (mixed % np.uint64(workers)).astype(np.int64)


@PARTITIONERS.register("chunk")
def _chunk(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:  # noqa: ARG001
    n = len(graph.indptr) - 1
    return np.arange(n) * workers // n


@PARTITIONERS.register("random")
def _random(graph: Adjacency, workers: int, seed: int) -> npt.NDArray[np.integer]:
    return np.random.default_rng(seed).permutation(len(graph.indptr) - 1) % workers


def _mix(ids: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64 over each id, offset by the seed."""
    return mix(ids + np.uint64((seed + 1) * GOLDEN & 0xFFFFFFFFFFFFFFFF))


def _occupied(owner: npt.NDArray[np.int64], workers: int) -> npt.NDArray[np.int64]:
    """Give each worker without a vertex the last vertex of the worker that then has most."""
    sizes = np.bincount(owner, minlength=workers)
    for empty in np.flatnonzero(sizes == 0).tolist():
        giver = int(sizes.argmax())
        owner[np.flatnonzero(owner == giver)[-1]] = empty
        sizes[giver] -= 1
        sizes[empty] += 1
    return owner
