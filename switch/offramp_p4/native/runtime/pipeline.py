# SPDX-License-Identifier: Apache-2.0
"""The way of packets through simple_switch, as in :mod:`offramp_p4.v1model.pipeline`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.native.subset import Bytes, Memory, Words, copy, inlined, native
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.native.runtime.again import (
    Again,
    keep_headers,
    parsed_before,
    start_parsed,
    start_unchanged,
    unchanged,
    wait_other,
    wait_same,
    wait_unchanged,
)
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import DepartingFrame, SwitchMemory
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.program import (
    CHECK_FAILED,
    CHECKSUM_ERROR,
    CHECKSUM_WRONG,
    CLONE,
    CLONE_FIELDS,
    CLONE_SESSION,
    CURSOR,
    DONE,
    EGRESS_PORT,
    EGRESS_SPEC,
    EGRESS_TIME,
    FAULT,
    FAULTED,
    GROUP,
    GROWTH,
    INGRESS_PORT,
    INGRESS_TIME,
    INSTANCE_TYPE,
    LENGTH,
    PACKET_LENGTH,
    PARSER_ERROR,
    RECIRCULATE,
    RECIRCULATE_FIELDS,
    REPLICATION_ID,
    RESUBMIT,
    RESUBMIT_FIELDS,
    TRUNCATE,
    compute,
    deliver,
    deliver_only,
    deparse,
    duplicate_headers,
    duplicate_memory,
    egress,
    fields_size,
    ingress,
    parse,
    reset_metadata,
    restore_fields,
    send,
    start_memory,
    transfer_fields,
    verify,
)
from offramp_p4.native.runtime.replicas import Replicas
from offramp_p4.native.runtime.waiting import MOST_OUT

NORMAL: Final = 0
INGRESS_CLONE: Final = 1
EGRESS_CLONE: Final = 2
RECIRCULATED: Final = 4
REPLICATED: Final = 5
RESUBMITTED: Final = 6
_MASK48: Final = (1 << 48) - 1
NO_FIELDS: Final = 0
"""The field list that is empty, whatever its number."""


@native
def pass_again(ctx: SwitchMemory, waiting: int) -> None:
    """The pass of a packet that has waited."""
    at = Again(waiting)
    saved = int(at + 1)
    ctx.frame = at.frame
    if at.frame == 0:
        ctx.frame = saved + fields_size(at.fields)
    pass_ingress(ctx, at.length, at.port, at.kind, 1, at.fields, saved)


@native
def pass_unchanged(ctx: SwitchMemory) -> None:
    """The pass of a packet that has waited with the headers that are kept."""
    ctx.steps -= PASS_STEPS
    if ctx.steps < 0:
        return
    m = Memory(_take_memory(ctx))
    ctx.digests.used = ctx.digests.start
    length = start_unchanged(ctx, m)
    _describe(ctx, m, length, 0)
    m[INSTANCE_TYPE] = RECIRCULATED
    if _verified(ctx, m):
        _pass_ingress(ctx, m, length, 0)
    ctx.top = int(m)


@native
def _take_memory(ctx: SwitchMemory) -> int:
    """The address of a packet memory; 0 when copies of copies have used up all."""
    taken = ctx.top
    if taken == ctx.limit:
        ctx.looped += 1
        return 0
    ctx.top = taken + ctx.stride
    return taken


@native
def pass_ingress(ctx: SwitchMemory, length: int, port: int, kind: int, restore: int, fields: int, saved: int) -> None:
    """One pass through parser and ingress, and the egress of every copy that results."""
    ctx.steps -= PASS_STEPS
    if ctx.steps < 0:
        return
    m = Memory(_take_memory(ctx))
    _pass_with(ctx, m, length, port, kind, restore, fields, saved)
    ctx.top = int(m)


@native
def _pass_with(
    ctx: SwitchMemory, m: Memory, length: int, port: int, kind: int, restore: int, fields: int, saved: int
) -> None:
    ctx.digests.used = ctx.digests.start
    if _parsed(ctx, m, length, port, kind, restore, fields, saved) == 0:
        _pass_ingress(ctx, m, length, port)


@native
def _pass_ingress(ctx: SwitchMemory, m: Memory, length: int, port: int) -> None:
    """Ingress, and the egress of every copy that results."""
    ctx.passes += 1
    if ingress(ctx, m) == CHECK_FAILED:
        _failed(ctx)
        return
    ctx.digests.start = ctx.digests.used
    if m[CLONE] != 0:
        _clone_ingress(ctx, m, length, port)
    if m[RESUBMIT] != 0:
        ctx.resubmissions += 1
        wait_same(ctx, m, length, RESUBMITTED, m[RESUBMIT_FIELDS])
        return
    if m[GROUP] != 0:
        m[INSTANCE_TYPE] = REPLICATED
        _multicast(ctx, m, m[GROUP])
        return
    leaving = m[EGRESS_SPEC]
    if leaving == ctx.drop_port:
        ctx.dropped += 1
        return
    m[INSTANCE_TYPE] = NORMAL
    deliver_only(ctx, m, leaving)


@native
def _parsed(
    ctx: SwitchMemory, m: Memory, length: int, port: int, kind: int, restore: int, fields: int, saved: int
) -> int:
    """Fresh memory after the parser and the verification of checksums; 1 if the packet has ended there."""
    known = parsed_before(ctx, length)
    if known:
        start_parsed(ctx, m)
    else:
        start_memory(m)
    _describe(ctx, m, length, port)
    if restore != 0:
        restore_fields(m, Bytes(saved), fields)
    m[INSTANCE_TYPE] = kind
    code = DONE
    if not known:
        code = parse(ctx, m)
    if code == DONE and not known:
        keep_headers(ctx, m)
    if code == FAULTED:
        m[PARSER_ERROR] = m[FAULT]
        ctx.parse_errors += 1
    if code == CHECK_FAILED:
        _failed(ctx)
        return 1
    return 0 if _verified(ctx, m) else 1


@inlined
def _describe(ctx: SwitchMemory, m: Memory, length: int, port: int) -> None:
    """Set what is known of a packet before it is parsed."""
    ctx.whole = 0
    m[LENGTH] = length
    m[INGRESS_PORT] = port
    m[PACKET_LENGTH] = length
    m[INGRESS_TIME] = ctx.now_us & _MASK48


@inlined
def _verified(ctx: SwitchMemory, m: Memory) -> bool:
    """Run the verification of checksums; whether the packet goes on."""
    if verify(ctx, m) == CHECK_FAILED:
        _failed(ctx)
        return False
    if m[CHECKSUM_WRONG] != 0:
        m[CHECKSUM_ERROR] = 1
        ctx.checksum_errors += 1
    return True


@native
def leave(ctx: SwitchMemory, m: Memory, port: int) -> None:
    """Egress and what follows it, for one copy."""
    m[EGRESS_PORT] = port
    m[EGRESS_SPEC] = (ctx.drop_port + 1) & 0x1FF
    m[PACKET_LENGTH] = m[LENGTH] + m[GROWTH]
    m[EGRESS_TIME] = ctx.now_us & _MASK48
    m[CLONE] = 0
    if egress(ctx, m) == CHECK_FAILED:
        _failed(ctx)
        return
    if m[CLONE] != 0:
        _clone_egress(ctx, m)
    if m[EGRESS_SPEC] == ctx.drop_port:
        ctx.dropped += 1
        return
    start = ctx.out.used
    if start > MOST_OUT:
        ctx.steps = -1
        return
    ctx.out.start = start
    if compute(ctx, m) == CHECK_FAILED:
        _failed(ctx)
        return
    if m[RECIRCULATE] != 0 and unchanged(ctx, m):
        ctx.recirculations += 1
        wait_unchanged(ctx, m, RECIRCULATED, m[RECIRCULATE_FIELDS])
        return
    if deparse(ctx, m) == CHECK_FAILED:
        ctx.out.used = start
        _failed(ctx)
        return
    send(ctx, m, port, start)


@native
def send_whole(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """Put the rest of the frame behind its headers, and note where it goes."""
    length = _whole(ctx, m, start)
    if m[RECIRCULATE] != 0:
        _recirculate(ctx, m, start, length)
        return
    ctx.packets_out += 1
    record = Words(append(ctx, offset(SwitchMemory.index), 16))
    record[0] = port
    record[1] = length


@native
def send_head(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """Send the headers and note the rest of the frame, which stays in place. Waiting frames leave as a whole."""
    skipped = -1
    rest = 0
    if m[RECIRCULATE] != 0:
        _recirculate(ctx, m, start, _whole(ctx, m, start))
        return
    if ctx.frame != ctx.origin:
        head = _whole(ctx, m, start)
    else:
        skipped = m[CURSOR]
        rest = m[LENGTH] - skipped
        head = ctx.out.used - start
        if head + rest > m[TRUNCATE]:
            ctx.truncated += 1
            if head > m[TRUNCATE]:
                head = m[TRUNCATE]
                ctx.out.used = start + head
            rest = m[TRUNCATE] - head
    ctx.packets_out += 1
    leaving = DepartingFrame(append(ctx, offset(SwitchMemory.index), 8 * DepartingFrame.WORDS))
    leaving.port = port
    leaving.head = head
    leaving.number = ctx.number
    leaving.skipped = skipped
    leaving.rest = rest


@native
def _whole(ctx: SwitchMemory, m: Memory, start: int) -> int:
    """Put the rest of the frame behind its headers in OUT, which begin at START; the bytes of both."""
    rest = m[LENGTH] - m[CURSOR]
    copy(Bytes(append(ctx, offset(SwitchMemory.out), rest)), Bytes(ctx.frame + m[CURSOR]), rest)
    length = ctx.out.used - start
    if length > m[TRUNCATE]:
        length = m[TRUNCATE]
        ctx.out.used = start + length
        ctx.truncated += 1
    return length


@native
def _recirculate(ctx: SwitchMemory, m: Memory, start: int, length: int) -> None:
    """Have the frame that begins at START in OUT wait for another pass."""
    ctx.recirculations += 1
    ctx.out.used = start
    wait_other(ctx, m, ctx.out.data + start, length, RECIRCULATED, m[RECIRCULATE_FIELDS])


@native
def _multicast(ctx: SwitchMemory, m: Memory, group: int) -> None:
    key = Words(ctx.top)  # scratch space: packet memories are larger than a key
    if ctx.top == ctx.limit:
        ctx.looped += 1
        return
    key[0] = group
    number = find(ctx.groups.slots, ctx.groups.mask, key, 1)
    if number == 0:
        ctx.dropped += 1
        return
    _replicate(ctx, m, ctx.groups.rows + Replicas.WORDS * (number - 1))


@native
def _replicate(ctx: SwitchMemory, m: Memory, row: Words) -> None:
    """Send the copies of a row: address of its (port, replication id) pairs, and their number."""
    replica = Words(row[0])
    count = row[1]
    if count == 0:
        ctx.dropped += 1
    ctx.replicas += count
    for _ in range(count):
        ctx.steps -= PASS_STEPS
        if ctx.steps < 0:
            return
        taken = _take_memory(ctx)
        if taken == 0:
            return
        duplicate_memory(Memory(taken), m)
        Memory(taken)[REPLICATION_ID] = replica[1]
        deliver(ctx, Memory(taken), replica[0])
        ctx.top = taken
        replica = replica + 2


@native
def _session(ctx: SwitchMemory, session: int) -> int:
    """The address of the row of a clone session; 0 if there is none."""
    if ctx.top == ctx.limit:
        ctx.looped += 1
        return 0
    key = Words(ctx.top)
    key[0] = session
    number = find(ctx.sessions.slots, ctx.sessions.mask, key, 1)
    return 0 if number == 0 else int(ctx.sessions.rows + Replicas.WORDS * (number - 1))


@native
def _clone_ingress(ctx: SwitchMemory, m: Memory, length: int, port: int) -> None:
    """A clone of the packet as it came in, parsed again; of the metadata only the field list is kept."""
    m[CLONE] = 0
    row = _session(ctx, m[CLONE_SESSION])
    if row == 0:
        return
    taken = _take_memory(ctx)
    if taken == 0:
        return
    clone = Memory(taken)
    if _parsed(ctx, clone, length, port, NORMAL, 0, NO_FIELDS, 0) == 0:
        reset_metadata(clone)
        transfer_fields(clone, m, m[CLONE_FIELDS])
        clone[INSTANCE_TYPE] = INGRESS_CLONE
        _send_clones(ctx, clone, Words(row))
    ctx.top = taken


@native
def _clone_egress(ctx: SwitchMemory, m: Memory) -> None:
    """A clone of the packet as egress has left it, which starts with egress."""
    m[CLONE] = 0
    row = _session(ctx, m[CLONE_SESSION])
    if row == 0:
        return
    taken = _take_memory(ctx)
    if taken == 0:
        return
    clone = Memory(taken)
    start_memory(clone)
    duplicate_headers(clone, m)
    transfer_fields(clone, m, m[CLONE_FIELDS])
    clone[INSTANCE_TYPE] = EGRESS_CLONE
    _send_clones(ctx, clone, Words(row))
    ctx.top = taken


@native
def _send_clones(ctx: SwitchMemory, m: Memory, row: Words) -> None:
    ctx.clones += row[1]
    if row[2] != 0:
        m[TRUNCATE] = row[2]
    _replicate(ctx, m, row)


@native
def _failed(ctx: SwitchMemory) -> None:
    """A block has been left at once: by a failed check, or since the packet has no more steps."""
    if ctx.steps >= 0:
        ctx.failed_checks += 1
        ctx.dropped += 1
