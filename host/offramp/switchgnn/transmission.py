# SPDX-License-Identifier: Apache-2.0
"""What a worker uploads in one round, and who is known to have it (specification section 4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn.local_block import LocalBlock, entries_of, find
from offramp.switchgnn.stats import WorkerStats
from offramp.switchgnn.wire import LANES, NO_ID, Lanes, Parsed, build_frames
from offramp_base.wire.batch import PacketBatch


class Transmission:
    """Uploads of one block; they stay answerable until the next round begins.

    Args:
        worker: whose vertices they are.
        block: its share of the block.
        lanes: ``(k, chunks, 32)`` features of the block's own vertices.
        round_: the round.
        stats: counts what is repeated and answered.
    """

    def __init__(self, worker: int, block: LocalBlock, lanes: Lanes, round_: int, stats: WorkerStats) -> None:
        self.block = block
        self._worker = worker
        self._chunks = lanes.shape[1]
        self._lanes = lanes.reshape(-1, LANES)
        self._round = round_
        self._stats = stats
        self._acked = np.zeros(
            (len(block.readers.locals), self._chunks), np.bool_
        )  # the send bitmaps, a bit a neighbour

    def uploads(self) -> PacketBatch:
        """Every vertex chunk in upload order."""
        order = np.repeat(self.block.order * self._chunks, self._chunks)
        return self._upload(order + np.tile(np.arange(self._chunks), len(self.block.order)))

    def silent_uploads(self) -> PacketBatch:
        """Those again of which no neighbour has acknowledged anything, in upload order."""
        heard = np.zeros((len(self.block.vertices), self._chunks), np.bool_)
        np.logical_or.at(heard, self.block.readers.locals, self._acked)
        vertex, chunk = np.nonzero(~heard[self.block.order])
        batch = self._upload(self.block.order[vertex] * self._chunks + chunk)
        self._stats.reuploads += len(batch)
        return batch

    def acknowledge(self, packets: Parsed) -> int:
        """Take ACKs of this round; how many told something new."""
        readers = self.block.readers
        remote, known = find(readers.remotes, packets.field("src_id"))
        chunk = packets.field("chunk_id")
        known &= (packets.field("block_id") == self.block.block_id) & (chunk < self._chunks)
        which, entry = entries_of(readers.indptr, remote[known])
        chunk = chunk[known][which]
        new = int(np.count_nonzero(~self._acked[entry, chunk]))
        self._acked[entry, chunk] = True
        return new

    def answer(self, packets: Parsed) -> PacketBatch:
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
        return build_frames(self._worker, fields, len(vertex), self._lanes[vertex * self._chunks + chunk])

    def _upload(self, cell: IntArray) -> PacketBatch:
        vertex = cell // self._chunks
        fields: dict[str, npt.ArrayLike] = {
            "src_id": self.block.vertices[vertex],
            "dst_id": NO_ID,
            "block_id": self.block.block_id,
            "count": self.block.fan_out[vertex],
            "chunk_id": cell % self._chunks,
            "round": self._round,
        }
        return build_frames(self._worker, fields, len(cell), self._lanes[cell])
