# SPDX-License-Identifier: Apache-2.0
"""Compiled code that takes :mod:`.bundle`'s bundles out of a ring's slots, and puts frames into them for sendmmsg(2).

Slots are the kernel's (:mod:`.ring`): each is looked at twice, to measure and to copy, and nobody writes it in between.
What one slot holds is read from its bytes alone, so a bundle can claim nothing beyond its own end.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record
from offramp_base.native.subset import Bytes, Ints, Words, copy, fence, inlined, native, observe
from offramp_base.transport.interface import MIN_FRAME
from offramp_base.transport.mmsg import HEADER, IOVEC
from offramp_base.transport.ring import USER, VLAN_VALID
from offramp_base.wire.ethernet import ETHER_TYPE_IPV4

ETHER_TYPE: Final = 0x88B6
"""EtherType for experiments (IEEE 802)."""
HEAD: Final = b"\xff" * 6 + b"\x02\0\0\0\0\0" + ETHER_TYPE.to_bytes(2, "big")
HEAD_BYTES: Final = 16
"""``HEAD`` and the length of the bundle's frames."""
LENGTH_AT: Final = 14
MOST_FRAMES: Final = 1000
"""Frames of a bundle: the kernel takes 1,024 pieces at once."""
_TYPE_AT, _PROTOCOL_AT = 12, 23
"""Bytes of an Ethernet frame: its type, and the protocol over IPv4."""
HEADER_WORDS, IOVEC_WORDS = HEADER.itemsize // 8, IOVEC.itemsize // 8
"""Words of struct mmsghdr and of struct iovec."""


class Arrived(Record):
    """Slots of a ring, and what is in them.

    Attributes:
        odd: whether the slot behind the last is none for here: it has a tag beside it, or was cut.
    """

    slots: Bytes  # of the ring
    slot_bytes: int
    longest: int  # bytes of a frame that is taken
    most_bytes: int  # of all frames, in rows as wide as the longest
    taken: int
    frames: int
    width: int
    malformed: int
    bundles: int
    odd: int


class BundledFrames(Record):
    """Frames for one link, and the messages that they become."""

    data: Bytes
    stride: int
    lengths: Ints
    rows: Words
    count: int
    room: int  # bytes of frames in a bundle
    bundled: Bytes  # whether each protocol over IPv4 goes in bundles; 0: every frame does
    head: Bytes  # 16 bytes, of which the last two are the length
    headers: Words
    iovecs: Words
    heads: Bytes
    firsts: Words  # the number of each message's first frame, and the end
    short: int  # frames that are left out
    messages: int


@inlined
def number(frame: Bytes, at: int) -> int:
    """A 16-bit number, big-endian."""
    return (frame[at] << 8) | frame[at + 1]


@inlined
def frame_of(slot: Bytes) -> Bytes:
    """The frame in a slot; its length is ``Ints(slot)[2]``."""
    return slot + (Ints(int(slot))[3] & 0xFFFF)


@native
def protocol_of(frame: Bytes, length: int) -> int:
    """The protocol over IPv4 of a frame, 0 of others."""
    if length <= _PROTOCOL_AT or number(frame, _TYPE_AT) != ETHER_TYPE_IPV4:
        return 0
    return frame[_PROTOCOL_AT]


@native
def is_bundle(frame: Bytes, length: int) -> bool:
    """Whether a frame is marked as a bundle."""
    return length >= HEAD_BYTES and number(frame, _TYPE_AT) == ETHER_TYPE


@native
def frames_in(frame: Bytes, length: int) -> int:
    """The number of frames in one: 1 if it is by itself, 0 if it is a bundle of nothing that could be frames."""
    if not is_bundle(frame, length):
        return 1
    each = number(frame, LENGTH_AT)
    size = length - HEAD_BYTES
    if each < MIN_FRAME or size <= 0 or size % each != 0:
        return 0
    return size // each


