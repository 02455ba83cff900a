"""One worker's share of a block, precomputed: what it uploads, what it receives, who needs what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.graph.csr import IntArray
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


def boundary_of(blocks: list[BlockPlan], worker: int) -> IntArray:
    """``(n,)`` vertices, ascending, that ``worker`` owns in any of ``blocks``: the rows of an exchange."""
    own = [block.vertices[block.owner == worker] for block in blocks]
    return np.unique(np.concatenate(own)) if own else np.zeros(0, np.int64)


def local_block(block: BlockPlan, worker: int, boundary: IntArray) -> LocalBlock:
    """The share of ``worker``, whose boundary vertices are ``boundary``."""
    ranks = np.flatnonzero(block.owner == worker)
    need = block.need[ranks]
    ends = np.cumsum(need)
    entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(block.indptr[ranks] - (ends - need), need)
    source = block.neighbours[entries]
    target = np.repeat(np.arange(len(ranks)), need)
    by_source = np.argsort(source, kind="stable")
    sources, counts = np.unique(source, return_counts=True)
    return LocalBlock(
        block.block_id,
        block.vertices[ranks],
        np.searchsorted(boundary, block.vertices[ranks]),
        need,
        np.searchsorted(ranks, block.uploads_of(worker)),
        block.vertices[sources],
        np.concatenate([[0], np.cumsum(counts)]),
        target[by_source],
    )
