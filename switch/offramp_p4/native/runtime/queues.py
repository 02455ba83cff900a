# SPDX-License-Identifier: Apache-2.0
"""The queues of all ports, their schedulers and lines, as in :mod:`offramp_p4.tm.manager`."""

from __future__ import annotations

from typing import Annotated, Final

from offramp_base.native.records import At, Record, offset
from offramp_base.native.subset import Words, below, call_back, highest_bit, native
from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import (
    SwitchMemory,
)
from offramp_p4.native.runtime.heap import push
from offramp_p4.tm.config import ALL_PERCENT
from offramp_p4.tm.scheduler import QUANTUM_BYTES


class HeldBlock(Record):
    """The beginning of a block: a frame in a queue."""

    next: int  # address of the next block; out of the queue, of the queue
    frame_bytes: int  # after ingress
    enqueued_ps: int
    congested: int
    budget: int  # address of the passes that the packet and its copies may still make
    block_bytes: int
    content_bytes: int  # of the frame that comes back to the parser
    fields: int  # its field list


class QueueRecord(Record):
    """A queue. Limits that are not set are UNLIMITED."""

    limit_bytes: int
    limit_packets: int
    ecn_bytes: int
    weight: int  # 0: strict
    least: int  # guaranteed percent; 0: none
    bytes: int
    packets: int
    head: At[HeldBlock]  # address of the first block
    tail: At[HeldBlock]
    deficit: int  # of a queue with a guaranteed share: bytes times percent that it may send at once
    enqueued: int  # from here on in the order of QueueStats
    enqueued_bytes: int
    dequeued: int
    dequeued_bytes: int
    dropped: int
    dropped_bytes: int
    marked_frames: int
    peak_packets: int
    peak_bytes: int


class QueuedPort(Record):
    """A port. Behind it are the ring of its weighted queues that hold something, and its queues."""

    number: int
    rate: int  # bits per second; 0: none
    free_ps: int  # when the gap after the last frame ends
    fraction: int  # of a picosecond, in units of 1 / RATE
    scheduled: int  # it is in the heap, or one of its frames is at the head
    waiting: int  # frames in all its queues
    strict: int  # bit n: queue n is strict and holds something
    ring: Words  # address of the ring; the queue at its first place has its turn
    ring_first: int
    ring_count: int
    turn_begins: int
    queues: At[QueueRecord]  # address
    queue_count: int
    shares: int  # bit n: queue n is guaranteed a share
    reserved: Annotated[Words, 2]


UNLIMITED: Final = 1 << 62

HEAD_BYTES: Final = 64

MOST_BPS: Final = 9 * 10**12
"""The fastest line: products of rates and 10^6 fit a word."""
_MEGA: Final = 10**6
_SHORTEST: Final = wire_bytes(0)
_OVERHEAD: Final = wire_bytes(1500) - 1500


@native
def find_port(ctx: SwitchMemory, number: int) -> int:
    """The address of a port."""
    if below(number + 1, ctx.port_count):
        known = ctx.ports[number + 1]
        if known != 0:
            return known
    call_back(ctx.make_port, number, 0)
    return ctx.found_port


@native
def admit(ctx: SwitchMemory, port: QueuedPort, number: int, size: int) -> int:
    """The address of a queue if another frame fits into it; else the frame is counted as dropped, and 0."""
    if not below(number, port.queue_count):
        ctx.misdirected += 1
        return 0
    queue = port.queues[number]
    fits = queue.packets < queue.limit_packets and queue.bytes + size <= queue.limit_bytes
    if fits and ctx.held_bytes + size <= ctx.buffer_bytes:
        return int(queue)
    queue.dropped += 1
    queue.dropped_bytes += size
    return 0


@native
def enqueue(ctx: SwitchMemory, port: QueuedPort, number: int, size: int, held: HeldBlock) -> None:
    """Append a frame to a queue that has admitted it."""
    queue = port.queues[number]
    held.next = 0
    held.frame_bytes = size
    held.enqueued_ps = ctx.now_ps
    held.congested = int(queue.bytes > queue.ecn_bytes)
    if queue.packets == 0:
        queue.head = held
    else:
        queue.tail.next = int(held)
    queue.tail = held
    queue.packets += 1
    queue.bytes += size
    queue.enqueued += 1
    queue.enqueued_bytes += size
    if queue.packets > queue.peak_packets:
        queue.peak_packets = queue.packets
    if queue.bytes > queue.peak_bytes:
        queue.peak_bytes = queue.bytes
    ctx.held_bytes += size
    port.waiting += 1
    if queue.packets == 1:
        _fill(port, queue, number)
        if port.scheduled == 0:
            _schedule(ctx, port)
    _changed(ctx, port, number, queue)


@native
def _fill(port: QueuedPort, queue: QueueRecord, number: int) -> None:
    """A queue that was empty holds a frame."""
    if queue.weight == 0:
        port.strict |= 1 << number
    else:
        port.ring[(port.ring_first + port.ring_count) % port.queue_count] = number
        port.ring_count += 1


