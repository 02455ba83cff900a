"""What endpoints say to each other: a greeting on every connection, then frames with a header each."""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Self

from offramp.errors import OfframpError

_MAGIC: Final = b"OFcf"
_VERSION: Final = 1
TOKEN_BYTES: Final = 16
_HELLO: Final = struct.Struct("!4sBBBxII16s")
HELLO_BYTES: Final = _HELLO.size
_HEADER: Final = struct.Struct("!HBxIQQQ")
HEADER_BYTES: Final = _HEADER.size
_MARKER: Final = 0xC0F1
MOST_WORDS: Final = 1 << 26
"""Bytes of a control frame's payload."""


class Kind(IntEnum):
    """What a frame is."""

    DATA = 1  # on connections of a priority: a part of a transfer
    READY = 2  # on control connections: the receiver of a transfer waits for it
    WORDS = 3  # a few bytes for everyone
    ABORT = 4  # the sender has failed, and why
    BYE = 5  # the sender has closed in order


@dataclass(frozen=True, slots=True)
class Hello:
    """The first bytes of a connection: who calls, and for which priority (control: None)."""

    token: bytes
    rank: int
    size: int
    dscp: int | None

    def pack(self) -> bytes:
        """As bytes."""
        control = self.dscp is None
        return _HELLO.pack(_MAGIC, _VERSION, int(control), self.dscp or 0, self.rank, self.size, self.token)

    @classmethod
    def unpack(cls, raw: bytes, token: bytes, size: int) -> Self:
        """From the wire, by one who belongs to the endpoints that share ``token``.

        Raises:
            OfframpError: something else, or of other endpoints.
        """
        magic, version, control, dscp, rank, theirs, sent = _HELLO.unpack(raw)
        if magic != _MAGIC:
            raise OfframpError("greeting: not from an endpoint")
        if version != _VERSION:
            raise OfframpError(f"greeting: version {version}, expected {_VERSION}")
        if not hmac.compare_digest(sent, token) or theirs != size or rank >= size or control > 1 or dscp > 63:
            raise OfframpError("greeting: from an endpoint of another group")
        return cls(sent, rank, size, None if control else dscp)


@dataclass(frozen=True, slots=True)
class Header:
    """Before each frame: ``length`` bytes follow, of message ``message`` from ``offset`` on; ``total``: all of it."""

    kind: Kind
    length: int
    message: int = 0
    offset: int = 0
    total: int = 0

    def pack(self) -> bytes:
        """As bytes."""
        return _HEADER.pack(_MARKER, self.kind, self.length, self.message, self.offset, self.total)

    @classmethod
    def unpack(cls, raw: bytes | bytearray, rank: int) -> Self:
        """From the wire, as a rank sent it.

        Raises:
            OfframpError: not a header.
        """
        marker, kind, length, message, offset, total = _HEADER.unpack(raw)
        if marker != _MARKER or not Kind.DATA <= kind <= Kind.BYE:
            raise OfframpError(f"rank {rank} sent a frame without a header")
        return cls(Kind(kind), length, message, offset, total)
