# SPDX-License-Identifier: Apache-2.0
"""Many frames in one message of a Unix socket.

A message is a 32-bit count, that many 16-bit lengths, then the frames without gaps; numbers are big-endian.
One message costs one system call and one copy, however many frames it carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
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

_LONG = 2048
"""Bytes from which a frame is a piece of its message, if it has no neighbours: the kernel copies it where it lies."""


class FramedMessage(NamedTuple):
    """A message in pieces, for sendmsg(2).

    Attributes:
        head: how many frames, and their lengths.
        payload: their bytes, in the batch's own memory where its frames are long or lie there without gaps.
        frames: number of frames.
        payload_bytes: bytes of ``payload``.
    """

    head: bytes
    payload: Sequence[memoryview]
    frames: int
    payload_bytes: int

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        return len(self.head) + self.payload_bytes

    def apart(self) -> FramedMessage:
        """The same message with its payload in one piece, so that it keeps no memory of other frames."""
        return self if len(self.payload) == 1 else self._replace(payload=(memoryview(b"".join(self.payload)),))


def pack(batch: PacketBatch) -> Iterator[bytes]:
    """The messages that carry ``batch``, in order, each in one piece.

    Raises:
        OfframpError: a frame is longer than :data:`MAX_FRAME`.
    """
    for message in messages(batch):
        yield b"".join((message.head, *message.payload))


def messages(batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> Iterator[FramedMessage]:
    """The messages that carry ``batch``, or these rows of it, in order.

    Raises:
        OfframpError: a frame is longer than :data:`MAX_FRAME`.
    """
    lengths = batch.lengths if rows is None else batch.lengths[rows]
    longest = int(lengths.max(initial=0))
    if longest > MAX_FRAME:
        raise OfframpError(f"frame of {longest} bytes: a link carries at most {MAX_FRAME}")
    if len(lengths) and int(lengths.min()) == longest:
        yield from _even_messages(batch.data[:, :longest], rows, len(lengths))
    else:
        yield from _uneven_messages(batch if rows is None else batch.select(rows))


def _even_messages(
    data: npt.NDArray[np.uint8], rows: npt.NDArray[np.intp] | None, count: int
) -> Iterator[FramedMessage]:
    """Messages of ``count`` frames of one length."""
    length = data.shape[1]
    most = max(1, min(MESSAGE_BYTES // (length + 2), MOST_FRAMES))
    for start in range(0, count, most):
        stop = min(count, start + most)
        payload: Sequence[memoryview]
        if rows is None:
            payload = (np.ascontiguousarray(data[start:stop]).reshape(-1).data,)
        elif length >= _LONG:
            payload = [data[row].data for row in rows[start:stop].tolist()]
        else:
            payload = (data[rows[start:stop]].reshape(-1).data,)
        yield FramedMessage(_even_head(stop - start, length), payload, stop - start, (stop - start) * length)


def _uneven_messages(batch: PacketBatch) -> Iterator[FramedMessage]:
    ends = np.cumsum(batch.lengths + 2, dtype=np.int64)
    start = 0
    while start < len(batch):
        before = ends[start - 1] if start else 0
        fitting = int(np.searchsorted(ends, before + MESSAGE_BYTES, side="right"))
        stop = max(start + 1, min(fitting, start + MOST_FRAMES))
        lengths = batch.lengths[start:stop]
        payload = batch.data[start:stop][np.arange(batch.data.shape[1]) < lengths[:, None]]
        head = (stop - start).to_bytes(4, "big") + lengths.astype(">u2").tobytes()
        yield FramedMessage(head, (payload.data,), stop - start, len(payload))
        start = stop


@lru_cache
def _even_head(count: int, length: int) -> bytes:
    return count.to_bytes(4, "big") + count * length.to_bytes(2, "big")


@lru_cache
def _even_lengths(count: int, length: int) -> npt.NDArray[np.int32]:
    """Lengths of frames of one length, which nobody may change."""
    lengths = np.full(count, length, np.int32)
    lengths.flags.writeable = False
    return lengths


def unpack(message: bytes | npt.NDArray[np.uint8]) -> PacketBatch:
    """The frames of one message, all with port 0; those of an array stay there where they are of one length.

    Raises:
        OfframpError: the lengths do not add up, or there are more or longer frames than a message carries.
    """
    count = int.from_bytes(bytes(message[:4]), "big")
    head = 4 + 2 * count
    if len(message) < 4 or len(message) < head or count > MOST_FRAMES:
        raise OfframpError(f"message of {len(message)} bytes: its head names {count} frames")
    payload = np.frombuffer(message, np.uint8, offset=head)
    length = int.from_bytes(bytes(message[4:6]), "big")
    if 0 < len(payload) == count * length <= count * MAX_FRAME and bytes(message[:head]) == _even_head(count, length):
        rows = PacketBatch(np.zeros(count, np.int32), _even_lengths(count, length), payload.reshape(count, length))
    else:
        lengths = np.frombuffer(message, ">u2", count, 4).astype(np.int32)
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
