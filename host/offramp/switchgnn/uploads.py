# SPDX-License-Identifier: Apache-2.0
"""Uploads that have not left yet: their frames are built when they are sent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn.kernels import Features, filled, kernels
from offramp.switchgnn.local_block import LocalBlock
from offramp.switchgnn.wire import DATA_FRAME_BYTES, LANES, NO_ID, SHORT_FRAME_BYTES, Lanes, build_frames
from offramp_base.wire.batch import PacketBatch


class Uploads:
    """Vertex chunks of one round, in the order in which they leave.

    Args:
        worker: whose vertices they are.
        block: its share of the block.
        values: ``(n, F)`` int32 features of all its boundary vertices, rows of C's order.
        chunks: packets of a vertex.
        round_: the round.
        cells: ``(m,)`` vertex of the block times ``chunks``, plus the chunk.
    """

    def __init__(
        self, worker: int, block: LocalBlock, values: Lanes, chunks: int, round_: int, cells: IntArray
    ) -> None:
        self._worker, self._block, self._values, self._chunks = worker, block, values, chunks
        self._fixed = {"dst_id": NO_ID, "block_id": block.block_id, "round": round_}
        self._cells = np.ascontiguousarray(cells, np.int64)
        self._widths = np.clip(values.shape[1] - LANES * np.arange(chunks), 0, LANES)
        self._build = kernels().get("build_uploads")
        if self._build is not None:
            self._given = self._arguments()

    def __len__(self) -> int:
        return len(self._cells)

    def take(self, limit: int) -> tuple[PacketBatch, int]:
        """The frames of the next ``limit`` uploads, or of all that are left, and the features in them."""
        cells, self._cells = self._cells[:limit], self._cells[limit:]
        n = len(cells)
        if self._build is None:
            return self._built(cells), int(self._widths[cells % self._chunks].sum())
        data = np.empty((n, DATA_FRAME_BYTES), np.uint8)
        features = self._build(self._given.ctypes.data, cells.ctypes.data, n, data.ctypes.data)
        return PacketBatch(np.zeros(n, np.int32), np.full(n, DATA_FRAME_BYTES, np.int32), data), features

    def _built(self, cells: IntArray) -> PacketBatch:
        vertex, chunk = np.divmod(cells, self._chunks)
        block = self._block
        of_each = {"src_id": block.vertices[vertex], "count": block.fan_out[vertex], "chunk_id": chunk}
        lanes = lanes_of(self._values, block.rows[vertex], chunk)
        return build_frames(self._worker, {**of_each, **self._fixed}, len(cells), lanes)

    def _arguments(self) -> npt.NDArray[np.int64]:
        """A :class:`~offramp.switchgnn.kernels.Features`."""
        block = self._block
        head = build_frames(self._worker, self._fixed, 1, np.zeros((1, LANES), np.int32)).data[0, :SHORT_FRAME_BYTES]
        self._head = np.ascontiguousarray(head)  # stays as long as machine code may read it
        return filled(
            Features,
            vertices=block.vertices,
            rows=block.rows,
            fan_out=block.fan_out,
            values=self._values,
            features=self._values.shape[1],
            chunks=self._chunks,
            head=self._head,
        )


def lanes_of(values: Lanes, rows: IntArray, chunk: IntArray) -> Lanes:
    """``(m, 32)`` features of some rows and chunks, zeros behind the last one."""
    lanes = np.zeros((len(rows), LANES), np.int32)
    for one in np.unique(chunk).tolist():
        of_one = np.flatnonzero(chunk == one)
        part = values[rows[of_one], LANES * one : LANES * (one + 1)]
        lanes[of_one, : part.shape[1]] = part
    return lanes
