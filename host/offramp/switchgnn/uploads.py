# SPDX-License-Identifier: Apache-2.0
"""Uploads that have not been sent yet: their frames are built when they are sent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn.chunks import chunk_widths, segments_for
from offramp.switchgnn.kernels import Features, filled, kernels
from offramp.switchgnn.local_block import LocalBlock
from offramp.switchgnn.wire import (
    LANES,
    MOST_SEGMENTS,
    NO_ID,
    SHORT_FRAME_BYTES,
    Lanes,
    build_frames,
    frame_bytes,
)
from offramp_base.wire.batch import PacketBatch


class Uploads:
    """Vertex chunks of one round, in the order of transmission.

    Args:
        worker: the worker that owns the vertices.
        block: its part of the block.
        values: ``(n, F)`` int32 features of all its boundary vertices, rows of C's order.
        chunks: packets per vertex.
        lanes: most features of a packet.
        round_: the round.
        cells: ``(m,)`` vertex of the block times ``chunks``, plus the chunk.
    """

    def __init__(
        self, worker: int, block: LocalBlock, values: Lanes, chunks: int, lanes: int, round_: int, cells: IntArray
    ) -> None:
        self._worker, self._block, self._values, self._chunks, self._lanes = worker, block, values, chunks, lanes
        self._fixed = {"dst_id": NO_ID, "block_id": block.block_id, "round": round_}
        self._cells = np.ascontiguousarray(cells, np.int64)
        self._widths = chunk_widths(values.shape[1], chunks, lanes)
        self._segments = segments_for(self._widths)
        self._most = int(self._segments.max())
        self._stride = frame_bytes(self._most)
        self._build = kernels().get("build_uploads")
        if self._build is not None:
            self._given = self._arguments()

    def __len__(self) -> int:
        return len(self._cells)

    def take(self, limit: int) -> tuple[PacketBatch, int]:
        """The frames of the next ``limit`` uploads, or of all that are left, and the number of features in them."""
        cells, self._cells = self._cells[:limit], self._cells[limit:]
        n = len(cells)
        if self._build is None:
            return self._built(cells), int(self._widths[cells % self._chunks].sum())
        data, lengths = np.empty((n, self._stride), np.uint8), np.empty(n, np.int32)
        features = self._build(self._given.ctypes.data, cells.ctypes.data, n, data.ctypes.data, lengths.ctypes.data)
        return PacketBatch(np.zeros(n, np.int32), lengths, data), features

    def _built(self, cells: IntArray) -> PacketBatch:
        vertex, chunk = np.divmod(cells, self._chunks)
        block = self._block
        of_each = {"src_id": block.vertices[vertex], "count": block.fan_out[vertex], "chunk_id": chunk}
        lanes = lanes_of(self._values, block.rows[vertex], chunk, self._lanes)
        fields: dict[str, npt.ArrayLike] = {**of_each, **self._fixed}
        return build_frames(self._worker, fields, len(cells), lanes[:, : LANES * self._most], self._segments[chunk])

    def _arguments(self) -> npt.NDArray[np.int64]:
        """Arguments for the kernel, a :class:`~offramp.switchgnn.kernels.Features`."""
        block = self._block
        segments = np.arange(MOST_SEGMENTS) + 1
        widest = np.zeros((MOST_SEGMENTS, MOST_SEGMENTS * LANES), np.int32)
        heads = build_frames(self._worker, self._fixed, MOST_SEGMENTS, widest, segments).data[:, :SHORT_FRAME_BYTES]
        self._heads = np.ascontiguousarray(heads)  # stays as long as machine code may read it
        return filled(
            Features,
            vertices=block.vertices,
            rows=block.rows,
            fan_out=block.fan_out,
            values=self._values,
            features=self._values.shape[1],
            chunks=self._chunks,
            lanes=self._lanes,
            stride=self._stride,
            heads=self._heads,
        )


def lanes_of(values: Lanes, rows: IntArray, chunk: IntArray, lanes: int) -> Lanes:
    """``(m, lanes)`` features of some rows and chunks, zero-padded after the last one."""
    padded = np.zeros((len(rows), lanes), np.int32)
    for one in np.unique(chunk).tolist():
        of_one = np.flatnonzero(chunk == one)
        part = values[rows[of_one], lanes * one : lanes * (one + 1)]
        padded[of_one, : part.shape[1]] = part
    return padded