@native
def measure(arrived: Arrived, start: int, end: int) -> int:
    """Look at the slots from ``start`` to before ``end`` that the kernel has filled; the number of slots to take."""
    arrived.taken = 0
    arrived.frames = 0
    arrived.width = 0
    arrived.odd = 0
    for i in range(start, end):
        slot = arrived.slots + i * arrived.slot_bytes
        status = observe(Words(int(slot)))
        length = Ints(int(slot))[2]
        if status & USER == 0:
            break
        if status & VLAN_VALID != 0 or Ints(int(slot))[1] != length or length > arrived.longest:
            arrived.odd = 1
            break
        count = frames_in(frame_of(slot), length)
        if is_bundle(frame_of(slot), length):
            length = number(frame_of(slot), LENGTH_AT)
        width = arrived.width
        if count != 0:
            width = max(width, length)
        if arrived.frames != 0 and (arrived.frames + count) * width > arrived.most_bytes:
            break
        arrived.frames += count
        arrived.width = width
        arrived.taken += 1
    return arrived.taken


@native
def lay_out(arrived: Arrived, start: int, into: Bytes, lengths: Ints, answered: Bytes) -> int:
    """Copy the frames of measured slots into rows, and give the slots back to the kernel; the number of frames.

    ``answered`` is by protocol over IPv4 whether it came in bundles last; at address 0 nothing is noted.
    """
    row = 0
    arrived.malformed = 0
    for i in range(start, start + arrived.taken):
        slot = arrived.slots + i * arrived.slot_bytes
        frame = frame_of(slot)
        length = Ints(int(slot))[2]
        count = frames_in(frame, length)
        bundle = is_bundle(frame, length)
        if count == 0:
            arrived.malformed += 1
        if bundle:
            length = number(frame, LENGTH_AT)
            frame = frame + HEAD_BYTES
        if int(answered) != 0 and count != 0:
            protocol = protocol_of(frame, length)
            if protocol != 0:
                answered[protocol] = 1 if bundle else 0
        for k in range(count):
            copy(into + row * arrived.width, frame + k * length, length)
            lengths[row] = length
            row += 1
    fence()
    for i in range(start, start + arrived.taken):
        Ints(int(arrived.slots) + i * arrived.slot_bytes)[0] = 0
    return row


@native
def make_messages(leaving: BundledFrames) -> int:
    """Lay frames out as messages: runs of one length in bundles, others alone. Returns how many frames are in them.

    ``rows`` loses the frames that are too short for Ethernet.
    """
    kept = 0
    for i in range(leaving.count):
        row = leaving.rows[i]
        if leaving.lengths[row] >= MIN_FRAME:
            leaving.rows[kept] = row
            kept += 1
    leaving.short = leaving.count - kept
    messages = 0
    iovec = leaving.iovecs
    i = 0
    while i < kept:
        length = leaving.lengths[leaving.rows[i]]
        count = _run(leaving, i, kept, length)
        header = leaving.headers + messages * HEADER_WORDS
        header[2] = int(iovec)
        header[3] = max(count, 1)
        if count > 0:
            head = leaving.heads + messages * HEAD_BYTES
            copy(head, leaving.head, HEAD_BYTES)
            head[LENGTH_AT] = length >> 8
            head[LENGTH_AT + 1] = length & 0xFF
            iovec[0] = int(head)
            iovec[1] = HEAD_BYTES
            iovec = iovec + IOVEC_WORDS
            header[3] = count + 1
        leaving.firsts[messages] = i
        for _ in range(max(count, 1)):
            iovec[0] = int(leaving.data) + leaving.rows[i] * leaving.stride
            iovec[1] = length
            iovec = iovec + IOVEC_WORDS
            i += 1
        messages += 1
    leaving.firsts[messages] = kept
    leaving.messages = messages
    return kept


@native
def _run(leaving: BundledFrames, start: int, end: int, length: int) -> int:
    """Frames of a bundle that begins with number ``start``; 0: that goes alone."""
    if length > leaving.room:
        return 0
    most = min(end - start, leaving.room // length)
    most = min(most, MOST_FRAMES)
    count = 0
    while count < most:
        row = leaving.rows[start + count]
        if leaving.lengths[row] != length:
            break
        if int(leaving.bundled) != 0:
            protocol = protocol_of(leaving.data + row * leaving.stride, length)
            if leaving.bundled[protocol] == 0:
                break
        count += 1
    return count
