# SPDX-License-Identifier: Apache-2.0
"""Frames between clients, switch and store (``p4/kvcache/frame.p4``); numbers are big-endian."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Self

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ETHERNET

ETHER_TYPE: Final = 0x88B5
VALUE_BYTES: Final = 64
MOST_VERSION: Final = (1 << 32) - 1
USUAL_SLOTS: Final = 256
MOST_SLOTS: Final = 1 << 16
"""Most keys that the switch can hold."""
REMEMBERED: Final = 1024
"""Writes of a client whose replies are kept: a client has fewer outstanding, and repeats nothing older."""
NOTE_CLIENT: Final = 0xFFFF
"""Client number of frames that the store's host sends to itself; no other client has it."""
_HEADER: Final = struct.Struct(f">6s6sHBBHIQI{VALUE_BYTES}s")
BYTES: Final = _HEADER.size
assert ETHERNET.size < BYTES


class CacheFrameType(IntEnum):
    """Kind of a frame."""

    GET = 0
    PUT = 1
    REPLY = 2


_KINDS: Final = {int(kind): kind for kind in CacheFrameType}
FrameFields = tuple[bytes, bytes, int, int, int, int, int, int, int, bytes]
"""MAC addresses, EtherType, kind, hops, client, request, key, version and value, as they are in a frame."""


class CacheFrame(NamedTuple):
    """A frame of the protocol.

    Attributes:
        to, sender: MAC addresses, six bytes each.
        kind: kind of the frame.
        client, request: number of the client, and its number for the request.
        key: a key of 64 bits.
        version: in a reply, how often the key has been written; 0: there is no such key.
        value: value of a PUT or a reply.
        by_switch: in a reply, whether the switch sent it.
    """

    to: bytes
    sender: bytes
    kind: CacheFrameType
    client: int
    request: int
    key: int
    version: int = 0
    value: bytes = bytes(VALUE_BYTES)
    by_switch: bool = False

    def pack(self) -> bytes:
        """The frame's bytes."""
        head = self.to, self.sender, ETHER_TYPE, self.kind, self.by_switch, self.client, self.request
        return _HEADER.pack(*head, self.key, self.version, self.value)

    @classmethod
    def parse(cls, content: bytes) -> Self | None:
        """Parse a frame; None if the bytes are not a frame of this protocol."""
        return None if len(content) < BYTES else next(cls._of(_HEADER.iter_unpack(content[:BYTES])), None)

    @classmethod
    def parse_batch(cls, batch: PacketBatch) -> Iterator[Self]:
        """Parse all frames of this protocol in a batch, in their order."""
        return cls._of(fields_of(batch))

    @classmethod
    def _of(cls, frames: Iterator[FrameFields]) -> Iterator[Self]:
        """Those of the frames that are of this protocol."""
        for to, sender, ether_type, kind, hops, client, request, key, version, value in frames:
            if ether_type == ETHER_TYPE and (known := _KINDS.get(kind)) is not None:
                yield cls(to, sender, known, client, request, key, version, value, hops == 1)

    def answer(self, version: int, value: bytes) -> CacheFrame:
        """The store's reply to this frame."""
        return CacheFrame(
            self.sender, self.to, CacheFrameType.REPLY, self.client, self.request, self.key, version, value
        )


def fields_of(batch: PacketBatch) -> Iterator[FrameFields]:
    """Fields of all frames of a batch that are long enough, of whatever protocol."""
    if batch.data.shape[1] < BYTES:
        return iter(())
    return _HEADER.iter_unpack(batch.data[batch.lengths >= BYTES, :BYTES].tobytes())


def packed_request(macs: tuple[bytes, bytes], kind: int, client: int, number: int, key: int, value: bytes) -> bytes:
    """A client's frame: ``CacheFrame(...).pack()`` in a third of its time."""
    return _HEADER.pack(*macs, ETHER_TYPE, kind, 0, client, number, key, 0, value)


def batch_of(frames: Sequence[bytes]) -> PacketBatch:
    """A batch of packed frames."""
    count = len(frames)
    data = np.frombuffer(b"".join(frames), np.uint8).reshape(count, BYTES)
    return PacketBatch(np.zeros(count, np.int32), np.full(count, BYTES, np.int32), data)
