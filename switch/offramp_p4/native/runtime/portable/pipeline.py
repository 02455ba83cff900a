# SPDX-License-Identifier: Apache-2.0
"""The way of packets through a PSA switch, as in :mod:`offramp_p4.portable.psa`.

What waits for a pass or for egress waits in one queue. One packet memory is enough: nothing of it is needed any more
when the next of them begins.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, Ints, Memory, Words, below, copy, native
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.native.runtime.buffers import append, room
from offramp_p4.native.runtime.context import Context
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.portable.program import (
    CLONE,
    CLONE_E2E,
    CLONE_I2E,
    COS,
    DROP,
    GROUP,
    MULTICAST,
    NORMAL,
    PARSER_ERROR,
    PORT,
    RECIRCULATED,
    RESUBMIT,
    RESUBMITTED,
    SESSION,
    UNICAST,
    carried_at,
    carried_size,
    place,
    run_egress,
    run_ingress,
)
from offramp_p4.native.runtime.program import CHECK_FAILED, CURSOR, LENGTH
from offramp_p4.native.runtime.replicas import Replicas
from offramp_p4.native.runtime.waiting import MOST_OUT, Waiting, end_steps, make_waiting, next_waiting, none_waits
from offramp_p4.portable.functions import CPU, RECIRCULATE
from offramp_p4.portable.pipeline import LOOP

_FAR: Final = 1 << 62


class Task(Waiting):
    """A packet before ingress or before egress, as its KIND says, a path; FIELDS are the bytes that it brings."""

    instance: int
    cos: int


@native
def run_batch(ctx: Context, frames: Bytes, stride: int, lengths: Ints, ports: Ints, count: int) -> int:
    """Run ``count`` packets to completion, one after the other; 1, and nothing done, if a length is wrong."""
    for i in range(count):
        if below(stride, lengths[i]):
            return 1
    for i in range(count):
        _run(ctx, int(frames + i * stride), lengths[i], ports[i])
    return 0


@native
def _run(ctx: Context, frame: int, length: int, port: int) -> None:
    ctx.packets_in += 1
    ctx.steps = ctx.max_steps
    none_waits(ctx)
    ctx.frame = frame
    enter(ctx, length, shown(ctx, port), NORMAL, 0)
    left = ctx.max_passes - 1
    while ctx.waiting > 0 and ctx.steps >= 0:
        task = Task(next_waiting(ctx))
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
def load(ctx: Context, task: Task) -> int:
    """Have a task's frame be the one that is parsed; the address of what it brings. The task is gone then."""
    fields = task.fields
    size = fields + task.length
    at = room(ctx, offset(Context.arrival), 0, size)
    copy(Bytes(at), Bytes(int(task + 1)), size)
    ctx.current = _FAR
    ctx.frame = at + fields
    return at


@native
def enter(ctx: Context, length: int, port: int, path: int, carried: int) -> None:
    """One pass through ingress."""
    ctx.passes += 1
    ctx.steps -= PASS_STEPS
    start = ctx.out.used
    if ctx.steps < 0 or start > MOST_OUT:
        ctx.steps = -1
        return
    ctx.digests.used = ctx.digests.start
    m = Memory(ctx.top)
    code = run_ingress(ctx, m, length, port, path, carried, 0, 0)
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    header = ctx.out.used - start
    ctx.out.used = start
    if code == CHECK_FAILED:
        _failed(ctx)
        return
    ctx.digests.start = ctx.digests.used
    if m[CLONE] != 0:
        _clone(ctx, m, m[SESSION], CLONE_I2E, ctx.frame, length)
    if m[DROP] != 0:
        ctx.dropped += 1
    elif m[RESUBMIT] != 0:
        ctx.resubmissions += 1
        _wait(ctx, m, RESUBMITTED, port, ctx.frame, length)
    elif m[GROUP] != 0:
        _multicast(ctx, m, header)
    else:
        _send(ctx, m, UNICAST, m[PORT], 0, m[COS], header)


@native
def _multicast(ctx: Context, m: Memory, header: int) -> None:
    key = _scratch(ctx)
    key[0] = m[GROUP]
    number = find(ctx.groups.slots, ctx.groups.mask, key, 1)
    if number == 0:
        ctx.dropped += 1
        return
    row = Replicas(int(ctx.groups.rows) + 8 * Replicas.WORDS * (number - 1))
    ctx.dropped += int(row.count == 0)
    ctx.replicas += row.count
    pair = row.pairs
    for _ in range(row.count):
        _send(ctx, m, MULTICAST, pair[0], pair[1], m[COS], header)
        if ctx.steps < 0:
            return
        pair = pair + 2


