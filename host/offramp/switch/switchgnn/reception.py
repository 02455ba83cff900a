"""The sums that a worker collects in one round (specification section 4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switch.switchgnn.local_block import LocalBlock
from offramp.switch.switchgnn.stats import WorkerStats
from offramp.wire.switchgnn import LANES, NO_ID, Parsed


class Reception:
    """Sums of one block by ``(vertex, chunk)``, complete by RESULT or when all neighbours came raw.

    Every packet may arrive again or out of order; a packet that does not fit the plan changes nothing.
    """

    def __init__(self, block: LocalBlock, chunks: int, stats: WorkerStats) -> None:
        self.block = block
        self._chunks = chunks
        self._stats = stats
        cells = len(block.vertices) * chunks
        self._sum = np.zeros((cells, LANES), np.int64)
        self._finished = np.zeros(cells, np.bool_)
        self._missing = np.repeat(block.need, chunks)
        self._cached = np.zeros(len(block.sources) * chunks, np.bool_)
        self._open = cells

    @property
    def complete(self) -> bool:
        """Whether every sum is there."""
        return self._open == 0

    @property
    def sums(self) -> npt.NDArray[np.int64]:
        """``(k, chunks · 32)`` sums of the block's own vertices."""
        return self._sum.reshape(len(self.block.vertices), self._chunks * LANES)

    def missing_vertices(self) -> IntArray:
        """Vertices with an incomplete chunk, ascending."""
        incomplete = ~self._finished.reshape(-1, self._chunks).all(axis=1)
        return self.block.vertices[incomplete]

    def accept(self, packets: Parsed) -> int:
        """Take packets with payload of this round; how many of them told something new."""
        result = packets.field("src_id") == NO_ID
        fitting = (packets.field("block_id") == self.block.block_id) & (packets.field("chunk_id") < self._chunks)
        self._stats.rejected += int((~fitting).sum())
        # RAW first: a RESULT in the same batch then finds its vertex as far as raw features bring it.
        return self._accept_raw(packets.select(fitting & ~result)) + self._accept_results(
            packets.select(fitting & result)
        )

    def _accept_results(self, packets: Parsed) -> int:
        if not len(packets):
            return 0
        at, known = _find(self.block.vertices, packets.field("dst_id"))
        known &= packets.field("count") == self.block.need[at]
        cell = at * self._chunks + packets.field("chunk_id")
        new = self._first_of(cell, known, self._finished)
        self._sum[cell[new]] = packets.lanes[new]
        self._finish(cell[new])
        self._stats.results += len(new)
        return len(new)

    def _accept_raw(self, packets: Parsed) -> int:
        if not len(packets):
            return 0
        block = self.block
        at, known = _find(block.sources, packets.field("src_id"))
        known &= (packets.field("count") == 1) & (packets.field("dst_id") == NO_ID)
        chunk = packets.field("chunk_id")
        feature = at * self._chunks + chunk
        new = self._first_of(feature, known, self._cached)
        self._cached[feature[new]] = True
        self._stats.raws += len(new)
        users = block.indptr[at[new] + 1] - block.indptr[at[new]]
        packet = np.repeat(new, users)
        ends = np.cumsum(users)
        entry = np.arange(len(packet)) + np.repeat(block.indptr[at[new]] - (ends - users), users)
        cell = block.targets[entry] * self._chunks + chunk[packet]
        unfinished = ~self._finished[cell]
        cell, packet = cell[unfinished], packet[unfinished]
        np.add.at(self._sum, cell, packets.lanes[packet])
        np.subtract.at(self._missing, cell, 1)
        touched = np.unique(cell)
        self._finish(touched[self._missing[touched] == 0])
        return len(new)

    def _first_of(self, cell: IntArray, known: npt.NDArray[np.bool_], taken: npt.NDArray[np.bool_]) -> IntArray:
        """Indices of the packets that are the first for their cell; the others are counted."""
        candidates = np.flatnonzero(known)
        self._stats.rejected += len(cell) - len(candidates)
        fresh = candidates[~taken[cell[candidates]]]
        first = fresh[np.unique(cell[fresh], return_index=True)[1]]
        self._stats.duplicates += len(candidates) - len(first)
        return first

    def _finish(self, cells: IntArray) -> None:
        self._finished[cells] = True
        self._open -= len(cells)


def _find(ids: IntArray, wanted: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Index of each wanted id in ascending ``ids``, valid in any case, and whether it is there."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return at, ids[at] == wanted
