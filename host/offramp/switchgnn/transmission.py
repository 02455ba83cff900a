# SPDX-License-Identifier: Apache-2.0
"""A worker's uploads in one round, and who is known to have received them (specification section 4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn.chunks import chunk_widths, segments_for
from offramp.switchgnn.local_block import LocalBlock, entries_of, find
from offramp.switchgnn.stats import WorkerStats
from offramp.switchgnn.uploads import Uploads, lanes_of
from offramp.switchgnn.wire import Lanes, SwitchGnnPackets, build_frames
from offramp_base.wire.batch import PacketBatch


class Transmission:
    """Uploads of one block; they stay answerable until the next round begins.

    Args:
        worker: the worker that owns the vertices.
        block: its part of the block.
        values: ``(n, F)`` int32 features of all boundary vertices of the worker, rows of C's order.
        chunks: packets per vertex.
        lanes: most features of a packet.
        round_: the round.
        stats: counts what is repeated and answered.
    """

    def __init__(
        self, worker: int, block: LocalBlock, values: Lanes, chunks: int, lanes: int, round_: int, stats: WorkerStats
    ) -> None:
        self.block = block
        self._lanes = lanes
        self._worker = worker
        self._chunks = chunks
        self._values = values
        self._round = round_
        self._stats = stats
        self._acked = np.zeros(
            (len(block.readers.locals), self._chunks), np.bool_
        )  # the send bitmaps, a bit a neighbour

    def uploads(self) -> Uploads:
        """Every vertex chunk in upload order."""
        return self._upload((self.block.order[:, np.newaxis] * self._chunks + np.arange(self._chunks)).reshape(-1))

    def silent_uploads(self) -> Uploads:
        """Uploads of which no neighbour has acknowledged anything, in upload order."""
        heard = np.zeros((len(self.block.vertices), self._chunks), np.bool_)
        np.logical_or.at(heard, self.block.readers.locals, self._acked)
        vertex, chunk = np.nonzero(~heard[self.block.order])
        uploads = self._upload(self.block.order[vertex] * self._chunks + chunk)
        self._stats.reuploads += len(uploads)
        return uploads

    def acknowledge(self, packets: SwitchGnnPackets) -> int:
        """Process ACKs of this round; returns how many had new information."""
        readers = self.block.readers
        remote, known = find(readers.remotes, packets.field("src_id"))
        chunk = packets.field("chunk_id")
        known &= (packets.field("block_id") == self.block.block_id) & (chunk < self._chunks)
        which, entry = entries_of(readers.indptr, remote[known])
        chunk = chunk[known][which]
        new = int(np.count_nonzero(~self._acked[entry, chunk]))
        self._acked[entry, chunk] = True
        return new

    def answer(self, packets: SwitchGnnPackets) -> PacketBatch:
        """RESEND for each FETCH of this round whose vertex is here."""
        vertex, known = find(self.block.vertices, packets.field("dst_id"))
        chunk = packets.field("chunk_id")
        known &= (packets.field("block_id") == self.block.block_id) & (chunk < self._chunks)
        vertex, chunk = vertex[known], chunk[known]
        self._stats.rejected += len(packets) - len(vertex)
        self._stats.resends += len(vertex)
        fields: dict[str, npt.ArrayLike] = {
            "src_id": self.block.vertices[vertex],
            "dst_id": packets.field("src_id")[known],
            "block_id": self.block.block_id,
            "count": 1,
            "resend": 1,
            "chunk_id": chunk,
            "round": self._round,
        }
        lanes = lanes_of(self._values, self.block.rows[vertex], chunk, self._lanes)
        segments = segments_for(chunk_widths(self._values.shape[1], self._chunks, self._lanes))[chunk]
        return build_frames(self._worker, fields, len(vertex), lanes, segments)

    def _upload(self, cells: IntArray) -> Uploads:
        return Uploads(self._worker, self.block, self._values, self._chunks, self._lanes, self._round, cells)
