# SPDX-License-Identifier: Apache-2.0
"""The common base of PSA switches and PNA cards in machine code, as :mod:`offramp_p4.portable.pipeline`.

What waits for a pass or for egress waits in one queue. One packet memory is enough: nothing of it is needed any more
when the next of them begins.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, Ints, Memory, Words, below, copy, native
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.native.runtime.buffers import room
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.portable.program import (
    NORMAL,
    RECIRCULATED,
    RESUBMITTED,
    carried_at,
    carried_size,
    destination,
    enter,
    leave,
    place,
)
from offramp_p4.native.runtime.replicas import Replicas
from offramp_p4.native.runtime.waiting import MOST_OUT, Waiting, end_steps, make_waiting, next_waiting, none_waits
from offramp_p4.portable.functions import CPU, RECIRCULATE
from offramp_p4.portable.pipeline import LOOP

_FAR: Final = 1 << 62


class PortableTask(Waiting):
    """A packet before ingress or before egress, as its KIND says, a path; FIELDS are the bytes that it brings."""

    instance: int
    cos: int


@native
def run_batch(ctx: SwitchMemory, frames: Bytes, stride: int, lengths: Ints, ports: Ints, count: int) -> int:
    """Run ``count`` packets to completion, one after the other; 1, and nothing done, if a length is wrong."""
    for i in range(count):
        if below(stride, lengths[i]):
            return 1
    for i in range(count):
        _run(ctx, int(frames + i * stride), lengths[i], ports[i])
    return 0


@native
def _run(ctx: SwitchMemory, frame: int, length: int, port: int) -> None:
    ctx.packets_in += 1
    ctx.steps = ctx.max_steps
    none_waits(ctx)
    ctx.frame = frame
    enter(ctx, length, shown(ctx, port), NORMAL, 0)
    left = ctx.max_passes - 1
    while ctx.waiting > 0 and ctx.steps >= 0:
        task = PortableTask(next_waiting(ctx))
        if task.kind != RESUBMITTED and task.kind != RECIRCULATED:
            _take_to_egress(ctx, task)
        elif left > 0:
            left -= 1
            length = task.length
            port = task.port
            kind = task.kind
            enter(ctx, length, port, kind, load(ctx, task))
        else:
            ctx.looped += 1
    end_steps(ctx)


@native
def load(ctx: SwitchMemory, task: PortableTask) -> int:
    """Make a task's frame the one to be parsed; returns the address of its metadata. The task is gone then."""
    fields = task.fields
    size = fields + task.length
    at = room(ctx, offset(SwitchMemory.arrival), 0, size)
    copy(Bytes(at), Bytes(int(task + 1)), size)
    ctx.current = _FAR
    ctx.frame = at + fields
    return at


@native
def begin_pass(ctx: SwitchMemory) -> int:
    """Take the steps of a pass, and forget what another one has left; 0 if the packet has no more steps."""
    ctx.passes += 1
    ctx.steps -= PASS_STEPS
    if ctx.steps < 0 or ctx.out.used > MOST_OUT:
        ctx.steps = -1
        return 0
    ctx.digests.used = ctx.digests.start
    ctx.gathered.used = 0
    return 1


@native
def clone(ctx: SwitchMemory, m: Memory, session: int, path: int, frame: int, length: int) -> None:
    """Send the copies of a clone session, which need not exist."""
    key = scratch(ctx)
    key[0] = session
    number = find(ctx.sessions.slots, ctx.sessions.mask, key, 1)
    if number == 0:
        return
    row = Replicas(int(ctx.sessions.rows) + 8 * Replicas.WORDS * (number - 1))
    if row.most_bytes != 0 and length > row.most_bytes:
        length = row.most_bytes
        ctx.truncated += 1
    ctx.clones += row.count
    pair = row.pairs
    for _ in range(row.count):
        at = taken(ctx, m, path, pair[0], pair[1], row.cos, length)
        if ctx.steps < 0:
            return
        if at != 0:
            copy(Bytes(at), Bytes(frame), length)
        pair = pair + 2


@native
def taken(ctx: SwitchMemory, m: Memory, path: int, port: int, instance: int, cos: int, length: int) -> int:
    """Room for the frame of a copy that waits for egress; 0 if it has no port to go to, or no steps."""
    ctx.steps -= PASS_STEPS
    if ctx.steps < 0:
        return 0
    number = destination(ctx, port)
    if number < 0:
        ctx.dropped += 1
        return 0
    return place(ctx, m, path, number, instance, cos, length)


@native
def wait_for_egress(ctx: SwitchMemory, m: Memory, path: int, port: int, instance: int, cos: int, length: int) -> int:
    """Room for the frame of a copy behind all others that wait."""
    task = PortableTask(_waiting(ctx, m, path, port, length))
    task.instance = instance
    task.cos = cos
    return int(task + 1) + task.fields


@native
def _waiting(ctx: SwitchMemory, m: Memory, path: int, port: int, length: int) -> int:
    """A task with the metadata for its path; its frame is still to be written."""
    fields = carried_size(path)
    task = PortableTask(make_waiting(ctx, 8 * PortableTask.WORDS + fields + length))
    task.length = length
    task.port = port
    task.kind = path
    task.fields = fields
    copy(Bytes(int(task + 1)), Bytes(int(m) + carried_at(path)), fields)
    return int(task)


@native
def wait(ctx: SwitchMemory, m: Memory, path: int, port: int, frame: int, length: int) -> None:
    """Have a packet wait for another pass."""
    task = PortableTask(_waiting(ctx, m, path, port, length))
    copy(Bytes(int(task + 1) + task.fields), Bytes(frame), length)


@native
def _take_to_egress(ctx: SwitchMemory, task: PortableTask) -> None:
    length = task.length
    port = task.port
    path = task.kind
    instance = task.instance
    cos = task.cos
    leave(ctx, length, port, path, load(ctx, task), instance, cos)


@native
def shown(ctx: SwitchMemory, port: int) -> int:
    """The number of a port for the program."""
    if port == LOOP:
        return RECIRCULATE
    return CPU if port == ctx.cpu_port else port


@native
def scratch(ctx: SwitchMemory) -> Words:
    """Room for a key: a packet memory behind the only one that is in use."""
    return Words(ctx.top + ctx.stride)


@native
def failed(ctx: SwitchMemory) -> None:
    """A block has been left at once: by a failed check, or since the packet has no more steps."""
    if ctx.steps >= 0:
        ctx.failed_checks += 1
        ctx.dropped += 1
