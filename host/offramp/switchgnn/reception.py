# SPDX-License-Identifier: Apache-2.0
"""The sums that a worker collects in one round (specification section 4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, rows_of
from offramp.switchgnn.chunks import chunk_widths, segments_for
from offramp.switchgnn.kernels import RoundSums, filled, kernels
from offramp.switchgnn.local_block import LocalBlock, entries_of, find
from offramp.switchgnn.stats import WorkerStats
from offramp.switchgnn.wire import NO_ID, Lanes, SwitchGnnPackets, SwitchGnnPacketType
from offramp_base.wire.batch import PacketBatch

Mask = npt.NDArray[np.bool_]
_DATA, _RESEND = (
    int(SwitchGnnPacketType.DATA),
    int(SwitchGnnPacketType.RESEND),
)  # arrays compare faster with plain numbers


class Reception:
    """Sums of one block by ``(vertex, chunk)``, complete by RESULT or when all neighbours came unaggregated.

    An unaggregated feature counts for every vertex here that needs it, whichever asked. A sum of fetched features
    is complete only when one came to the vertex itself: its FETCH has then released the vertex's aggregator, and no
    round ends with an aggregator half full. Among several switches that takes one from behind each leaf.

    Every packet may arrive again or out of order; a packet that does not fit the plan changes nothing.

    Args:
        block: the worker's part of the block.
        chunks: packets per sum.
        lanes: most features of a packet.
        round_: the round.
        sums: ``(n, F)`` int64, all boundary vertices of the worker, to which what is complete is added.
        stats: counts what is received.
    """

    def __init__(
        self, block: LocalBlock, chunks: int, lanes: int, round_: int, sums: npt.NDArray[np.int64], stats: WorkerStats
    ) -> None:
        self.block = block
        self._chunks = chunks
        self._lanes = lanes
        self._segments = segments_for(chunk_widths(sums.shape[1], chunks, lanes))  # of each chunk
        self._sums = sums
        self._stats = stats
        cells = len(block.vertices) * chunks
        self._sum = np.zeros((cells, lanes), np.int64)  # of features that came unaggregated
        self._finished = np.repeat(block.need == 0, chunks)
        self._released = np.zeros(len(block.ways.vertex) * chunks, np.bool_)  # by way
        self._unreleased = np.repeat(block.ways.count, chunks)  # ways of each cell
        self._marked = np.zeros(cells, np.bool_)
        self._missing = np.repeat(block.need, chunks)
        self._cached = np.zeros(len(block.sources) * chunks, np.bool_)  # the receive bitmaps, shared by all vertices
        self._asked = np.zeros((len(block.targets), chunks), np.bool_)
        self._tried = np.zeros_like(self._asked)  # since the last time-out
        self._open = cells - int(np.count_nonzero(self._finished))
        self._news: list[IntArray] = []
        self._take = kernels().get("take_results")
        if self._take is not None:
            self._given = self._arguments(round_)

    @property
    def complete(self) -> bool:
        """Whether every sum is there."""
        return self._open == 0

    def missing_vertices(self) -> IntArray:
        """Vertices with an incomplete chunk, ascending."""
        incomplete = ~self._finished.reshape(-1, self._chunks).all(axis=1)
        return self.block.vertices[incomplete]

    def missing_features(self, limit: int, *, anew: bool) -> dict[str, npt.ArrayLike]:
        """Header fields of FETCH for what is missing: ``(n,)`` vertices that lack, vertices that they lack, chunks.

        What was asked for before is marked as repeated.

        Args:
            limit: most of them.
            anew: ask for anything again; otherwise only for what has not been asked for since this was last true.
        """
        block, shape = self.block, (-1, self._chunks)
        source, target = rows_of(block.indptr), block.targets
        lacking = ~self._finished.reshape(shape)
        wanted = lacking[target] & ~self._cached.reshape(shape)[source]
        # All features from behind a leaf are here, but no FETCH is known to have passed it: ask once more, for any.
        ways = block.ways
        asked = np.zeros((len(ways.vertex), self._chunks), np.bool_)
        np.logical_or.at(asked, ways.of, wanted)
        unreleased = lacking[ways.vertex] & ~asked & ~self._released.reshape(shape)
        wanted[np.unique(ways.of, return_index=True)[1]] |= unreleased
        if anew:
            self._tried[:] = False
        entry, chunk = (each[:limit] for each in np.nonzero(wanted & ~self._tried))
        repeated = self._asked[entry, chunk]
        self._asked[entry, chunk] = self._tried[entry, chunk] = True
        return {
            "src_id": block.vertices[target[entry]],
            "dst_id": block.sources[source[entry]],
            "chunk_id": chunk,
            "resend": repeated,
        }

    def finished_since(self) -> IntArray:
        """The cells completed since the last call."""
        cells = np.concatenate([np.zeros(0, np.int64), *self._news])
        self._news = []
        return cells

    def marks(self, cells: IntArray) -> int:
        """Number of the given complete cells whose packets reported congestion."""
        return int(np.count_nonzero(self._marked[cells]))

    def acknowledgements(self, cell: IntArray) -> dict[str, npt.ArrayLike]:
        """Header fields of ACK for each of the given complete cells."""
        vertex = cell // self._chunks
        return {
            "src_id": self.block.vertices[vertex],
            "count": self.block.need[vertex],
            "chunk_id": cell % self._chunks,
            "ecn": self._marked[cell],
        }

    def take(self, batch: PacketBatch) -> int:
        """Process frames in machine code, if all of them are whole first RESULTs of this round.

        Returns:
            The features in them, without the zeros behind; -1, and nothing has changed, for any other batch.
        """
        data, n = batch.data, len(batch)
        if self._take is None or n > len(self._cells) or data.strides[1] != 1:
            return -1
        lengths = np.ascontiguousarray(batch.lengths, np.int32)
        given = self._given.ctypes.data
        features = self._take(given, data.ctypes.data, data.strides[0], lengths.ctypes.data, n)
        if features >= 0:
            self._open -= n
            self._stats.results += n
            self._news.append(np.sort(self._cells[:n]))
        return features

    def accept(self, packets: SwitchGnnPackets) -> int:
        """Process packets with payload of this round; returns how many had new information."""
        result = packets.field("src_id") == NO_ID
        chunk = packets.field("chunk_id")
        fitting = (packets.field("block_id") == self.block.block_id) & (chunk < self._chunks)
        fitting &= packets.segments >= self._segments[np.minimum(chunk, self._chunks - 1)]
        self._stats.rejected += int((~fitting).sum())
        # Unaggregated first: a RESULT in the same batch then finds its vertex as far as they bring it.
        return self._accept_features(packets.select(fitting & ~result)) + self._accept_results(
            packets.select(fitting & result)
        )

    def _accept_results(self, packets: SwitchGnnPackets) -> int:
        if not len(packets):
            return 0
        at, known = find(self.block.vertices, packets.field("dst_id"))
        known &= (packets.field("count") == self.block.need[at]) & (packets.kind == _DATA)
        cell = at * self._chunks + packets.field("chunk_id")
        new = self._first_of(cell, known, self._finished)
        self._sum[cell[new]] = self._fitted(packets.lanes[new])
        self._marked[cell[new]] = packets.field("ecn")[new] == 1
        self._finish(cell[new])
        self._stats.results += len(new)
        return len(new)

    def _accept_features(self, packets: SwitchGnnPackets) -> int:
        if not len(packets):
            return 0
        block = self.block
        at, known = find(block.sources, packets.field("src_id"))
        known &= packets.field("count") == 1
        chunk = packets.field("chunk_id")
        asked = self._accept_releases(packets, at, known)
        new = self._first_of(at * self._chunks + chunk, known, self._cached)
        self._cached[at[new] * self._chunks + chunk[new]] = True
        which, entry = entries_of(block.indptr, at[new])
        packet = new[which]
        cell = block.targets[entry] * self._chunks + chunk[packet]
        unfinished = ~self._finished[cell]
        cell, packet = cell[unfinished], packet[unfinished]
        np.add.at(self._sum, cell, self._fitted(packets.lanes[packet]))
        np.subtract.at(self._missing, cell, 1)
        unasked = packets.kind == _DATA
        self._unreleased[cell[unasked[packet]]] = 0  # the strawman's: there was no aggregator to release
        self._stats.raws += int(unasked[new].sum())
        self._stats.pulled += int((~unasked[new]).sum())
        touched = np.unique(np.concatenate([cell, asked]))
        self._finish(
            touched[(self._missing[touched] == 0) & (self._unreleased[touched] == 0) & ~self._finished[touched]]
        )
        return len(new) + len(asked)

    def _accept_releases(self, packets: SwitchGnnPackets, at: IntArray, known: Mask) -> IntArray:
        """Note the aggregators that RESEND shows to be released; removes from ``known`` what no vertex here needs."""
        resend = packets.kind == _RESEND
        to, own = find(self.block.vertices, packets.field("dst_id"))
        entry, edge = find(self.block.edges, at * len(self.block.vertices) + to)
        own &= edge
        known &= np.where(resend, own, packets.field("dst_id") == NO_ID)
        if not (resend := known & resend).any():
            return np.zeros(0, np.int64)
        ways, chunk = self.block.ways, packets.field("chunk_id")
        way: IntArray = np.unique((ways.of[entry] * self._chunks + chunk)[resend])
        way = way[~self._released[way]]
        self._released[way] = True
        cell: IntArray = ways.vertex[way // self._chunks] * self._chunks + way % self._chunks
        np.subtract.at(self._unreleased, cell, 1)
        return cell

    def _first_of(self, cell: IntArray, known: Mask, taken: Mask) -> IntArray:
        """Indices of the packets that are the first for their cell; the others are counted as duplicates."""
        candidates = np.flatnonzero(known)
        self._stats.rejected += len(cell) - len(candidates)
        fresh = candidates[~taken[cell[candidates]]]
        first = fresh[np.unique(cell[fresh], return_index=True)[1]]
        self._stats.duplicates += len(candidates) - len(first)
        return first

    def _fitted(self, lanes: Lanes) -> Lanes:
        """The packets' lanes, as many as a chunk has; those that a packet does not carry are 0."""
        fitted = np.zeros((len(lanes), self._lanes), np.int32)
        width = min(self._lanes, lanes.shape[1])
        fitted[:, :width] = lanes[:, :width]
        return fitted

    def _finish(self, cells: IntArray) -> None:
        vertex, chunk = np.divmod(cells, self._chunks)
        for one in np.unique(chunk).tolist():
            of_one = chunk == one
            part = self._sums[:, self._lanes * one : self._lanes * (one + 1)]
            part[self.block.rows[vertex[of_one]]] += self._sum[cells[of_one], : part.shape[1]]
        self._finished[cells] = True
        self._open -= len(cells)
        self._news.append(cells)

    def _arguments(self, round_: int) -> npt.NDArray[np.int64]:
        """Arguments for the kernel, a :class:`~offramp.switchgnn.kernels.RoundSums`."""
        block = self.block
        self._cells = np.zeros(len(self._finished), np.int64)
        return filled(
            RoundSums,
            vertices=block.vertices,
            rows=block.rows,
            need=block.need,
            count=len(block.vertices),
            sums=self._sums,
            features=self._sums.shape[1],
            chunks=self._chunks,
            lanes=self._lanes,
            finished=self._finished,
            marked=self._marked,
            block_id=block.block_id,
            round=round_,
            cells=self._cells,
        )
