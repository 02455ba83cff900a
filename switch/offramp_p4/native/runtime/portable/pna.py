# SPDX-License-Identifier: Apache-2.0
"""The way of packets through a PNA card, as in :mod:`offramp_p4.portable.pna`."""

from __future__ import annotations

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, Memory, Words, below, call_back, copy, native
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.portable.pipeline import begin_pass, clone, failed, scratch, taken, wait
from offramp_p4.native.runtime.portable.program import (
    AGAIN,
    COS,
    DECRYPT,
    PARSER_ERROR,
    PASSES,
    PORT,
    RECIRCULATED,
    SENT,
    UNICAST,
    run_main,
    send,
)
from offramp_p4.native.runtime.program import CHECK_FAILED, CURSOR, LENGTH
from offramp_p4.native.runtime.waiting import MOST_OUT
from offramp_p4.portable.functions import CPU
from offramp_p4.portable.pipeline import LOOP


@native
def main_pass(ctx: SwitchMemory, length: int, port: int, path: int, carried: int) -> None:
    """One pass; a recirculated packet brings the number of its pass."""
    if begin_pass(ctx) == 0:
        return
    if ctx.now_us >= ctx.due_us:
        call_back(ctx.expire, int(ctx), 0)
    ctx.mirrors.used = 0
    number = 0
    if path == RECIRCULATED:
        number = Words(carried)[0]
    start = ctx.out.used
    m = Memory(ctx.top)
    code = run_main(ctx, m, length, port, from_host(ctx, port), number)
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    if code == CHECK_FAILED:
        failed(ctx)
    elif m[DECRYPT] != 0:  # there is nothing here that could
        ctx.dropped += 1
    else:
        ctx.digests.start = ctx.digests.used
        rest = m[LENGTH] - m[CURSOR]
        copy(Bytes(append(ctx, offset(SwitchMemory.out), rest)), Bytes(ctx.frame + m[CURSOR]), rest)
        _mirror(ctx, m, start)
        if ctx.steps >= 0:
            _route(ctx, m, port, number, start)
            return
    ctx.out.used = start


@native
def _mirror(ctx: SwitchMemory, m: Memory, start: int) -> None:
    """Send copies of the frame to the sessions asked for, in the order of their slots."""
    at = 0
    while at < ctx.mirrors.used and ctx.steps >= 0:
        session = Words(ctx.mirrors.data + at)[1]
        clone(ctx, m, session, UNICAST, ctx.out.data + start, ctx.out.used - start)
        at += 16


@native
def _route(ctx: SwitchMemory, m: Memory, port: int, number: int, start: int) -> None:
    """Recirculate, drop or send the frame at the end of OUT."""
    if m[AGAIN] != 0:
        ctx.recirculations += 1
        m[PASSES] = number + 1
        wait(ctx, m, RECIRCULATED, port, ctx.out.data + start, ctx.out.used - start)
    elif m[SENT] == 0:
        ctx.dropped += 1
    else:
        send(ctx, m, m[PORT], start)
        return
    ctx.out.used = start


@native
def send_later(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """Send the frame at the end of OUT behind all that wait."""
    length = ctx.out.used - start
    at = taken(ctx, m, UNICAST, port, 0, m[COS], length)
    if at != 0:
        copy(Bytes(at), Bytes(ctx.out.data + start), length)
    ctx.out.used = start


@native
def send_at_once(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """Leave the frame in place if nothing leaves before it."""
    number = reachable(ctx, port)
    if ctx.waiting != 0 or number < 0 or ctx.steps < PASS_STEPS:
        send_later(ctx, m, port, start)
        return
    ctx.steps -= PASS_STEPS
    _sent(ctx, number, ctx.out.used - start)


@native
def wire(ctx: SwitchMemory, length: int, port: int, _path: int, _carried: int, _instance: int, _cos: int) -> None:
    """Put a copy on the wire."""
    if ctx.out.used > MOST_OUT:
        ctx.steps = -1
        return
    copy(Bytes(append(ctx, offset(SwitchMemory.out), length)), Bytes(ctx.frame), length)
    _sent(ctx, port, length)


@native
def _sent(ctx: SwitchMemory, port: int, length: int) -> None:
    ctx.packets_out += 1
    record = Words(append(ctx, offset(SwitchMemory.index), 16))
    record[0] = port
    record[1] = length


@native
def reachable(ctx: SwitchMemory, port: int) -> int:
    """The number that queues know a port by; -1: there is none."""
    if port == CPU and ctx.cpu_port >= 0:
        return ctx.cpu_port
    return port if below(port, LOOP) else -1


@native
def from_host(ctx: SwitchMemory, port: int) -> int:
    """1 for a port towards the host."""
    key = scratch(ctx)
    key[0] = port
    return int(find(ctx.hosts.slots, ctx.hosts.mask, key, 1) != 0)


@native
def note_mirror(ctx: SwitchMemory, slot: int, session: int) -> None:
    """Ask for a mirror; the last one that a slot is asked for counts."""
    count = ctx.mirrors.used // 16
    pairs = Words(ctx.mirrors.data)
    at = 0
    while at < count and pairs[2 * at] < slot:
        at += 1
    if at < count and pairs[2 * at] == slot:
        pairs[2 * at + 1] = session
        return
    append(ctx, offset(SwitchMemory.mirrors), 16)
    pairs = Words(ctx.mirrors.data)
    for i in range(2 * count - 1, 2 * at - 1, -1):
        pairs[i + 2] = pairs[i]
    pairs[2 * at] = slot
    pairs[2 * at + 1] = session