@native
def dequeue(ctx: SwitchMemory, port: QueuedPort) -> int:
    """Take out the frame whose turn it is; its block, which now has the address of the queue for NEXT."""
    number = _choose_strict(port) if port.strict != 0 else _choose_weighted(port)
    queue = port.queues[number]
    held = queue.head
    queue.head = HeldBlock(held.next)
    held.next = int(queue)
    queue.packets -= 1
    queue.bytes -= held.frame_bytes
    queue.dequeued += 1
    queue.dequeued_bytes += held.frame_bytes
    ctx.held_bytes -= held.frame_bytes
    port.waiting -= 1
    if queue.packets == 0 and queue.weight == 0:
        port.strict &= (1 << number) ^ -1
    _changed(ctx, port, number, queue)
    return int(held)


@native
def is_free(ctx: SwitchMemory, port: QueuedPort) -> bool:
    """Whether nothing waits for a port and its line is free; nor does a frame arrive, or an observer look, by now."""
    idle = port.scheduled == 0 and port.free_ps <= ctx.now_ps
    return idle and ctx.now_ps <= ctx.quiet_ps and ctx.observed == 0


@native
def pass_by(ctx: SwitchMemory, port: QueuedPort, number: int, size: int) -> int:
    """Count a frame that goes through a queue of a port that is free, at once.

    The address of the queue, or 0: the queue, or what it may hold, is such that the frame has to go the usual way.
    """
    if not below(number, port.queue_count):
        return 0
    queue = port.queues[number]
    fits = queue.limit_packets > 0 and size <= queue.limit_bytes and ctx.held_bytes + size <= ctx.buffer_bytes
    if queue.weight != 0 or not fits:
        return 0
    queue.enqueued += 1
    queue.enqueued_bytes += size
    queue.dequeued += 1
    queue.dequeued_bytes += size
    if queue.peak_packets == 0:
        queue.peak_packets = 1
    if size > queue.peak_bytes:
        queue.peak_bytes = size
    return int(queue)


@native
def _choose_strict(port: QueuedPort) -> int:
    """The highest, or one whose guaranteed share is due: as in :class:`offramp_p4.tm.scheduler.PortScheduler`."""
    number = highest_bit(port.strict)
    waiting = port.shares & port.strict
    if waiting == 0:
        return number
    left = waiting
    while left != 0:
        at = highest_bit(left)
        queue = port.queues[at]
        left &= (1 << at) ^ -1
        if queue.deficit >= line_bytes(queue.head.frame_bytes) * (ALL_PERCENT - queue.least):
            number = at
            left = 0
    sent = line_bytes(port.queues[number].head.frame_bytes)
    while waiting != 0:
        at = highest_bit(waiting)
        queue = port.queues[at]
        waiting &= (1 << at) ^ -1
        if at != number:
            queue.deficit += sent * queue.least
        elif queue.packets == 1:
            queue.deficit = 0
        else:
            rest = queue.deficit - sent * (ALL_PERCENT - queue.least)
            queue.deficit = max(rest, 0)
    return number


@native
def _choose_weighted(port: QueuedPort) -> int:
    """Deficit round robin: as in :class:`offramp_p4.tm.scheduler.PortScheduler`."""
    ring = port.ring
    number = ring[port.ring_first]
    queue = port.queues[number]
    needed = line_bytes(queue.head.frame_bytes)
    if port.turn_begins != 0:
        queue.deficit += QUANTUM_BYTES * queue.weight
        port.turn_begins = 0
    while needed > queue.deficit:
        ring[(port.ring_first + port.ring_count) % port.queue_count] = number
        port.ring_first = (port.ring_first + 1) % port.queue_count
        number = ring[port.ring_first]
        queue = port.queues[number]
        needed = line_bytes(queue.head.frame_bytes)
        queue.deficit += QUANTUM_BYTES * queue.weight
    queue.deficit -= needed
    if queue.packets == 1:
        queue.deficit = 0
        port.ring_first = (port.ring_first + 1) % port.queue_count
        port.ring_count -= 1
        port.turn_begins = 1
    return number


@native
def transmit(ctx: SwitchMemory, port: QueuedPort, size: int) -> int:
    """Occupy the line of a port, which is free, with a frame; when it is free again."""
    now_ps = ctx.now_ps
    if port.rate == 0:
        port.free_ps = now_ps
        return now_ps
    if now_ps > port.free_ps:
        port.fraction = 0
    scaled = 8 * line_bytes(size) * _MEGA
    rest = scaled % port.rate * _MEGA + port.fraction
    port.fraction = rest % port.rate
    port.free_ps = now_ps + scaled // port.rate * _MEGA + rest // port.rate
    return port.free_ps


@native
def release(ctx: SwitchMemory, port: QueuedPort) -> None:
    """The frame at the head of a port has gone."""
    port.scheduled = 0
    if port.waiting > 0:
        _schedule(ctx, port)


@native
def line_bytes(size: int) -> int:
    """:func:`offramp_base.wire.ethernet.wire_bytes`."""
    whole = size + _OVERHEAD
    return max(whole, _SHORTEST)


@native
def _schedule(ctx: SwitchMemory, port: QueuedPort) -> None:
    port.scheduled = 1
    time = ctx.now_ps
    if port.free_ps > time:
        time = port.free_ps
    push(ctx, offset(SwitchMemory.ready), time, port.number, int(port))


@native
def _changed(ctx: SwitchMemory, port: QueuedPort, number: int, queue: QueueRecord) -> None:
    """Tell an observer the depth of a queue."""
    if ctx.observed != 0:
        change = Words(append(ctx, offset(SwitchMemory.changes), 40))
        change[0] = ctx.now_ps
        change[1] = port.number
        change[2] = number
        change[3] = queue.packets
        change[4] = queue.bytes
