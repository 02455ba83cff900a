# SPDX-License-Identifier: Apache-2.0
"""Packets and queues in time: as in :mod:`offramp_p4.joint`. What a packet does at each step is the architecture's."""

from __future__ import annotations

from typing import Final

from offramp_base.native.heap import HeapEntry
from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, Ints, Words, below, native, supplied
from offramp_p4.native.runtime.blocks import give_block, take_block
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.ecn import mark
from offramp_p4.native.runtime.heap import pop, push
from offramp_p4.native.runtime.queues import HeldBlock, QueuedPort, QueueRecord, dequeue, is_free, release, transmit
from offramp_p4.native.runtime.waiting import end_steps, next_waiting, none_waits

RECIRCULATION: Final = -1
"""The port number under which recirculated packets queue."""

PS_PER_US: Final = 10**6
_NEVER: Final = 1 << 62


class _BudgetRecord(Record):
    """Passes that a packet and its copies may still make, shared by all of them."""

    passes: int
    users: int  # how many of them there are


_BUDGET_BYTES: Final = 8 * _BudgetRecord.WORDS


@supplied
def arrive(ctx: SwitchMemory, frame: int, length: int, port: int) -> None:
    """The first pass of a packet."""
    raise NotImplementedError


@supplied
def hint(ctx: SwitchMemory, frames: Bytes, stride: int, lengths: Ints, i: int, count: int) -> None:
    """Hint what the packets behind number ``i`` of a batch will look up."""
    raise NotImplementedError


@supplied
def come_back(ctx: SwitchMemory, held: int) -> None:
    """Run the pass of the recirculated packet in this block."""
    raise NotImplementedError


@supplied
def depart(ctx: SwitchMemory, port: int, held: int) -> None:
    """The egress of the copy that has left its queue, and the line; ``port`` and ``held`` are addresses."""
    raise NotImplementedError


@supplied
def go_on(ctx: SwitchMemory, waiting: int) -> None:
    """Send what waits for another pass on its way: to a queue, or through the pass; 0: the frame that is kept."""
    raise NotImplementedError


@native
def no_hint(ctx: SwitchMemory, frames: Bytes, stride: int, lengths: Ints, i: int, count: int) -> None:
    """Fetch nothing ahead."""


@native
def receive_batch(
    ctx: SwitchMemory, times: Words, frames: Bytes, stride: int, lengths: Ints, ports: Ints, count: int
) -> int:
    """``count`` packets arrive at their times, which never go back; 1, and nothing done, if a length is wrong."""
    for i in range(count):
        if below(stride, lengths[i]):
            return 1
    for i in range(count):
        hint(ctx, frames, stride, lengths, i, count)
        following = times[i]
        if i + 1 < count:
            following = times[i + 1]
        _receive(ctx, times[i], int(frames + i * stride), lengths[i], ports[i], following - 1)
    return 0


@native
def receive(ctx: SwitchMemory, now_ps: int, frame: int, length: int, port: int) -> None:
    """A packet arrives; what was due before has happened then."""
    _receive(ctx, now_ps, frame, length, port, now_ps - 1)


@native
def _receive(ctx: SwitchMemory, now_ps: int, frame: int, length: int, port: int, quiet_ps: int) -> None:
    """A packet arrives, and no other before ``quiet_ps`` is over."""
    _run_until(ctx, now_ps - 1)
    _at(ctx, now_ps)
    ctx.quiet_ps = quiet_ps
    ctx.packets_in += 1
    budget = _BudgetRecord(take_block(ctx, _BUDGET_BYTES))
    budget.passes = ctx.max_passes
    budget.users = 1
    ctx.passes_left = int(budget)
    none_waits(ctx)
    ctx.steps = ctx.max_steps
    arrive(ctx, frame, length, port)
    end_steps(ctx)
    _again(ctx)
    _forget(ctx)
    _leave_budget(ctx)


@native
def advance(ctx: SwitchMemory, until_ps: int) -> None:
    """Let time pass."""
    _run_until(ctx, until_ps)
    if until_ps > ctx.now_ps:
        _at(ctx, until_ps)


