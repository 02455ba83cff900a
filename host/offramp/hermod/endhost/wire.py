# SPDX-License-Identifier: Apache-2.0
"""The endpoints' protocol: a greeting on every connection, then frames with a header each."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Self

from offramp_base.errors import OfframpError
from offramp_base.listening.objects import check_object, choice, integer, optional

PROTOCOL: Final = "hermod 4"
"""Name and version; what is proved for another protocol proves nothing here."""
MOST_DSCP: Final = 63
_HEADER: Final = struct.Struct("!HBxIQQQ")
HEADER_BYTES: Final = _HEADER.size
_MARKER: Final = 0xC0F1
MOST_WORDS: Final = 1 << 20
"""Bytes of what a rank tells everyone."""
MOST_TEXT: Final = 4096
"""Bytes of why a sender has failed."""
MEMORY_BYTES: Final = 12
"""Bytes of a place in a peer's memory."""
PAIR_BYTES: Final = 12
"""Bytes of one end of a queue pair."""


class FrameType(IntEnum):
    """Type of a frame."""

    DATA = 1  # on connections of a priority: a part of a transfer
    READY = 2  # on control connections: the receiver of a transfer waits for it
    WORDS = 3  # a few bytes for everyone
    ABORT = 4  # the sender has failed, and why
    BYE = 5  # the sender has closed in order
    OFFER = 6  # on control connections: the sender of a message has begun
    WRITABLE = 7  # READY, with the memory that the peer's device may write
    PAIR = 8  # a queue pair for a class: this end
    PAIRED = 9  # the other end, in answer


MOST_PAYLOAD: Final = {
    FrameType.READY: 0,
    FrameType.WORDS: MOST_WORDS,
    FrameType.ABORT: MOST_TEXT,
    FrameType.BYE: 0,
    FrameType.OFFER: 0,
    FrameType.WRITABLE: MEMORY_BYTES,
    FrameType.PAIR: PAIR_BYTES,
    FrameType.PAIRED: PAIR_BYTES,
}
"""Bytes behind the header of each control frame."""


@dataclass(frozen=True, slots=True)
class RankHello:
    """The purpose of a connection: the rank that connects, and the DSCP of its frames (None: control)."""

    rank: int
    dscp: int | None

    def greeting(self, session: str, size: int) -> dict[str, Any]:
        """The fields that :mod:`offramp_base.listening` sends."""
        return {"session": session, "size": size, "rank": self.rank, "dscp": self.dscp}

    @classmethod
    def check(cls, greeting: Mapping[str, Any], session: str, size: int) -> Self:
        """Check a greeting to one of the ``size`` endpoints of a session.

        Raises:
            OfframpError: something else, or from other endpoints.
        """
        fields = {
            "session": choice(session),
            "size": integer(size, size),
            "rank": integer(0, size - 1),
            "dscp": optional(integer(0, MOST_DSCP)),
        }
        checked = check_object(greeting, fields, "greeting")
        return cls(checked["rank"], checked["dscp"])


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """Before each frame: ``length`` bytes follow, of message ``message`` from ``offset`` on; ``total``: all of it."""

    kind: FrameType
    length: int
    message: int = 0
    offset: int = 0
    total: int = 0

    def pack(self) -> bytes:
        """The header's bytes, as they go on the wire."""
        return _HEADER.pack(_MARKER, self.kind, self.length, self.message, self.offset, self.total)

    @classmethod
    def unpack(cls, raw: bytes | bytearray, rank: int) -> Self:
        """Read a header from the wire, as a rank sent it.

        Raises:
            OfframpError: not a header.
        """
        marker, kind, length, message, offset, total = _HEADER.unpack(raw)
        if marker != _MARKER or not FrameType.DATA <= kind <= FrameType.PAIRED:
            raise OfframpError(f"rank {rank} sent a frame without a header")
        return cls(FrameType(kind), length, message, offset, total)
