# SPDX-License-Identifier: Apache-2.0
"""Queues of messages for one producer and one consumer, in memory that both see: shared, registered or a copy.

A ring is two words and a power of two of bytes: how many bytes the producer has published, how many the consumer has
given back. Positions count bytes and never fall. An entry is five words and a message, padded to 8 bytes, and lies in
one piece: where it would not fit before the end of the bytes, a word of -1 says that the next entry is at their
beginning. So a ring's bytes may be sent as a stream and mean the same on the other side.

The other side can write all of that at any time, so a ring believes nothing of it. Each side keeps an *end*, private
words with its own position and the ring's size. A position or a length of the other side is read once, checked, and
used as it was when it was checked. What cannot be sets FAULT, and the end is of no use any more.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Words, below, inlined, native, observe, publish

# The words of an end.
HEAD_AT: Final = 0  # address of the word that the producer publishes
TAIL_AT: Final = 1  # address of the word that the consumer gives back
BYTES_AT: Final = 2  # address of the entries
SIZE: Final = 3  # of the entries, bytes
POSITION: Final = 4  # bytes that this side has written, or seen
ARRIVED: Final = 5  # when the last bytes came, where the transport knows; 0: entries say when they were sent
LONGEST: Final = 6  # bytes of the longest message that is taken
FRONT: Final = 7  # bytes of the message in front, as they were checked
FAULT: Final = 8  # what the other side did that cannot be, or 0
END_WORDS: Final = 16

BAD_POSITION: Final = 1
BAD_LENGTH: Final = 2
BAD_ROW: Final = 3
FAULTS: Final = {
    BAD_POSITION: "a position outside the ring",
    BAD_LENGTH: "a message of an impossible length",
    BAD_ROW: "a request of a row or round trip that it does not have",
}

# The words of an entry.
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
def reserve(end: Words, length: int) -> int:
    """Where the entry of a message of ``length`` bytes goes, as an offset of bytes; NOTHING if there is no room."""
    size = end[SIZE]
    head = end[POSITION]
    used = head - observe(Words(end[TAIL_AT]))
    if below(size, used):
        end[FAULT] = BAD_POSITION
        return NOTHING
    need = entry_bytes(length)
    place = head & (size - 1)
    free = size - used
    left = size - place
    if left < need:
        if free < left + need:
            return NOTHING
        Words(end[BYTES_AT])[place >> 3] = SKIP
        head += left
        place = 0
    elif free < need:
        return NOTHING
    end[POSITION] = head + need
    return place


@native
def publish_ring(end: Words) -> int:
    """Let the consumer see what was written."""
    publish(Words(end[HEAD_AT]), end[POSITION])
    return 0


@native
def front(end: Words) -> int:
    """Offset of the first entry that was not seen, NOTHING if there is none that is whole; FRONT is its length."""
    size = end[SIZE]
    at = end[POSITION]
    here = observe(Words(end[HEAD_AT])) - at
    if below(size, here):
        end[FAULT] = BAD_POSITION
        return NOTHING
    if here < 8:
        return NOTHING
    words = Words(end[BYTES_AT])
    place = at & (size - 1)
    length = observe(words + (place >> 3))
    if length == SKIP and place != 0:
        here -= size - place
        if here < 8:
            return NOTHING
        end[POSITION] = at + size - place
        place = 0
        length = observe(words)
    if length < 0 or length > end[LONGEST] or length > size - place - ENTRY_BYTES:
        end[FAULT] = BAD_LENGTH
        return NOTHING
    if here < entry_bytes(length):
        return NOTHING
    end[FRONT] = length
    return place


@inlined
def entry(end: Words, place: int) -> Words:
    """The words of an entry."""
    return Words(end[BYTES_AT]) + (place >> 3)


@inlined
def message(end: Words, place: int) -> Bytes:
    """The bytes of an entry's message."""
    return Bytes(end[BYTES_AT]) + (place + ENTRY_BYTES)


@inlined
def take_words(end: Words, place: int, into: Words) -> None:
    """Copy the five words of the entry in front, each of which the producer may rewrite."""
    words = entry(end, place)
    into[LENGTH] = end[FRONT]
    into[ID] = observe(words + ID)
    into[KEY] = observe(words + KEY)
    into[STAMP] = observe(words + STAMP)
    into[INFO] = observe(words + INFO)


@native
def pass_over(end: Words) -> int:
    """The entry in front was seen."""
    end[POSITION] = end[POSITION] + entry_bytes(end[FRONT])
    return 0


@native
def give_back(end: Words) -> int:
    """Let the producer have the bytes of what was seen."""
    publish(Words(end[TAIL_AT]), end[POSITION])
    return 0


@inlined
def pack_info(function: int, device: int, trip: int, attempt: int, status: int, flags: int) -> int:
    """The word that says what an entry is: 16, 8, 8, 8, 8 and 8 bits."""
    return function | device << 16 | trip << 24 | attempt << 32 | status << 40 | flags << 48


ONCE: Final = 1  # flag: execute it once at most
ORDERED: Final = 2  # flag: entries of one key in order
