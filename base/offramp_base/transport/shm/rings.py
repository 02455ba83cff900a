# SPDX-License-Identifier: Apache-2.0
"""Frames in a pair of rings that two processes share: one for each direction, messages of many frames in each.

An entry's message is frames without gaps, a padding byte if their length is odd, then the 16-bit length
of each, big-endian; the entry's ``id`` says how many frames there are. The other side may write anything there at any
time: positions and lengths are read once and checked, frames are copied before anybody looks at them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.native.arrays import address
from offramp_base.native.library import compiled_all
from offramp_base.native.ring import ENTRY_BYTES, NOTHING, MessageHeader, RingEnd, front, pass_over
from offramp_base.native.ring_end import RingSide, make_end, ring_words
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.framing import MAX_FRAME, MESSAGE_BYTES, MOST_FRAMES, rows_of
from offramp_base.transport.shm.messages import TOO_LONG, put_message, take_messages
from offramp_base.transport.shm.ring import give_back_and_look
from offramp_base.wire.batch import PacketBatch

RING_BYTES: Final = 1 << 20
"""Capacity in bytes of each direction's ring."""
MEMORY_BYTES: Final = 2 * 8 * ring_words(RING_BYTES)
MOST_MESSAGE: Final = MESSAGE_BYTES + 2 * MAX_FRAME
_MOST_ROWS_BYTES: Final = 64 << 20
"""Most bytes that a message's frames may take as rows padded to the longest frame; messages from :meth:`FrameRings.put`
take a fortieth of it."""


class Spoilt(OfframpError):
    """The other side of a link has violated the protocol."""


@cache
def _functions() -> dict[str, Callable[..., int]]:
    return compiled_all((put_message, take_messages, give_back_and_look, front, pass_over))


class FrameRings:
    """One side of a link: frames to the other side, and from it.

    Raises:
        OfframpError: llvmlite is missing.
    """

    def __init__(self, memory: SharedMemory, *, host: bool) -> None:
        self._call = _functions()
        words = ring_words(RING_BYTES)
        up, down = memory.words[:words], memory.words[words : 2 * words]
        self.sent, self.received = (
            make_end(RING_BYTES, up if host else down),
            make_end(RING_BYTES, down if host else up, MOST_MESSAGE),
        )
        self._content = self.received.content.view(np.uint8)
        self._sent_at, self._received_at = (end.words.ctypes.data for end in (self.sent, self.received))
        self._width = np.zeros(1, np.int64)  # of what was taken
        self._width_at = self._width.ctypes.data

    def put(self, batch: PacketBatch, rows: npt.NDArray[np.intp]) -> int:
        """Send frames (these rows of the batch) as one message; returns their number, 0 if there is no room now.

        In that case the other side notifies this one when there is room.

        Raises:
            OfframpError: a frame is longer than a link carries.
            Spoilt: the other side has written an impossible value.
        """
        data = batch.data if batch.data.strides[1] == 1 else np.ascontiguousarray(batch.data)
        lengths, rows = np.ascontiguousarray(batch.lengths, np.int32), np.ascontiguousarray(rows, np.int64)
        places = address(data), data.strides[0], data.shape[1], address(lengths), address(rows)
        count = self._call["put_message"](self._sent_at, *places, len(rows))
        if count == TOO_LONG:
            longest = int(lengths[rows].max())
            limit = f"a link carries at most {MAX_FRAME}" if longest > MAX_FRAME else f"its row has {data.shape[1]}"
            raise OfframpError(f"frame of {longest} bytes: {limit}")
        if not count:
            self._check(self.sent)
        return count

    def take(self, most: int = 1) -> PacketBatch | None:
        """The frames of the next messages, at most ``most`` messages, in memory of their own; None: none waits.

        Raises:
            Spoilt: the other side has written an impossible value.
        """
        there = self.received.waiting
        if not there:
            return None
        there = max(0, min(there, RING_BYTES, most * MOST_MESSAGE))
        data = np.empty(there, np.uint8)
        count = self._call["take_messages"](self._received_at, address(data), there, most, self._width_at)
        if not count:
            return self._take_any()
        width = int(self._width[0])
        lengths = np.full(count, width, np.int32)
        return PacketBatch(np.zeros(count, np.int32), lengths, data[: count * width].reshape(count, width))

    def _take_any(self) -> PacketBatch | None:
        """The frames of the next message, whatever their lengths."""
        place = self._call["front"](self._received_at)
        if place == NOTHING:
            self._check(self.received)
            return None
        size = int(self.received.words[RingEnd.front])
        count = int(self.received.content[place // 8 + MessageHeader.id])
        at = place + ENTRY_BYTES
        message = self._content[at : at + size].copy()
        self._call["pass_over"](self._received_at)
        if not 0 <= 2 * count <= min(size, 2 * MOST_FRAMES):
            raise Spoilt(f"a message of {size} bytes that names {count} frames")
        even = size - 2 * count
        lengths = message[even:].view(">u2").astype(np.int32)
        payload = int(lengths.sum())
        if payload + (payload & 1) != even:
            raise Spoilt(f"a message of {size} bytes: its {count} frames should take {payload}")
        if count * int(lengths.max(initial=0)) > _MOST_ROWS_BYTES:
            raise Spoilt(f"a message of {size} bytes whose {count} frames are too unequal")
        try:
            return rows_of(lengths, message[:payload])
        except OfframpError as error:
            raise Spoilt(str(error)) from None

    def give_back(self) -> bool:
        """Return the room of the messages that were taken to the other side; returns whether it waits for room."""
        return self._call["give_back_and_look"](self._received_at) != 0

    def _check(self, end: RingSide) -> None:
        if end.fault:
            raise Spoilt(end.fault)
