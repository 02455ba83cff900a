# SPDX-License-Identifier: Apache-2.0
"""Many frames in one message of a Unix socket.

A message is a 32-bit count, that many 16-bit lengths, then the frames without gaps; numbers are big-endian.
One message costs one system call and one copy, however many frames it carries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

MESSAGE_BYTES = 192 << 10
"""Frames are gathered up to this size: each message costs both ends a system call, and wakes a waiting receiver."""
MAX_FRAME = 16 << 10
"""Longest frame a link carries, bytes."""
MAX_MESSAGE = 4 + MESSAGE_BYTES + MAX_FRAME
MOST_FRAMES = MESSAGE_BYTES // 16
"""Frames of a message: as many as have room with the header of Ethernet alone.

Rows of a batch are as wide as its longest frame: very many very short ones beside it would take the receiver's memory.
"""


class FramedMessage(NamedTuple):
    """A message in two pieces, for sendmsg(2).

    Attributes:
        head: how many frames, and their lengths.
        payload: their bytes; the batch's own memory where its frames lie there without gaps.
        frames: number of frames.
    """

    head: bytes
    payload: memoryview
    frames: int

    @property
    def size(self) -> int:
        """Bytes of both pieces."""
        return len(self.head) + len(self.payload)


def pack(batch: PacketBatch) -> Iterator[bytes]:
    """The messages that carry ``batch``, in order, each in one piece.

    Raises:
        OfframpError: a frame is longer than :data:`MAX_FRAME`.
    """
    for message in messages(batch):
        yield message.head + message.payload


def messages(batch: PacketBatch) -> Iterator[FramedMessage]:
    """The messages that carry ``batch``, in order.

    Raises:
        OfframpError: a frame is longer than :data:`MAX_FRAME`.
    """
    if len(batch) and int(batch.lengths.max()) > MAX_FRAME:
        raise OfframpError(f"frame of {int(batch.lengths.max())} bytes: a link carries at most {MAX_FRAME}")
    ends = np.cumsum(batch.lengths + 2, dtype=np.int64)
    start = 0
    while start < len(batch):
        before = ends[start - 1] if start else 0
        fitting = int(np.searchsorted(ends, before + MESSAGE_BYTES, side="right"))
        stop = max(start + 1, min(fitting, start + MOST_FRAMES))
        yield _message(batch.select(slice(start, stop)))
        start = stop


def unpack(message: bytes | npt.NDArray[np.uint8]) -> PacketBatch:
    """The frames of one message, all with port 0; those of an array stay there where they are of one length.

    Raises:
        OfframpError: the lengths do not add up, or there are more or longer frames than a message carries.
    """
    count = int.from_bytes(bytes(message[:4]), "big")
    head = 4 + 2 * count
    if len(message) < 4 or len(message) < head or count > MOST_FRAMES:
        raise OfframpError(f"message of {len(message)} bytes: its head names {count} frames")
    lengths = np.frombuffer(message, ">u2", count, 4).astype(np.int32)
    payload = np.frombuffer(message, np.uint8, offset=head)
    if int(lengths.sum()) != len(payload):
        raise OfframpError(f"message of {len(message)} bytes: its frames should take {int(lengths.sum())}")
    rows = rows_of(lengths, payload)
    if isinstance(message, bytes):
        rows.data = rows.data.copy()
    return rows


def rows_of(lengths: npt.NDArray[np.int32], payload: npt.NDArray[np.uint8]) -> PacketBatch:
    """Frames that lie one behind the other, all with port 0; they stay there where they are of one length.

    Raises:
        OfframpError: one is longer than :data:`MAX_FRAME`.
    """
    count, width = len(lengths), int(lengths.max(initial=0))
    if width > MAX_FRAME:
        raise OfframpError(f"frame of {width} bytes: a link carries at most {MAX_FRAME}")
    if len(payload) == width * count:
        data = payload.reshape(count, width)
    else:
        data = np.zeros((count, width), np.uint8)
        data[np.arange(width) < lengths[:, None]] = payload
    return PacketBatch(np.zeros(count, np.int32), lengths, data)


def _message(batch: PacketBatch) -> FramedMessage:
    width = batch.data.shape[1]
    if int(batch.lengths.min()) == width:
        payload = np.ascontiguousarray(batch.data).reshape(-1)
    else:
        payload = batch.data[np.arange(width) < batch.lengths[:, None]]
    return FramedMessage(
        len(batch).to_bytes(4, "big") + batch.lengths.astype(">u2").tobytes(), payload.data, len(batch)
    )
