# SPDX-License-Identifier: Apache-2.0
"""Queues of messages for one producer and one consumer, in memory that both see: shared, registered or a copy.

A ring is two words and a power of two of bytes: how many bytes the producer has published, how many the consumer has
given back. Positions count bytes and never fall. An entry is five words and a message, padded to 8 bytes, and lies in
one piece: where it would not fit before the end of the bytes, a word of -1 says that the next entry is at their
beginning. So a ring's bytes may be sent as a stream and mean the same on the other side.

The other side can write all of that at any time, so a ring believes nothing of it. Each side keeps an *end*, private
words with its own position and the ring's size. A position or a length of the other side is read once, checked, and
used as it was when it was checked. What cannot be sets ``fault``, and the end is of no use any more.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Annotated, Final

from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, Words, below, inlined, native, observe, publish


class RingEnd(Record):
    """One side of a ring, in private words."""

    head: Words  # the word that the producer publishes
    tail: Words  # the word that the consumer gives back
    entries: Bytes
    size: int  # of the entries, bytes
    position: int  # bytes that this side has written, or seen
    arrived: int  # when the last bytes came, where the transport knows; 0: entries say when they were sent
    longest: int  # bytes of the longest message that is taken
    front: int  # bytes of the message in front, as they were checked
    fault: int  # what the other side did that cannot be, or 0
    reserved: Annotated[Words, 7]


class MessageHeader(Record):
    """The header of a message; the meaning of its words, except the length, is up to the ring's users."""

    length: int  # of the message, bytes; SKIP: go on at the beginning
    id: int
    key: int
    stamp: int  # ns: when it was queued
    info: int


BAD_POSITION: Final = 1
BAD_LENGTH: Final = 2
FAULTS: Final[dict[int, str]] = {
    BAD_POSITION: "a position outside the ring",
    BAD_LENGTH: "a message of an impossible length",
}

ENTRY_BYTES: Final = 8 * MessageHeader.WORDS
SKIP: Final = -1
NOTHING: Final = -1


@inlined
def entry_bytes(length: int) -> int:
    """Bytes that an entry with a message of ``length`` bytes takes."""
    return ENTRY_BYTES + ((length + 7) & ~7)


@native
def reserve(end: RingEnd, length: int) -> int:
    """Byte offset of the entry for a message of ``length`` bytes; NOTHING if there is no room."""
    size = end.size
    head = end.position
    used = head - observe(end.tail)
    if below(size, used):
        end.fault = BAD_POSITION
        return NOTHING
    need = entry_bytes(length)
    place = head & (size - 1)
    free = size - used
    left = size - place
    if left < need:
        if free < left + need:
            return NOTHING
        Words(end.entries)[place >> 3] = SKIP
        head += left
        place = 0
    elif free < need:
        return NOTHING
    end.position = head + need
    return place


@native
def publish_ring(end: RingEnd) -> int:
    """Let the consumer see what has been written."""
    publish(end.head, end.position)
    return 0


@native
def front(end: RingEnd) -> int:
    """Offset of the first entry not yet seen, NOTHING if none is complete; ``front`` is set to its length."""
    size = end.size
    at = end.position
    here = observe(end.head) - at
    if below(size, here):
        end.fault = BAD_POSITION
        return NOTHING
    if here < 8:
        return NOTHING
    words = Words(end.entries)
    place = at & (size - 1)
    length = observe(words + (place >> 3))
    if length == SKIP and place != 0:
        here -= size - place
        if here < 8:
            return NOTHING
        end.position = at + size - place
        place = 0
        length = observe(words)
    if length < 0 or length > end.longest or length > size - place - ENTRY_BYTES:
        end.fault = BAD_LENGTH
        return NOTHING
    if here < entry_bytes(length):
        return NOTHING
    end.front = length
    return place


@inlined
def entry(end: RingEnd, place: int) -> MessageHeader:
    """The words of an entry."""
    return MessageHeader(Words(end.entries) + (place >> 3))


@inlined
def message(end: RingEnd, place: int) -> Bytes:
    """The bytes of an entry's message."""
    return end.entries + (place + ENTRY_BYTES)


@inlined
def take_words(end: RingEnd, place: int, into: MessageHeader) -> None:
    """Copy the five words of the entry in front, each of which the producer may rewrite."""
    words = Words(entry(end, place))
    into.length = end.front
    into.id = observe(words + offset(MessageHeader.id))
    into.key = observe(words + offset(MessageHeader.key))
    into.stamp = observe(words + offset(MessageHeader.stamp))
    into.info = observe(words + offset(MessageHeader.info))


@native
def pass_over(end: RingEnd) -> int:
    """Mark the entry in front as seen."""
    end.position = end.position + entry_bytes(end.front)
    return 0


@native
def give_back(end: RingEnd) -> int:
    """Return the bytes of all seen entries to the producer."""
    publish(end.tail, end.position)
    return 0
