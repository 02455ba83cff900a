# SPDX-License-Identifier: Apache-2.0
"""The way of packets through a PSA switch, as in :mod:`offramp_p4.portable.psa`."""

from __future__ import annotations

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, Memory, Words, below, copy, native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.portable.pipeline import begin_pass, clone, failed, scratch, shown, taken, wait
from offramp_p4.native.runtime.portable.program import (
    CLONE,
    CLONE_E2E,
    CLONE_I2E,
    COS,
    DROP,
    GROUP,
    MULTICAST,
    PARSER_ERROR,
    PORT,
    RECIRCULATED,
    RESUBMIT,
    RESUBMITTED,
    SESSION,
    UNICAST,
    run_egress,
    run_ingress,
)
from offramp_p4.native.runtime.program import CHECK_FAILED, CURSOR, LENGTH
from offramp_p4.native.runtime.replicas import Replicas
from offramp_p4.native.runtime.waiting import MOST_OUT
from offramp_p4.portable.functions import CPU, RECIRCULATE
from offramp_p4.portable.pipeline import LOOP


@native
def ingress(ctx: SwitchMemory, length: int, port: int, path: int, carried: int) -> None:
    """One pass through ingress."""
    if begin_pass(ctx) == 0:
        return
    start = ctx.out.used
    m = Memory(ctx.top)
    code = run_ingress(ctx, m, length, port, path, carried, 0, 0)
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    header = ctx.out.used - start
    ctx.out.used = start
    if code == CHECK_FAILED:
        failed(ctx)
        return
    ctx.digests.start = ctx.digests.used
    if m[CLONE] != 0:
        clone(ctx, m, m[SESSION], CLONE_I2E, ctx.frame, length)
    if ctx.steps < 0:
        return
    if m[DROP] != 0:
        ctx.dropped += 1
    elif m[RESUBMIT] != 0:
        ctx.resubmissions += 1
        wait(ctx, m, RESUBMITTED, port, ctx.frame, length)
    elif m[GROUP] != 0:
        _multicast(ctx, m, header)
    else:
        _send(ctx, m, UNICAST, m[PORT], 0, m[COS], header)


@native
def _multicast(ctx: SwitchMemory, m: Memory, header: int) -> None:
    key = scratch(ctx)
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
def _send(ctx: SwitchMemory, m: Memory, path: int, port: int, instance: int, cos: int, header: int) -> None:
    """A copy of what ingress has made: HEADER bytes at the end of OUT, and what it has not parsed."""
    rest = m[LENGTH] - m[CURSOR]
    at = taken(ctx, m, path, port, instance, cos, header + rest)
    if at != 0:
        copy(Bytes(at), Bytes(ctx.out.data + ctx.out.used), header)
        copy(Bytes(at + header), Bytes(ctx.frame + m[CURSOR]), rest)


@native
def egress(ctx: SwitchMemory, length: int, port: int, path: int, carried: int, instance: int, cos: int) -> None:
    """Egress of a copy whose frame is the one that is parsed, and the wire."""
    start = ctx.out.used
    if start > MOST_OUT:
        ctx.steps = -1
        return
    ctx.digests.used = ctx.digests.start
    ctx.gathered.used = 0
    m = Memory(ctx.top)
    code = run_egress(ctx, m, length, shown(ctx, port), path, carried, instance, cos)
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    if code == CHECK_FAILED:
        ctx.out.used = start
        failed(ctx)
        return
    ctx.digests.start = ctx.digests.used
    rest = m[LENGTH] - m[CURSOR]
    copy(Bytes(append(ctx, offset(SwitchMemory.out), rest)), Bytes(ctx.frame + m[CURSOR]), rest)
    _transmit(ctx, m, port, start)


@native
def reachable(ctx: SwitchMemory, port: int) -> int:
    """The number that queues know a port by; -1: there is none."""
    if port == CPU and ctx.cpu_port >= 0:
        return ctx.cpu_port
    if port == RECIRCULATE:
        return LOOP
    return port if below(port, LOOP) else -1


@native
def _transmit(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """The end of egress, for the frame at the end of OUT."""
    length = ctx.out.used - start
    if m[DROP] != 0:
        ctx.dropped += 1
    elif port == LOOP:
        ctx.recirculations += 1
        wait(ctx, m, RECIRCULATED, RECIRCULATE, ctx.out.data + start, length)
    else:
        ctx.packets_out += 1
        record = Words(append(ctx, offset(SwitchMemory.index), 16))
        record[0] = port
        record[1] = length
    if m[CLONE] != 0:
        clone(ctx, m, m[SESSION], CLONE_E2E, ctx.out.data + start, length)
    if m[DROP] != 0 or port == LOOP:
        ctx.out.used = start
