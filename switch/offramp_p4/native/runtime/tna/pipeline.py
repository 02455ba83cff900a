# SPDX-License-Identifier: Apache-2.0
"""The way of packets through a Tofino, as in :mod:`offramp_p4.tna.pipeline`.

One packet memory is enough: what the chip reads behind ingress is read before egress begins.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, Ints, Memory, Words, below, clear, copy, native
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.native.runtime.buffers import append, room
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CHECK_FAILED, CURSOR, FAULTED, LENGTH
from offramp_p4.native.runtime.tna.program import (
    BYPASS,
    COS,
    CPU_COS,
    DROP,
    GROUP_A,
    GROUP_B,
    MIRROR,
    MIRROR_DATA,
    MIRROR_SESSION,
    MIRROR_SIZE,
    PARSER_ERROR,
    PORT,
    QUEUE,
    RESUBMIT,
    RESUBMIT_DATA,
    RESUBMIT_SIZE,
    RID,
    TO_CPU,
    deliver,
    egress_front,
    ingress_front,
    run_egress,
    run_ingress,
    write_egress_header,
    write_ingress_header,
)
from offramp_p4.native.runtime.tna.replication import (
    EgressCopyRecord,
    MirrorSessionRecord,
    add_copies,
    add_copy,
    find_session,
)
from offramp_p4.native.runtime.waiting import MOST_OUT, Waiting, end_steps, make_waiting, next_waiting, none_waits
from offramp_p4.tna.generator import PATTERN_BYTES
from offramp_p4.tna.metadata import UNSET_PORT
from offramp_p4.tna.ports import CHANNEL_PORTS, PORTS_PER_PIPE

FRESH: Final = 0
_RESUBMITTED: Final = 1
_MIRRORED: Final = 2
_MASK48: Final = (1 << 48) - 1
_FAR: Final = 1 << 62
# Bits of drop_ctl.
_NO_PACKET: Final = 1
_NO_CPU_COPY: Final = 2
_NO_MIRROR: Final = 4


class TnaTask(Waiting):
    """A packet at the entry of ingress, or a mirrored one before egress; FIELDS are bytes of data in front of it."""

    rid: int
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
def _run(ctx: SwitchMemory, packet: int, length: int, port: int) -> None:
    ctx.packets_in += 1
    ctx.steps = ctx.max_steps
    ctx.enqueued_us = ctx.now_us
    none_waits(ctx)
    left = ctx.max_passes - 1
    enter(ctx, packet, length, port, FRESH, 0, 0)
    while ctx.waiting > 0 and ctx.steps >= 0:
        if left <= 0:
            ctx.looped += ctx.waiting
            ctx.waiting = 0
            break
        left -= 1
        take_up(ctx, TnaTask(next_waiting(ctx)))
    end_steps(ctx)


@native
def take_up(ctx: SwitchMemory, task: TnaTask) -> None:
    """Go on with a packet that has waited."""
    data = int(task + 1)
    packet = data + task.fields
    if task.kind != _MIRRORED:
        enter(ctx, packet, task.length, task.port, task.kind, data, task.fields)
        return
    size = task.fields + task.length
    port = task.port
    rid = task.rid
    cos = task.cos
    front = egress_front()
    copy(Bytes(room(ctx, offset(SwitchMemory.held), 0, front + size) + front), Bytes(data), size)
    ctx.current = _FAR
    deliver(ctx, size, port, rid, 0, 0, cos, 0)


# --- ingress


@native
def enter(ctx: SwitchMemory, packet: int, length: int, port: int, kind: int, data: int, size: int) -> None:
    """One pass through ingress, and the egress of every copy that results."""
    ctx.passes += 1
    ctx.steps -= PASS_STEPS
    if ctx.steps < 0:
        return
    ctx.digests.used = ctx.digests.start
    m = Memory(ctx.top)
    front = ingress_front()
    frame = room(ctx, offset(SwitchMemory.arrival), 0, front + length)
    _write_front(ctx, frame, port, kind, data, size)
    copy(Bytes(frame + front), Bytes(packet), length)
    ctx.current = _FAR
    ctx.frame = frame
    start = ctx.out.used
    channel = port % PORTS_PER_PIPE // CHANNEL_PORTS
    code = run_ingress(ctx, m, _pipe(ctx, port), front + length, length, channel)
    if code == CHECK_FAILED:
        ctx.out.used = start
        return
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    if code == FAULTED:
        ctx.dropped += 1
        return
    ctx.digests.start = ctx.digests.used
    _mirror(ctx, m, frame + front, length)
    if m[RESUBMIT] != 0 and m[DROP] & _NO_PACKET == 0:
        ctx.out.used = start
        _resubmit(ctx, m, frame + front, length, port, kind)
        return
    _choose_copies(ctx, m)
    _forward(ctx, m, start)


@native
def _write_front(ctx: SwitchMemory, frame: int, port: int, kind: int, data: int, size: int) -> None:
    """Write what the parser sees before the packet: intrinsic metadata, then data of a resubmission or of the port."""
    front = ingress_front()
    at = write_ingress_header(Bytes(frame), int(kind == _RESUBMITTED), port, ctx.now_us * 1000 & _MASK48)
    if kind != _RESUBMITTED:
        size = 0
        if below(port, ctx.port_data_count):
            size = front - at
            data = int(ctx.port_data + port * size)
    copy(Bytes(frame + at), Bytes(data), size)
    clear(Bytes(frame + at + size), front - at - size)


@native
def _resubmit(ctx: SwitchMemory, m: Memory, packet: int, length: int, port: int, kind: int) -> None:
    if kind == _RESUBMITTED:  # a packet is resubmitted once
        ctx.looped += 1
        return
    ctx.resubmissions += 1
    _wait(ctx, _RESUBMITTED, port, int(m) + RESUBMIT_DATA, m[RESUBMIT_SIZE], packet, length)


@native
def _choose_copies(ctx: SwitchMemory, m: Memory) -> None:
    ctx.copies.used = 0
    if m[DROP] & _NO_PACKET == 0:
        if m[PORT] != UNSET_PORT:
            add_copy(ctx, m[PORT], m[RID], 0, m[QUEUE], m[COS])
        if m[GROUP_A] != 0:
            add_copies(ctx, m, m[GROUP_A], m[QUEUE], m[COS])
        if m[GROUP_B] != 0:
            add_copies(ctx, m, m[GROUP_B], m[QUEUE], m[COS])
    if m[TO_CPU] != 0 and m[DROP] & _NO_CPU_COPY == 0 and ctx.cpu_port >= 0:
        add_copy(ctx, ctx.cpu_port, 0, 0, 0, m[CPU_COS])
    ctx.dropped += int(ctx.copies.used == 0)


@native
def _forward(ctx: SwitchMemory, m: Memory, start: int) -> None:
    """Put headers and rest of the packet together behind room for egress, and send the copies there."""
    header = ctx.out.used - start
    ctx.out.used = start
    if ctx.copies.used == 0:
        return
    rest = m[LENGTH] - m[CURSOR]
    front = egress_front()
    at = room(ctx, offset(SwitchMemory.held), 0, front + header + rest) + front
    copy(Bytes(at), Bytes(ctx.out.data + start), header)
    copy(Bytes(at + header), Bytes(ctx.frame + m[CURSOR]), rest)
    bypass = m[BYPASS]
    for i in range(ctx.copies.used // (8 * EgressCopyRecord.WORDS)):
        copied = EgressCopyRecord(ctx.copies.data) + i
        deliver(ctx, header + rest, copied.port, copied.rid, copied.first, copied.queue, copied.cos, bypass)
        if ctx.steps < 0:
            return


# --- egress


@native
def leave(ctx: SwitchMemory, size: int, port: int, rid: int, first: int, queue: int, cos: int, bypass: int) -> None:
    """Egress of one copy of what is held, and the wire."""
    ctx.steps -= PASS_STEPS
    start = ctx.out.used
    if ctx.steps < 0 or start > MOST_OUT:
        ctx.steps = -1
        return
    front = egress_front()
    if bypass != 0:
        copy(Bytes(append(ctx, offset(SwitchMemory.out), size)), Bytes(ctx.held.data + front), size)
        _send(ctx, port, start)
        return
    if _exists(ctx, port) == 0:
        ctx.dropped += 1
        return
    m = Memory(ctx.top)
    ctx.frame = ctx.held.data
    write_egress_header(
        Bytes(ctx.frame),
        port,
        ctx.enqueued_us * 1000,
        ctx.found_cells,
        ctx.waited_us * 1000,
        ctx.left_cells,
        rid,
        first,
        queue,
        cos,
        size & 0xFFFF,
    )
    channel = port % PORTS_PER_PIPE // CHANNEL_PORTS
    if run_egress(ctx, m, _pipe(ctx, port), front + size, size, channel) == CHECK_FAILED:
        ctx.out.used = start
        return
    ctx.parse_errors += int(m[PARSER_ERROR] != 0)
    rest = m[LENGTH] - m[CURSOR]
    copy(Bytes(append(ctx, offset(SwitchMemory.out), rest)), Bytes(ctx.frame + m[CURSOR]), rest)
    _mirror(ctx, m, ctx.out.data + start, ctx.out.used - start)
    if m[DROP] & _NO_PACKET != 0:
        ctx.dropped += 1
        ctx.out.used = start
        return
    _send(ctx, port, start)


@native
def _send(ctx: SwitchMemory, port: int, start: int) -> None:
    """Send the frame at the end of OUT."""
    length = ctx.out.used - start
    if _exists(ctx, port) == 0:
        ctx.dropped += 1
        ctx.out.used = start
    elif below(port, ctx.loop_count) and ctx.loops[port] != 0:
        ctx.recirculations += 1
        ctx.out.used = start
        if ctx.pattern_count != 0:
            _match_patterns(ctx, port, Bytes(ctx.out.data + start), length)
        _wait(ctx, FRESH, port, 0, 0, ctx.out.data + start, length)
    else:
        ctx.packets_out += 1
        record = Words(append(ctx, offset(SwitchMemory.index), 16))
        record[0] = port
        record[1] = length


@native
def _match_patterns(ctx: SwitchMemory, port: int, frame: Bytes, length: int) -> None:
    """Note a packet that wakes the packet generator."""
    head = 0
    for i in range(PATTERN_BYTES):
        head = head << 8 | (frame[i] if i < length else 0)
    row = ctx.patterns
    for _ in range(ctx.pattern_count):
        if row[0] == port and (head ^ row[1]) & row[2] == 0:
            note = Words(append(ctx, offset(SwitchMemory.triggers), 24))
            note[0] = port
            note[1] = head
            note[2] = ctx.now_us
            return
        row = row + 3


# --- what both have


@native
def _wait(ctx: SwitchMemory, kind: int, port: int, data: int, size: int, packet: int, length: int) -> TnaTask:
    """Have a packet wait with data in front of it; addresses are of places outside of the queue."""
    task = TnaTask(make_waiting(ctx, 8 * TnaTask.WORDS + size + length))
    task.length = length
    task.port = port
    task.kind = kind
    task.fields = size
    copy(Bytes(int(task + 1)), Bytes(data), size)
    copy(Bytes(int(task + 1) + size), Bytes(packet), length)
    return task


@native
def _mirror(ctx: SwitchMemory, m: Memory, packet: int, length: int) -> None:
    """Queue the copies of the mirror session that a deparser has asked for."""
    if m[MIRROR] == 0 or m[DROP] & _NO_MIRROR != 0:
        return
    address = find_session(ctx, m[MIRROR_SESSION])
    if address == 0:
        return
    session = MirrorSessionRecord(address)
    size = m[MIRROR_SIZE]
    most = session.most_bytes
    if most != 0 and size + length > most:
        size = min(size, most)
        length = most - size
        ctx.truncated += 1
    ctx.clones += session.count
    pair = session.pairs
    for _ in range(session.count):
        task = _wait(ctx, _MIRRORED, pair[0], int(m) + MIRROR_DATA, size, packet, length)
        task.rid = pair[1]
        task.cos = session.cos
        pair = pair + 2


@native
def _exists(ctx: SwitchMemory, port: int) -> int:
    return int(below(port, ctx.chip_ports) or port == ctx.cpu_port)


@native
def _pipe(ctx: SwitchMemory, port: int) -> int:
    """The pipe of a port; a CPU port beyond them is in the first."""
    return port // PORTS_PER_PIPE if below(port, ctx.chip_ports) else 0