@native
def _run_until(ctx: SwitchMemory, until_ps: int) -> None:
    """All events up to a time: recirculated packets before ports."""
    ctx.quiet_ps = until_ps
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
            _return(ctx, HeldBlock(pop(ctx, offset(SwitchMemory.returning))))
        else:
            _at(ctx, ready)
            _serve(ctx, QueuedPort(pop(ctx, offset(SwitchMemory.ready))))


@native
def is_next(ctx: SwitchMemory, port: QueuedPort) -> bool:
    """Whether a frame that came to a port now would be the next to leave it, before anything else happens."""
    if not is_free(ctx, port):
        return False
    if ctx.returning.used > 0 and Words(ctx.returning.data)[0] <= ctx.now_ps:
        return False
    if ctx.ready.used == 0:
        return True
    first = HeapEntry(ctx.ready.data)
    return first.time > ctx.now_ps or first.order > port.number


@native
def _at(ctx: SwitchMemory, now_ps: int) -> None:
    ctx.now_ps = now_ps
    ctx.now_us = now_ps // PS_PER_US


@native
def _serve(ctx: SwitchMemory, port: QueuedPort) -> None:
    """The frame whose turn it is at a port."""
    held = HeldBlock(dequeue(ctx, port))
    ctx.passes_left = held.budget
    if port.number == RECIRCULATION:
        finish_ps = transmit(ctx, port, held.frame_bytes)
        release(ctx, port)
        ctx.returned += 1
        push(ctx, offset(SwitchMemory.returning), finish_ps, ctx.returned, int(held))
        return
    none_waits(ctx)
    depart(ctx, int(port), int(held))
    _again(ctx)
    ctx.passes_left = held.budget
    _give_up(ctx, held)


@native
def finish(ctx: SwitchMemory, port: QueuedPort, queue: QueueRecord, congested: int, sent: int) -> None:
    """Mark the frame that egress has sent behind ``sent`` bytes of INDEX, if it has, and occupy the line with it."""
    if ctx.index.used > sent:
        length = Words(ctx.index.data + sent)[1]
        if congested != 0:
            queue.marked_frames += mark(ctx, ctx.out.data + ctx.out.used - length, length)
        time = Words(append(ctx, offset(SwitchMemory.times), 8))
        time[0] = transmit(ctx, port, length)
    release(ctx, port)


@native
def _return(ctx: SwitchMemory, held: HeldBlock) -> None:
    """A recirculated packet is back at the parser."""
    ctx.passes_left = held.budget
    none_waits(ctx)
    ctx.steps = ctx.max_steps
    come_back(ctx, int(held))
    end_steps(ctx)
    _again(ctx)
    _forget(ctx)
    _give_up(ctx, held)


@native
def _again(ctx: SwitchMemory) -> None:
    """Send what was resubmitted and recirculated on its way, within the packet's budget."""
    while ctx.waiting > 0:
        budget = _BudgetRecord(ctx.passes_left)
        budget.passes -= 1
        if budget.passes <= 0:
            ctx.looped += ctx.waiting
            ctx.waiting = 0
            return
        if ctx.next_first != 0:
            go_on(ctx, 0)
        else:
            go_on(ctx, next_waiting(ctx))


@native
def _forget(ctx: SwitchMemory) -> None:
    """The frame whose headers are kept has ended here; what has not gone on by now does not."""
    ctx.kept_frame = 0
    ctx.next_first = 0


@native
def new_block(ctx: SwitchMemory, size: int) -> HeldBlock:
    """A block that shares the budget of the current packet."""
    held = HeldBlock(take_block(ctx, size))
    held.block_bytes = size
    held.budget = ctx.passes_left
    _BudgetRecord(held.budget).users += 1
    return held


@native
def _give_up(ctx: SwitchMemory, held: HeldBlock) -> None:
    """A copy has gone; its budget is the current one."""
    give_block(ctx, int(held), held.block_bytes)
    _leave_budget(ctx)


@native
def _leave_budget(ctx: SwitchMemory) -> None:
    budget = _BudgetRecord(ctx.passes_left)
    budget.users -= 1
    if budget.users == 0:
        give_block(ctx, int(budget), _BUDGET_BYTES)
