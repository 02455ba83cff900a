"""Queues of messages for one producer and one consumer, in memory that both see: shared, registered or a copy.

A ring is a header of words and a power of two of bytes. Positions count bytes and never fall. An entry is five words
and a message, padded to 8 bytes, and lies in one piece: where it would not fit before the end of the bytes, a word of
-1 says that the next entry is at their beginning. So a ring's bytes may be sent as a stream and mean the same on the
other side.

Written in the part of Python that :mod:`offramp.native` compiles.
"""

from __future__ import annotations

from typing import Final

from offramp.native.subset import Bytes, Words, inlined, native, observe, publish

HEAD: Final = 0  # bytes that the producer has published
DRAFT: Final = 1  # bytes that it has written
TAIL: Final = 8  # bytes that the consumer has given back; a line of its own
CURSOR: Final = 9  # bytes that the consumer has seen
SIZE: Final = 16  # bytes
ARRIVED: Final = 17  # when the last bytes came, where the transport knows; 0: entries say when they were sent
HEADER_WORDS: Final = 24

LENGTH: Final = 0  # of the message, bytes; SKIP: go on at the beginning
ID: Final = 1
KEY: Final = 2
STAMP: Final = 3  # ns: when it was queued
INFO: Final = 4
ENTRY_BYTES: Final = 40
SKIP: Final = -1
NOTHING: Final = -1


@inlined
def entry_bytes(length: int) -> int:
    """What an entry takes."""
    return ENTRY_BYTES + ((length + 7) & ~7)


@native
def reserve(ring: Words, length: int) -> int:
    """Where the entry of a message of ``length`` bytes goes, as an offset of bytes; NOTHING if there is no room."""
    size = ring[SIZE]
    need = entry_bytes(length)
    head = ring[DRAFT]
    place = head & (size - 1)
    free = size - (head - observe(ring + TAIL))
    left = size - place
    if left < need:
        if free < left + need:
            return NOTHING
        (ring + HEADER_WORDS)[place >> 3] = SKIP
        head += left
        place = 0
    elif free < need:
        return NOTHING
    ring[DRAFT] = head + need
    return place


@native
def publish_ring(ring: Words) -> int:
    """Let the consumer see what was written."""
    publish(ring + HEAD, ring[DRAFT])
    return 0


@native
def front(ring: Words) -> int:
    """Offset of the first entry that was not seen, NOTHING if there is none that is whole."""
    size = ring[SIZE]
    at = ring[CURSOR]
    here = observe(ring + HEAD) - at
    place = at & (size - 1)
    if here < 8:
        return NOTHING
    if (ring + HEADER_WORDS)[place >> 3] == SKIP:
        skipped = size - place
        if here < skipped + 8:
            return NOTHING
        ring[CURSOR] = at + skipped
        here -= skipped
        place = 0
    if here < entry_bytes((ring + HEADER_WORDS)[place >> 3]):
        return NOTHING
    return place


@inlined
def entry(ring: Words, place: int) -> Words:
    """The words of an entry."""
    return ring + HEADER_WORDS + (place >> 3)


@inlined
def message(ring: Words, place: int) -> Bytes:
    """The bytes of an entry's message."""
    return Bytes(int(ring + HEADER_WORDS)) + (place + ENTRY_BYTES)


@native
def pass_over(ring: Words, place: int) -> int:
    """The entry in front was seen."""
    ring[CURSOR] = ring[CURSOR] + entry_bytes((ring + HEADER_WORDS)[place >> 3])
    return 0


@native
def give_back(ring: Words) -> int:
    """Let the producer have the bytes of what was seen."""
    publish(ring + TAIL, ring[CURSOR])
    return 0


@inlined
def pack_info(function: int, device: int, trip: int, attempt: int, status: int, flags: int) -> int:
    """The word that says what an entry is: 16, 8, 8, 8, 8 and 8 bits."""
    return function | device << 16 | trip << 24 | attempt << 32 | status << 40 | flags << 48


ONCE: Final = 1  # flag: execute it once at most
ORDERED: Final = 2  # flag: entries of one key in order
