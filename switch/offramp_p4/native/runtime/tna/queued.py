# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress of a Tofino, joined by queues."""

from __future__ import annotations

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, copy, native
from offramp_p4.native.runtime.buffers import room
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.ecn import mark
from offramp_p4.native.runtime.queues import HeldBlock, QueuedPort, QueueRecord, admit, enqueue, find_port
from offramp_p4.native.runtime.timed import PS_PER_US, RECIRCULATION, finish, new_block
from offramp_p4.native.runtime.tna.pipeline import FRESH, TnaTask, enter, leave, take_up
from offramp_p4.native.runtime.tna.program import egress_front
from offramp_p4.native.runtime.waiting import end_steps
from offramp_p4.tna.ports import CELL_BYTES


class TnaHeldCopy(HeldBlock):
    """A copy in a queue; the packet follows."""

    rid: int
    first: int
    queue: int
    cos: int
    bypass: int
    found_cells: int
    port: int  # of a packet that recirculates


@native
def hold(ctx: SwitchMemory, size: int, port: int, rid: int, first: int, queue: int, cos: int, bypass: int) -> None:
    """Put a copy of what is held into the queue that it asks for."""
    line = QueuedPort(find_port(ctx, port))
    admitted = admit(ctx, line, queue, size)
    if admitted == 0:
        return
    held = TnaHeldCopy(int(new_block(ctx, 8 * TnaHeldCopy.WORDS + size)))
    held.rid = rid
    held.first = first
    held.queue = queue
    held.cos = cos
    held.bypass = bypass
    held.found_cells = _cells(QueueRecord(admitted).bytes)
    copy(Bytes(int(held + 1)), Bytes(ctx.held.data + egress_front()), size)
    enqueue(ctx, line, queue, size, HeldBlock(int(held)))


@native
def _cells(size: int) -> int:
    return (size + CELL_BYTES - 1) // CELL_BYTES


@native
def pass_first(ctx: SwitchMemory, frame: int, length: int, port: int) -> None:
    """The first pass of a packet."""
    enter(ctx, frame, length, port, FRESH, 0, 0)


@native
def pass_recirculated(ctx: SwitchMemory, block: int) -> None:
    """The pass of a recirculated packet."""
    held = TnaHeldCopy(block)
    enter(ctx, int(held + 1), held.frame_bytes, held.port, FRESH, 0, 0)


@native
def pass_egress(ctx: SwitchMemory, port: int, block: int) -> None:
    """The egress of a copy that has left its queue, and the line."""
    held = TnaHeldCopy(block)
    queue = QueueRecord(held.next)
    size = held.frame_bytes
    ctx.enqueued_us = held.enqueued_ps // PS_PER_US
    ctx.found_cells = held.found_cells
    ctx.waited_us = ctx.now_us - ctx.enqueued_us
    ctx.left_cells = _cells(queue.bytes)
    front = egress_front()
    copy(Bytes(room(ctx, offset(SwitchMemory.held), 0, front + size) + front), Bytes(int(held + 1)), size)
    sent = ctx.index.used
    ctx.steps = ctx.max_steps
    leave(ctx, size, QueuedPort(port).number, held.rid, held.first, held.queue, held.cos, held.bypass)
    end_steps(ctx)
    finish(ctx, QueuedPort(port), queue, HeldBlock(block).congested, sent)
    if held.congested != 0:
        _mark_waiting(ctx, queue)


@native
def _mark_waiting(ctx: SwitchMemory, queue: QueueRecord) -> None:
    """Mark the packet that recirculates, if there is one among those that wait."""
    at = ctx.queue.data + ctx.queue.start
    for _ in range(ctx.waiting):
        task = TnaTask(at)
        if task.kind == FRESH:
            queue.marked_frames += mark(ctx, int(task + 1) + task.fields, task.length)
        at += task.size


@native
def pass_waiting(ctx: SwitchMemory, waiting: int) -> None:
    """The next pass of a packet that was resubmitted, or the queue of one that was mirrored or recirculates."""
    task = TnaTask(waiting)
    if task.kind != FRESH:
        ctx.steps = ctx.max_steps
        take_up(ctx, task)
        end_steps(ctx)
        return
    length = task.length
    line = QueuedPort(find_port(ctx, RECIRCULATION))
    if admit(ctx, line, 0, length) == 0:
        return
    held = TnaHeldCopy(int(new_block(ctx, 8 * TnaHeldCopy.WORDS + length)))
    held.port = task.port
    copy(Bytes(int(held + 1)), Bytes(int(task + 1)), length)
    enqueue(ctx, line, 0, length, HeldBlock(int(held)))
