# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress of a v1model program, joined by queues."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Memory, copy, native
from offramp_p4.native.runtime.again import Again, begin_frame
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.ecn import mark
from offramp_p4.native.runtime.pipeline import (
    NO_FIELDS,
    NORMAL,
    RECIRCULATED,
    leave,
    pass_again,
    pass_ingress,
    pass_unchanged,
)
from offramp_p4.native.runtime.program import (
    CURSOR,
    DEQUEUE_DEPTH,
    DEQUEUE_TIME,
    ENQUEUE_DEPTH,
    ENQUEUE_TIME,
    GROWTH,
    LENGTH,
    PRIORITY,
    TRUNCATE,
    duplicate_memory,
    fields_size,
    save_fields,
)
from offramp_p4.native.runtime.queues import (
    HEAD_BYTES,
    HeldBlock,
    QueuedPort,
    QueueRecord,
    admit,
    enqueue,
    find_port,
    pass_by,
)
from offramp_p4.native.runtime.timed import PS_PER_US, RECIRCULATION, finish, is_next, new_block
from offramp_p4.native.runtime.waiting import end_steps, take_unqueued

_DEPTH_MASK: Final = (1 << 19) - 1


@native
def hold(ctx: SwitchMemory, m: Memory, number: int) -> None:
    """Put a copy that has come out of ingress or of cloning into the queue that it asks for."""
    size = min(m[LENGTH] + m[GROWTH], m[TRUNCATE])
    port = QueuedPort(find_port(ctx, number))
    queue = admit(ctx, port, m[PRIORITY], size)
    if queue == 0:
        return
    rest = m[LENGTH] - m[CURSOR]
    held = new_block(ctx, HEAD_BYTES + ctx.stride + rest)
    stored = Memory(int(held) + HEAD_BYTES)
    duplicate_memory(stored, m)
    stored[ENQUEUE_TIME] = ctx.now_us
    stored[ENQUEUE_DEPTH] = QueueRecord(queue).packets & _DEPTH_MASK
    copy(Bytes(int(stored) + ctx.stride), Bytes(ctx.frame + m[CURSOR]), rest)
    enqueue(ctx, port, m[PRIORITY], size, held)


@native
def hold_or_leave(ctx: SwitchMemory, m: Memory, number: int) -> None:
    """Like :func:`hold`, but a frame that would leave its queue at once skips it."""
    port = QueuedPort(find_port(ctx, number))
    if ctx.waiting == 0 and is_next(ctx, port):
        size = min(m[LENGTH] + m[GROWTH], m[TRUNCATE])
        queue = pass_by(ctx, port, m[PRIORITY], size)
        if queue != 0:
            _leave_now(ctx, m, port, QueueRecord(queue))
            return
    hold(ctx, m, number)


@native
def _leave_now(ctx: SwitchMemory, m: Memory, port: QueuedPort, queue: QueueRecord) -> None:
    """The egress of a copy that has found its queue empty, and the line."""
    m[ENQUEUE_TIME] = ctx.now_us
    m[ENQUEUE_DEPTH] = 0
    m[DEQUEUE_TIME] = 0
    m[DEQUEUE_DEPTH] = 0
    port.scheduled = 1
    sent = ctx.index.used
    ctx.steps = ctx.max_steps
    leave(ctx, m, port.number)
    end_steps(ctx)
    finish(ctx, port, queue, 0, sent)
    ctx.steps = ctx.max_steps  # ingress, which has not ended yet, had some left


@native
def _go_round(ctx: SwitchMemory) -> None:
    """The next pass of the frame that is kept: at once, if it would leave the queue of its way back now."""
    port = QueuedPort(find_port(ctx, RECIRCULATION))
    if ctx.waiting == 1 and port.rate == 0 and is_next(ctx, port) and pass_by(ctx, port, 0, ctx.kept_length) != 0:
        ctx.steps = ctx.max_steps
        pass_unchanged(ctx)
        end_steps(ctx)
        return
    take_unqueued(ctx)
    ctx.next_first = 0
    _hold_frame(ctx, port, ctx.next_fields, ctx.kept_length, 0, ctx.kept_frame)


@native
def _hold_again(ctx: SwitchMemory, waiting: Again) -> None:
    """Put a packet that recirculates into the queue of its way back to the parser."""
    saved = int(waiting + 1)
    frame = waiting.frame
    if frame == 0:
        frame = saved + fields_size(waiting.fields)
    _hold_frame(ctx, QueuedPort(find_port(ctx, RECIRCULATION)), waiting.fields, waiting.length, saved, frame)


@native
def _hold_frame(ctx: SwitchMemory, port: QueuedPort, fields: int, length: int, saved: int, frame: int) -> None:
    """Put a frame into the queue of the way back, with fields that are SAVED there; 0: those that are kept."""
    if admit(ctx, port, 0, length) == 0:
        return
    size = fields_size(fields)
    held = new_block(ctx, HEAD_BYTES + size + length)
    held.content_bytes = length
    held.fields = fields
    into = Bytes(int(held) + HEAD_BYTES)
    if saved == 0:
        save_fields(into, Memory(ctx.kept), fields)
    else:
        copy(into, Bytes(saved), size)
    copy(into + size, Bytes(frame), length)
    enqueue(ctx, port, 0, length, held)


@native
def pass_first(ctx: SwitchMemory, frame: int, length: int, port: int) -> None:
    """The first pass of a packet."""
    begin_frame(ctx, frame)
    pass_ingress(ctx, length, port, NORMAL, 0, NO_FIELDS, 0)


@native
def pass_recirculated(ctx: SwitchMemory, block: int) -> None:
    """The pass of a recirculated packet."""
    held = HeldBlock(block)
    saved = block + HEAD_BYTES
    begin_frame(ctx, saved + fields_size(held.fields))
    pass_ingress(ctx, held.content_bytes, 0, RECIRCULATED, 1, held.fields, saved)


@native
def pass_egress(ctx: SwitchMemory, port: int, block: int) -> None:
    """The egress of a copy that has left its queue, and the line."""
    held = HeldBlock(block)
    queue = QueueRecord(held.next)
    m = Memory(block + HEAD_BYTES)
    m[DEQUEUE_TIME] = ctx.now_us - held.enqueued_ps // PS_PER_US
    m[DEQUEUE_DEPTH] = queue.packets & _DEPTH_MASK
    ctx.frame = int(m) + ctx.stride - m[CURSOR]
    sent = ctx.index.used
    ctx.steps = ctx.max_steps
    leave(ctx, m, QueuedPort(port).number)
    end_steps(ctx)
    finish(ctx, QueuedPort(port), queue, held.congested, sent)
    if held.congested != 0 and ctx.waiting > 0:
        waiting = Again(ctx.queue.data + ctx.queue.start)
        frame = int(waiting + 1) + fields_size(waiting.fields)
        queue.marked_frames += mark(ctx, frame, waiting.length)


@native
def pass_waiting(ctx: SwitchMemory, waiting: int) -> None:
    """The next pass of a packet that was resubmitted, or the way back of one that recirculates; 0: that is kept."""
    if waiting == 0:
        _go_round(ctx)
    elif Again(waiting).kind == RECIRCULATED:
        _hold_again(ctx, Again(waiting))
    else:
        ctx.steps = ctx.max_steps
        pass_again(ctx, waiting)
        end_steps(ctx)