@native
def _send(ctx: Context, m: Memory, path: int, port: int, instance: int, cos: int, header: int) -> None:
    """A copy of what ingress has made: HEADER bytes at the end of OUT, and what it has not parsed."""
    rest = m[LENGTH] - m[CURSOR]
    at = _taken(ctx, m, path, port, instance, cos, header + rest)
    if at != 0:
        copy(Bytes(at), Bytes(ctx.out.data + ctx.out.used), header)
        copy(Bytes(at + header), Bytes(ctx.frame + m[CURSOR]), rest)


@native
def _clone(ctx: Context, m: Memory, session: int, path: int, frame: int, length: int) -> None:
    """Send the copies of a clone session, which need not exist."""
    key = _scratch(ctx)
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
        at = _taken(ctx, m, path, pair[0], pair[1], row.cos, length)
        if ctx.steps < 0:
            return
        if at != 0:
            copy(Bytes(at), Bytes(frame), length)
        pair = pair + 2


@native
def _taken(ctx: Context, m: Memory, path: int, port: int, instance: int, cos: int, length: int) -> int:
    """Room for the frame of a copy that waits for egress; 0 if it has no port to go to, or no steps."""
    ctx.steps -= PASS_STEPS
    if ctx.steps < 0:
        return 0
    if port == CPU and ctx.cpu_port >= 0:
        port = ctx.cpu_port
    elif port == RECIRCULATE:
        port = LOOP
    elif not below(port, LOOP):
        ctx.dropped += 1
        return 0
    return place(ctx, m, path, port, instance, cos, length)


@native
def wait_for_egress(ctx: Context, m: Memory, path: int, port: int, instance: int, cos: int, length: int) -> int:
    """Room for the frame of a copy behind all others that wait."""
    task = Task(_waiting(ctx, m, path, port, length))
    task.instance = instance
    task.cos = cos
    return int(task + 1) + task.fields


@native
def _waiting(ctx: Context, m: Memory, path: int, port: int, length: int) -> int:
    """A task with the metadata for its path; its frame is still to be written."""
    fields = carried_size(path)
    task = Task(make_waiting(ctx, 8 * Task.WORDS + fields + length))
    task.length = length
    task.port = port
    task.kind = path
    task.fields = fields
    copy(Bytes(int(task + 1)), Bytes(int(m) + carried_at(path)), fields)
    return int(task)


@native
def _wait(ctx: Context, m: Memory, path: int, port: int, frame: int, length: int) -> None:
    """Have a packet wait for another pass."""
    task = Task(_waiting(ctx, m, path, port, length))
    copy(Bytes(int(task + 1) + task.fields), Bytes(frame), length)


@native
def _take_to_egress(ctx: Context, task: Task) -> None:
    length = task.length
    port = task.port
    path = task.kind
    instance = task.instance
    cos = task.cos
    leave(ctx, length, port, path, load(ctx, task), instance, cos)


@native
def leave(ctx: Context, length: int, port: int, path: int, carried: int, instance: int, cos: int) -> None:
    """Egress of a copy whose frame is the one that is parsed, and the wire."""
    start = ctx.out.used
    if start > MOST_OUT:
        ctx.steps = -1
        return
    ctx.digests.used = ctx.digests.start
    m = Memory(ctx.top)
    code = run_egress(ctx, m, length, shown(ctx, port), path, carried, instance, cos)
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    if code == CHECK_FAILED:
        ctx.out.used = start
        _failed(ctx)
        return
    ctx.digests.start = ctx.digests.used
    rest = m[LENGTH] - m[CURSOR]
    copy(Bytes(append(ctx, offset(Context.out), rest)), Bytes(ctx.frame + m[CURSOR]), rest)
    _transmit(ctx, m, port, start)


@native
def _transmit(ctx: Context, m: Memory, port: int, start: int) -> None:
    """The end of egress, for the frame at the end of OUT."""
    length = ctx.out.used - start
    if m[DROP] != 0:
        ctx.dropped += 1
    elif port == LOOP:
        ctx.recirculations += 1
        _wait(ctx, m, RECIRCULATED, RECIRCULATE, ctx.out.data + start, length)
    else:
        ctx.packets_out += 1
        record = Words(append(ctx, offset(Context.index), 16))
        record[0] = port
        record[1] = length
    if m[CLONE] != 0:
        _clone(ctx, m, m[SESSION], CLONE_E2E, ctx.out.data + start, length)
    if m[DROP] != 0 or port == LOOP:
        ctx.out.used = start


@native
def shown(ctx: Context, port: int) -> int:
    """The number of a port for the program."""
    if port == LOOP:
        return RECIRCULATE
    return CPU if port == ctx.cpu_port else port


@native
def _scratch(ctx: Context) -> Words:
    """Room for a key: a packet memory behind the only one that is in use."""
    return Words(ctx.top + ctx.stride)


@native
def _failed(ctx: Context) -> None:
    """A block has been left at once: by a failed check, or since the packet has no more steps."""
    if ctx.steps >= 0:
        ctx.failed_checks += 1
        ctx.dropped += 1
