"""One worker's share of a block, precomputed: what it uploads, what it receives, who needs what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, rows_of
from offramp.switch.switchgnn.plan import BlockPlan


@dataclass(frozen=True, eq=False)
class LocalBlock:
    """The vertices of a block that one worker owns.

    Attributes:
        block_id: the header's Block_id.
        vertices: ``(k,)`` own vertices, ascending.
        rows: ``(k,)`` their rows among all boundary vertices of the worker.
        need: ``(k,)`` contributions to each, which is also its upload's fan-out.
        order: ``(k,)`` indices into ``vertices`` in upload order.
        sources: ``(m,)`` remote vertices that some of them need, ascending.
        indptr: ``(m+1,)`` rows of ``targets``.
        targets: indices into ``vertices``: those that need each source.
    """

    block_id: int
    vertices: IntArray
    rows: IntArray
    need: IntArray
    order: IntArray
    sources: IntArray
    indptr: IntArray
    targets: IntArray

    @cached_property
    def edges(self) -> IntArray:
        """``source · k + target`` of each entry of ``targets``, ascending."""
        return rows_of(self.indptr) * len(self.vertices) + self.targets


def boundary_of(blocks: list[BlockPlan], worker: int) -> IntArray:
    """``(n,)`` vertices, ascending, that ``worker`` owns in any of ``blocks``: the rows of an exchange."""
    own = [block.vertices[block.owner == worker] for block in blocks]
    return np.unique(np.concatenate(own)) if own else np.zeros(0, np.int64)


def find(ids: IntArray, wanted: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Index of each wanted id in ascending ``ids``, valid in any case, and whether it is there."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return at, ids[at] == wanted


def entries_of(indptr: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The entries of several rows, end to end: for each the index into ``rows``, and the entry."""
    counts = indptr[rows + 1] - indptr[rows]
    ends = np.cumsum(counts)
    which = np.repeat(np.arange(len(rows)), counts)
    return which, np.arange(len(which)) + np.repeat(indptr[rows] - (ends - counts), counts)


def local_block(block: BlockPlan, worker: int, boundary: IntArray) -> LocalBlock:
    """The share of ``worker``, whose boundary vertices are ``boundary``."""
    ranks = np.flatnonzero(block.owner == worker)
    target, entries = entries_of(block.indptr, ranks)
    source = block.neighbours[entries]
    by_source = np.argsort(source, kind="stable")
    sources, counts = np.unique(source, return_counts=True)
    return LocalBlock(
        block.block_id,
        block.vertices[ranks],
        np.searchsorted(boundary, block.vertices[ranks]),
        block.need[ranks],
        np.searchsorted(ranks, block.uploads_of(worker)),
        block.vertices[sources],
        np.concatenate([[0], np.cumsum(counts)]),
        target[by_source],
    )
