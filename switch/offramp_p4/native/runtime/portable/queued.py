# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress of a PSA switch, or the passes of a PNA card and the wire, joined by queues."""

from __future__ import annotations

from offramp_base.native.subset import Bytes, Memory, copy, native
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.ecn import mark
from offramp_p4.native.runtime.portable.pipeline import PortableTask, load, shown
from offramp_p4.native.runtime.portable.program import (
    NORMAL,
    RECIRCULATED,
    carried_at,
    carried_size,
    enter,
    leave,
)
from offramp_p4.native.runtime.queues import HeldBlock, QueuedPort, QueueRecord, admit, enqueue, find_port
from offramp_p4.native.runtime.timed import RECIRCULATION, finish, new_block
from offramp_p4.native.runtime.waiting import end_steps


class PortableHeldCopy(HeldBlock):
    """A copy in a queue; the metadata that it brings follow, and its frame."""

    path: int
    port: int  # that a packet that recirculates comes in at
    instance: int
    cos: int
    brought: int  # bytes of metadata


@native
def hold(ctx: SwitchMemory, m: Memory, path: int, port: int, instance: int, cos: int, length: int) -> int:
    """Put a copy into the queue of its class; room for its frame, or 0 if it does not fit."""
    line = QueuedPort(find_port(ctx, port))
    if admit(ctx, line, cos, length) == 0:
        return 0
    brought = carried_size(path)
    held = PortableHeldCopy(int(new_block(ctx, 8 * PortableHeldCopy.WORDS + brought + length)))
    held.path = path
    held.instance = instance
    held.cos = cos
    held.brought = brought
    copy(Bytes(int(held + 1)), Bytes(int(m) + carried_at(path)), brought)
    enqueue(ctx, line, cos, length, HeldBlock(int(held)))
    return int(held + 1) + brought


@native
def pass_first(ctx: SwitchMemory, frame: int, length: int, port: int) -> None:
    """The first pass of a packet."""
    ctx.frame = frame
    enter(ctx, length, shown(ctx, port), NORMAL, 0)


@native
def pass_recirculated(ctx: SwitchMemory, block: int) -> None:
    """The pass of a recirculated packet."""
    held = PortableHeldCopy(block)
    carried = int(held + 1)
    ctx.frame = carried + held.brought
    enter(ctx, held.frame_bytes, held.port, RECIRCULATED, carried)


@native
def pass_egress(ctx: SwitchMemory, port: int, block: int) -> None:
    """The egress of a copy that has left its queue, and the line."""
    held = PortableHeldCopy(block)
    queue = QueueRecord(held.next)
    carried = int(held + 1)
    ctx.frame = carried + held.brought
    sent = ctx.index.used
    ctx.steps = ctx.max_steps
    leave(ctx, held.frame_bytes, QueuedPort(port).number, held.path, carried, held.instance, held.cos)
    end_steps(ctx)
    finish(ctx, QueuedPort(port), queue, HeldBlock(block).congested, sent)
    if held.congested != 0 and ctx.waiting > 0:
        task = PortableTask(ctx.queue.data + ctx.queue.start)
        queue.marked_frames += mark(ctx, int(task + 1) + task.fields, task.length)


@native
def pass_waiting(ctx: SwitchMemory, waiting: int) -> None:
    """The next pass of a packet that was resubmitted, or the queue of one that recirculates."""
    task = PortableTask(waiting)
    length = task.length
    port = task.port
    path = task.kind
    if path != RECIRCULATED:
        ctx.steps = ctx.max_steps
        enter(ctx, length, port, path, load(ctx, task))
        end_steps(ctx)
        return
    line = QueuedPort(find_port(ctx, RECIRCULATION))
    if admit(ctx, line, 0, length) == 0:
        return
    brought = task.fields
    held = PortableHeldCopy(int(new_block(ctx, 8 * PortableHeldCopy.WORDS + brought + length)))
    held.port = port
    held.brought = brought
    copy(Bytes(int(held + 1)), Bytes(int(task + 1)), brought + length)
    enqueue(ctx, line, 0, length, HeldBlock(int(held)))
