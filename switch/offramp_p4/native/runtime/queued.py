# SPDX-License-Identifier: Apache-2.0
"""Ingress and egress joined by queues, in time: as in :mod:`offramp_p4.tm.joint`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, Ints, Memory, Words, below, copy, native
from offramp_p4.native.runtime.blocks import give_block, take_block
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import (
    Context,
)
from offramp_p4.native.runtime.ecn import mark
from offramp_p4.native.runtime.heap import pop, push
from offramp_p4.native.runtime.pipeline import (
    NO_FIELDS,
    NORMAL,
    RECIRCULATED,
    leave,
    pass_again,
    pass_ingress,
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
)
from offramp_p4.native.runtime.queues import (
    HEAD_BYTES,
    Held,
    Port,
    Queue,
    admit,
    dequeue,
    enqueue,
    find_port,
    release,
    transmit,
)
from offramp_p4.native.runtime.waiting import Waiting, end_steps, next_waiting, none_waits

RECIRCULATION: Final = -1
"""The port number under which recirculated packets queue."""

_PS_PER_US: Final = 10**6
_DEPTH_MASK: Final = (1 << 19) - 1
_NEVER: Final = 1 << 62


class _Budget(Record):
    """What a packet and its copies may still do."""

    passes: int
    users: int  # how many of them there are


_BUDGET_BYTES: Final = 8 * _Budget.WORDS


@native
def receive_batch(
    ctx: Context, times: Words, frames: Bytes, stride: int, lengths: Ints, ports: Ints, count: int
) -> int:
    """``count`` packets arrive at their times, which never go back; 1, and nothing done, if a length is wrong."""
    for i in range(count):
        if below(stride, lengths[i]):
            return 1
    for i in range(count):
        receive(ctx, times[i], int(frames + i * stride), lengths[i], ports[i])
    return 0


@native
def receive(ctx: Context, now_ps: int, frame: int, length: int, port: int) -> None:
    """A packet arrives; what was due before has happened then."""
    _run_until(ctx, now_ps - 1)
    _at(ctx, now_ps)
    ctx.packets_in += 1
    budget = _Budget(take_block(ctx, _BUDGET_BYTES))
    budget.passes = ctx.max_passes
    budget.users = 1
    ctx.passes_left = int(budget)
    ctx.frame = frame
    none_waits(ctx)
    ctx.steps = ctx.max_steps
    pass_ingress(ctx, length, port, NORMAL, 0, NO_FIELDS, 0)
    end_steps(ctx)
    _again(ctx)
    _leave_budget(ctx)


@native
def advance(ctx: Context, until_ps: int) -> None:
    """Let time pass."""
    _run_until(ctx, until_ps)
    if until_ps > ctx.now_ps:
        _at(ctx, until_ps)


@native
def _run_until(ctx: Context, until_ps: int) -> None:
    """All events up to a time: recirculated packets before ports."""
    while True:
        back = _NEVER
        ready = _NEVER
        if ctx.returning.used > 0:
            back = Words(ctx.returning.data)[0]
        if ctx.ready.used > 0:
            ready = Words(ctx.ready.data)[0]
        if min(back, ready) > until_ps:
            return
        if back <= ready:
            _at(ctx, back)
            _return(ctx, Held(pop(ctx, offset(Context.returning))))
        else:
            _at(ctx, ready)
            _serve(ctx, Port(pop(ctx, offset(Context.ready))))


@native
def _at(ctx: Context, now_ps: int) -> None:
    ctx.now_ps = now_ps
    ctx.now_us = now_ps // _PS_PER_US


@native
def hold(ctx: Context, m: Memory, number: int) -> None:
    """Put a copy that has come out of ingress or of cloning into the queue that it asks for."""
    size = min(m[LENGTH] + m[GROWTH], m[TRUNCATE])
    port = Port(find_port(ctx, number))
    queue = admit(ctx, port, m[PRIORITY], size)
    if queue == 0:
        return
    rest = m[LENGTH] - m[CURSOR]
    held = _new_block(ctx, HEAD_BYTES + ctx.stride + rest)
    made = Memory(int(held) + HEAD_BYTES)
    duplicate_memory(made, m)
    made[ENQUEUE_TIME] = ctx.now_us
    made[ENQUEUE_DEPTH] = Queue(queue).packets & _DEPTH_MASK
    copy(Bytes(int(made) + ctx.stride), Bytes(ctx.frame + m[CURSOR]), rest)
    enqueue(ctx, port, m[PRIORITY], size, held)


@native
def _hold_again(ctx: Context, waiting: Waiting) -> None:
    """Put a packet that recirculates into the queue of its way back to the parser."""
    length = waiting.length
    port = Port(find_port(ctx, RECIRCULATION))
    if admit(ctx, port, 0, length) == 0:
        return
    saved = fields_size(waiting.fields)
    held = _new_block(ctx, HEAD_BYTES + saved + length)
    held.content_bytes = length
    held.fields = waiting.fields
    copy(Bytes(int(held) + HEAD_BYTES), Bytes(int(waiting + 1)), saved + length)
    enqueue(ctx, port, 0, length, held)


@native
def _new_block(ctx: Context, size: int) -> Held:
    """A block that shares the budget of the current packet."""
    held = Held(take_block(ctx, size))
    held.block_bytes = size
    held.budget = ctx.passes_left
    _Budget(held.budget).users += 1
    return held


@native
def _give_up(ctx: Context, held: Held) -> None:
    """A copy has gone; its budget is the current one."""
    give_block(ctx, int(held), held.block_bytes)
    _leave_budget(ctx)


@native
def _leave_budget(ctx: Context) -> None:
    budget = _Budget(ctx.passes_left)
    budget.users -= 1
    if budget.users == 0:
        give_block(ctx, int(budget), _BUDGET_BYTES)


@native
def _serve(ctx: Context, port: Port) -> None:
    """The egress of the frame whose turn it is at a port."""
    held = Held(dequeue(ctx, port))
    queue = Queue(held.next)
    ctx.passes_left = held.budget
    if port.number == RECIRCULATION:
        finish_ps = transmit(ctx, port, held.frame_bytes)
        release(ctx, port)
        ctx.returned += 1
        push(ctx, offset(Context.returning), finish_ps, ctx.returned, int(held))
        return
    m = Memory(int(held) + HEAD_BYTES)
    m[DEQUEUE_TIME] = ctx.now_us - held.enqueued_ps // _PS_PER_US
    m[DEQUEUE_DEPTH] = queue.packets & _DEPTH_MASK
    ctx.frame = int(m) + ctx.stride - m[CURSOR]
    none_waits(ctx)
    sent = ctx.index.used
    ctx.steps = ctx.max_steps
    leave(ctx, m, port.number)
    end_steps(ctx)
    if ctx.index.used > sent:
        length = Words(ctx.index.data + sent)[1]
        if held.congested != 0:
            queue.marked_frames += mark(ctx, ctx.out.data + ctx.out.used - length, length)
        time = Words(append(ctx, offset(Context.times), 8))
        time[0] = transmit(ctx, port, length)
    release(ctx, port)
    if held.congested != 0 and ctx.waiting > 0:
        waiting = Waiting(ctx.queue.data + ctx.queue.start)
        frame = int(waiting + 1) + fields_size(waiting.fields)
        queue.marked_frames += mark(ctx, frame, waiting.length)
    _again(ctx)
    ctx.passes_left = held.budget
    _give_up(ctx, held)


@native
def _return(ctx: Context, held: Held) -> None:
    """A recirculated packet is back at the parser."""
    ctx.passes_left = held.budget
    saved = int(held) + HEAD_BYTES
    ctx.frame = saved + fields_size(held.fields)
    none_waits(ctx)
    ctx.steps = ctx.max_steps
    pass_ingress(ctx, held.content_bytes, 0, RECIRCULATED, 1, held.fields, saved)
    end_steps(ctx)
    _again(ctx)
    _give_up(ctx, held)


@native
def _again(ctx: Context) -> None:
    """Send what was resubmitted and recirculated on its way, within the packet's budget."""
    while ctx.waiting > 0:
        budget = _Budget(ctx.passes_left)
        budget.passes -= 1
        if budget.passes <= 0:
            ctx.looped += ctx.waiting
            ctx.waiting = 0
            return
        waiting = next_waiting(ctx)
        if Waiting(waiting).kind == RECIRCULATED:
            _hold_again(ctx, Waiting(waiting))
        else:
            ctx.steps = ctx.max_steps
            pass_again(ctx, waiting)
            end_steps(ctx)
