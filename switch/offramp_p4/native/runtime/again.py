# SPDX-License-Identifier: Apache-2.0
"""Packets that wait for a further pass, and the headers that the first pass has parsed.

Where a program gives back what it has parsed (:mod:`offramp_p4.native.v1model.giving_back`), a packet that goes round
with all headers unchanged is the frame that came in. Then that frame stays where it is, and further passes of it begin
with the headers of the first: nothing is deparsed, copied or parsed. All passes take the same packet memory, copies
take others; so the memory that a pass leaves with unchanged headers (WHOLE) has them when the next one begins.

As long as no other packet waits, such a frame is not put into the queue either: it is NEXT, and comes before whatever
is put there meanwhile.
"""

from __future__ import annotations

from offramp_base.native.subset import Bytes, Memory, copy, inlined, native
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import (
    CURSOR,
    LENGTH,
    TRUNCATE,
    WRITTEN,
    duplicate_headers,
    fields_size,
    gives_back,
    same_headers,
    save_fields,
    start_beside_headers,
    transfer_fields,
)
from offramp_p4.native.runtime.waiting import Waiting, make_waiting, take_unqueued


class Again(Waiting):
    """A packet that waits for parser and ingress; saved fields follow, and then its frame if FRAME is 0."""

    frame: int  # address of a frame that stays there until the packet has ended


@inlined
def begin_frame(ctx: SwitchMemory, frame: int) -> None:
    """Begin a packet whose frame stays in place until :func:`end_frame`."""
    ctx.frame = frame
    ctx.kept_frame = frame
    ctx.kept_length = -1
    ctx.next_first = 0


@inlined
def end_frame(ctx: SwitchMemory) -> None:
    """The packet has ended, and so have its copies."""
    ctx.kept_frame = 0


@inlined
def parsed_before(ctx: SwitchMemory, length: int) -> bool:
    """Whether the current frame is one whose headers are kept."""
    return gives_back() != 0 and ctx.frame == ctx.kept_frame and ctx.kept_length == length


@inlined
def keep_headers(ctx: SwitchMemory, m: Memory) -> None:
    """Keep the headers of a frame that has been parsed to its end."""
    if gives_back() != 0:
        m[WRITTEN] = 0
        if ctx.frame == ctx.kept_frame and ctx.kept_length < 0:
            duplicate_headers(Memory(ctx.kept), m)
            ctx.kept_length = m[LENGTH]


@inlined
def start_parsed(ctx: SwitchMemory, m: Memory) -> None:
    """Make the memory that of a fresh packet behind the parser, with the headers that are kept."""
    start_beside_headers(m)
    if ctx.whole != int(m):
        duplicate_headers(m, Memory(ctx.kept))
    m[CURSOR] = Memory(ctx.kept)[CURSOR]


@inlined
def unchanged(ctx: SwitchMemory, m: Memory) -> bool:
    """Whether the deparser would make of this packet the frame that it came in with, whose headers are kept."""
    length = m[LENGTH]
    if not parsed_before(ctx, length) or length > m[TRUNCATE]:
        return False
    if m[WRITTEN] != 0 and same_headers(m, Memory(ctx.kept)) == 0:
        return False
    ctx.whole = int(m)
    return True


@inlined
def wait_unchanged(ctx: SwitchMemory, m: Memory, kind: int, fields: int) -> None:
    """Have the frame that the pass came in with wait for another pass, which begins with the headers that are kept."""
    if ctx.waiting != 0:
        wait_same(ctx, m, m[LENGTH], kind, fields)
        return
    transfer_fields(Memory(ctx.kept), m, fields)
    ctx.next_first = 1
    ctx.next_fields = fields
    ctx.waiting = 1


@inlined
def start_unchanged(ctx: SwitchMemory, m: Memory) -> int:
    """Take the frame that waits so: make the memory that of its next pass behind the parser; its bytes."""
    take_unqueued(ctx)
    ctx.next_first = 0
    ctx.frame = ctx.kept_frame
    start_parsed(ctx, m)
    transfer_fields(m, Memory(ctx.kept), ctx.next_fields)
    return ctx.kept_length


@native
def wait_same(ctx: SwitchMemory, m: Memory, length: int, kind: int, fields: int) -> None:
    """Have the frame that the pass came in with wait for another pass."""
    if ctx.frame != ctx.kept_frame:
        wait_other(ctx, m, 0, length, kind, fields)
        return
    at = _waiting(ctx, m, 0, length, kind, fields)
    at.frame = ctx.frame


@native
def wait_other(ctx: SwitchMemory, m: Memory, frame: int, length: int, kind: int, fields: int) -> None:
    """Queue a frame that may not stay in place; 0 is the frame that the pass came in with."""
    at = _waiting(ctx, m, length, length, kind, fields)
    at.frame = 0
    if frame == 0:
        frame = ctx.frame
    copy(Bytes(int(at + 1) + fields_size(fields)), Bytes(frame), length)


@native
def _waiting(ctx: SwitchMemory, m: Memory, room: int, length: int, kind: int, fields: int) -> Again:
    """A waiting packet with saved fields, and room behind them."""
    at = Again(make_waiting(ctx, 8 * Again.WORDS + fields_size(fields) + room))
    at.length = length
    at.port = 0
    at.kind = kind
    at.fields = fields
    save_fields(Bytes(int(at + 1)), m, fields)
    return at
