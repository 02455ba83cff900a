# SPDX-License-Identifier: Apache-2.0
"""One worker's part of a block, precomputed: what it uploads, what it receives, and who needs what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, rows_of
from offramp.switchgnn.plan import BlockPlan, Plan


@dataclass(frozen=True, eq=False)
class BlockEdges:
    """Edges of a block between vertices of other workers and own ones.

    Attributes:
        remotes: ``(m,)`` remote vertices, ascending.
        indptr: ``(m+1,)`` rows of ``locals``.
        locals: indices of the own vertices that each is joined to.
    """

    remotes: IntArray
    indptr: IntArray
    locals: IntArray


@dataclass(frozen=True, eq=False)
class LocalBlock:
    """The vertices of a block that one worker owns.

    Attributes:
        block_id: the header's Block_id.
        vertices: ``(k,)`` own vertices, ascending.
        rows: ``(k,)`` their rows among all boundary vertices of the worker.
        need: ``(k,)`` number of contributions to each; 0: it gets no sum.
        fan_out: ``(k,)`` number of sums to which its upload is added; 0: not uploaded.
        order: indices into ``vertices`` in upload order.
        sources: ``(m,)`` remote vertices that some of them need, ascending.
        indptr: ``(m+1,)`` rows of ``targets``.
        targets: indices into ``vertices``: those that need each source.
        racks: ``(m,)`` leaf of each source; zeros if there is a single switch.
        readers: remote vertices to whose sums own uploads are added, and which these are.
    """

    block_id: int
    vertices: IntArray
    rows: IntArray
    need: IntArray
    fan_out: IntArray
    order: IntArray
    sources: IntArray
    indptr: IntArray
    targets: IntArray
    racks: IntArray
    readers: BlockEdges

    @cached_property
    def edges(self) -> IntArray:
        """``source · k + target`` of each entry of ``targets``, ascending."""
        return rows_of(self.indptr) * len(self.vertices) + self.targets

    @cached_property
    def ways(self) -> Ways:
        """The leaves behind which each vertex has sources."""
        leaves = int(self.racks.max(initial=0)) + 1
        pairs, of = np.unique(self.targets * leaves + self.racks[rows_of(self.indptr)], return_inverse=True)
        vertex = pairs // leaves
        return Ways(of, vertex, np.bincount(vertex, minlength=len(self.vertices)))


@dataclass(frozen=True, eq=False)
class Ways:
    """Sources of vertices by leaf, since contributions from several leaves arrive over several switches.

    Attributes:
        of: ``(len(targets),)`` which pair of a vertex and a leaf each entry of ``LocalBlock.targets`` belongs to.
        vertex: index into ``LocalBlock.vertices`` of each pair.
        count: ``(k,)`` pairs of each vertex.
    """

    of: IntArray
    vertex: IntArray
    count: IntArray


def boundary_of(blocks: list[BlockPlan], worker: int) -> IntArray:
    """``(n,)`` vertices, ascending, that ``worker`` owns in any of ``blocks``: the rows of an exchange."""
    own = [block.vertices[block.owner == worker] for block in blocks]
    return np.unique(np.concatenate(own)) if own else np.zeros(0, np.int64)


def find(ids: IntArray, wanted: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Index of each wanted id in ascending ``ids`` (always a valid index), and whether it is there."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return at, ids[at] == wanted


def entries_of(indptr: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The entries of several rows, concatenated: for each the index into ``rows``, and the entry."""
    counts = indptr[rows + 1] - indptr[rows]
    ends = np.cumsum(counts)
    which = np.repeat(np.arange(len(rows)), counts)
    return which, np.arange(len(which)) + np.repeat(indptr[rows] - (ends - counts), counts)


def local_block(block: BlockPlan, worker: int, boundary: IntArray, racks: Sequence[int] = ()) -> LocalBlock:
    """The part of ``worker``, whose boundary vertices are ``boundary``; ``racks`` is the leaf of each worker."""
    rack_of = np.asarray(racks, np.int64) if len(racks) else np.zeros(int(block.owner.max(initial=0)) + 1, np.int64)
    ranks = np.flatnonzero(block.owner == worker)
    inward = _links(block.vertices, *block.sources, ranks)
    outward = _links(block.vertices, block.indptr, block.neighbours, ranks) if block.directed else inward
    return LocalBlock(
        block.block_id,
        block.vertices[ranks],
        np.searchsorted(boundary, block.vertices[ranks]),
        block.need[ranks],
        block.fan_out[ranks],
        np.searchsorted(ranks, block.uploads_of(worker)),
        inward.remotes,
        inward.indptr,
        inward.locals,
        rack_of[block.owner[np.searchsorted(block.vertices, inward.remotes)]],
        outward,
    )


class PlanShare:
    """The part of a plan that one worker has.

    Attributes:
        plan: the whole plan.
        boundary: its rows: boundary vertices of the worker, ascending.
    """

    def __init__(self, plan: Plan, worker: int, racks: Sequence[int] = ()) -> None:
        """``racks`` is the leaf of each worker."""
        self.plan = plan
        self.boundary = boundary_of(list(plan.blocks), worker)
        self._worker, self._racks = worker, racks

    @property
    def vertices(self) -> int:
        """Vertices of the worker in all blocks together."""
        return sum(int(np.count_nonzero(block.owner == self._worker)) for block in self.plan.blocks)

    def each_block(self) -> Iterator[LocalBlock]:
        """The blocks one at a time: those of a large graph need less memory so."""
        return (local_block(block, self._worker, self.boundary, self._racks) for block in self.plan.blocks)


def _links(vertices: IntArray, indptr: IntArray, columns: IntArray, ranks: IntArray) -> BlockEdges:
    """The rows ``ranks`` of a CSR matrix, by column."""
    local, entries = entries_of(indptr, ranks)
    remote = columns[entries]
    remotes, counts = np.unique(remote, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return BlockEdges(vertices[remotes], starts, local[np.argsort(remote, kind="stable")])
