# SPDX-License-Identifier: Apache-2.0
"""The queues of all ports, their schedulers and lines, as in :mod:`offramp_p4.tm.manager`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import (
    Context,
)
from offramp_p4.native.runtime.heap import push
from offramp_p4.native.subset import Words, below, call_back, highest_bit, native
from offramp_p4.tm.scheduler import QUANTUM_BYTES

# A port: words, then the ring of its weighted queues that hold something, then its queues.
NUMBER: Final = 0
RATE: Final = 1  # bits a second; 0: none
FREE_PS: Final = 2  # when the gap after the last frame ends
FRACTION: Final = 3  # of a picosecond, in units of 1 / RATE
SCHEDULED: Final = 4  # it is in the heap, or one of its frames is at the head
WAITING: Final = 5  # frames in all its queues
STRICT: Final = 6  # bit n: queue n is strict and holds something
RING: Final = 7  # address of the ring; the queue at its first place has its turn
RING_FIRST: Final = 8
RING_COUNT: Final = 9
TURN_BEGINS: Final = 10
QUEUES: Final = 11  # address
QUEUE_COUNT: Final = 12
PORT_WORDS: Final = 16

# A queue. Limits that are not set are UNLIMITED.
LIMIT_BYTES: Final = 0
LIMIT_PACKETS: Final = 1
ECN_BYTES: Final = 2
WEIGHT: Final = 3  # 0: strict
BYTES: Final = 4
PACKETS: Final = 5
HEAD: Final = 6  # address of the first block
TAIL: Final = 7
DEFICIT: Final = 8
ENQUEUED: Final = 9  # from here on in the order of QueueStats
ENQUEUED_BYTES: Final = 10
DEQUEUED: Final = 11
DEQUEUED_BYTES: Final = 12
DROPPED: Final = 13
DROPPED_BYTES: Final = 14
MARKED_FRAMES: Final = 15
PEAK_PACKETS: Final = 16
PEAK_BYTES: Final = 17
QUEUE_WORDS: Final = 18
UNLIMITED: Final = 1 << 62

# A frame in a queue: a block that begins with these words.
NEXT: Final = 0  # address of the next block; out of the queue, of the queue
FRAME_BYTES: Final = 1  # after ingress
ENQUEUED_PS: Final = 2
CONGESTED: Final = 3
BUDGET: Final = 4  # address of the passes that the packet and its copies may still make
BLOCK_BYTES: Final = 5
CONTENT_BYTES: Final = 6  # of the frame that comes back to the parser
FIELDS: Final = 7  # its field list
HEAD_BYTES: Final = 64

MOST_BPS: Final = 9 * 10**12
"""The fastest line: products of rates and 10^6 fit a word."""
_MEGA: Final = 10**6
_SHORTEST: Final = wire_bytes(0)
_OVERHEAD: Final = wire_bytes(1500) - 1500


@native
def find_port(ctx: Context, number: int) -> int:
    """The address of a port."""
    if below(number + 1, ctx.port_count):
        known = ctx.ports[number + 1]
        if known != 0:
            return known
    call_back(ctx.make_port, number, 0)
    return ctx.found_port


@native
def admit(ctx: Context, port: Words, number: int, size: int) -> int:
    """The address of a queue if another frame fits into it; else the frame is counted as dropped, and 0."""
    if not below(number, port[QUEUE_COUNT]):
        ctx.misdirected += 1
        return 0
    queue = Words(port[QUEUES]) + number * QUEUE_WORDS
    fits = queue[PACKETS] < queue[LIMIT_PACKETS] and queue[BYTES] + size <= queue[LIMIT_BYTES]
    if fits and ctx.held_bytes + size <= ctx.buffer_bytes:
        return int(queue)
    queue[DROPPED] += 1
    queue[DROPPED_BYTES] += size
    return 0


@native
def enqueue(ctx: Context, port: Words, number: int, size: int, held: Words) -> None:
    """Append a frame to a queue that has admitted it."""
    queue = Words(port[QUEUES]) + number * QUEUE_WORDS
    held[NEXT] = 0
    held[FRAME_BYTES] = size
    held[ENQUEUED_PS] = ctx.now_ps
    held[CONGESTED] = int(queue[BYTES] > queue[ECN_BYTES])
    if queue[PACKETS] == 0:
        queue[HEAD] = int(held)
    else:
        Words(queue[TAIL])[NEXT] = int(held)
    queue[TAIL] = int(held)
    queue[PACKETS] += 1
    queue[BYTES] += size
    queue[ENQUEUED] += 1
    queue[ENQUEUED_BYTES] += size
    if queue[PACKETS] > queue[PEAK_PACKETS]:
        queue[PEAK_PACKETS] = queue[PACKETS]
    if queue[BYTES] > queue[PEAK_BYTES]:
        queue[PEAK_BYTES] = queue[BYTES]
    ctx.held_bytes += size
    port[WAITING] += 1
    if queue[PACKETS] == 1:
        _fill(port, queue, number)
        if port[SCHEDULED] == 0:
            _schedule(ctx, port)
    _changed(ctx, port, number, queue)


@native
def _fill(port: Words, queue: Words, number: int) -> None:
    """A queue that was empty holds a frame."""
    if queue[WEIGHT] == 0:
        port[STRICT] |= 1 << number
    else:
        Words(port[RING])[(port[RING_FIRST] + port[RING_COUNT]) % port[QUEUE_COUNT]] = number
        port[RING_COUNT] += 1


@native
def dequeue(ctx: Context, port: Words) -> int:
    """Take out the frame whose turn it is; its block, which now has the address of the queue for NEXT."""
    number = highest_bit(port[STRICT]) if port[STRICT] != 0 else _choose_weighted(port)
    queue = Words(port[QUEUES]) + number * QUEUE_WORDS
    held = Words(queue[HEAD])
    queue[HEAD] = held[NEXT]
    held[NEXT] = int(queue)
    queue[PACKETS] -= 1
    queue[BYTES] -= held[FRAME_BYTES]
    queue[DEQUEUED] += 1
    queue[DEQUEUED_BYTES] += held[FRAME_BYTES]
    ctx.held_bytes -= held[FRAME_BYTES]
    port[WAITING] -= 1
    if queue[PACKETS] == 0 and queue[WEIGHT] == 0:
        port[STRICT] &= (1 << number) ^ -1
    _changed(ctx, port, number, queue)
    return int(held)


@native
def _choose_weighted(port: Words) -> int:
    """Deficit round robin: as in :class:`offramp_p4.tm.scheduler.Scheduler`."""
    ring = Words(port[RING])
    number = ring[port[RING_FIRST]]
    queue = Words(port[QUEUES]) + number * QUEUE_WORDS
    needed = line_bytes(Words(queue[HEAD])[FRAME_BYTES])
    if port[TURN_BEGINS] != 0:
        queue[DEFICIT] += QUANTUM_BYTES * queue[WEIGHT]
        port[TURN_BEGINS] = 0
    while needed > queue[DEFICIT]:
        ring[(port[RING_FIRST] + port[RING_COUNT]) % port[QUEUE_COUNT]] = number
        port[RING_FIRST] = (port[RING_FIRST] + 1) % port[QUEUE_COUNT]
        number = ring[port[RING_FIRST]]
        queue = Words(port[QUEUES]) + number * QUEUE_WORDS
        needed = line_bytes(Words(queue[HEAD])[FRAME_BYTES])
        queue[DEFICIT] += QUANTUM_BYTES * queue[WEIGHT]
    queue[DEFICIT] -= needed
    if queue[PACKETS] == 1:
        queue[DEFICIT] = 0
        port[RING_FIRST] = (port[RING_FIRST] + 1) % port[QUEUE_COUNT]
        port[RING_COUNT] -= 1
        port[TURN_BEGINS] = 1
    return number


@native
def transmit(ctx: Context, port: Words, size: int) -> int:
    """Occupy the line of a port, which is free, with a frame; when it is free again."""
    now_ps = ctx.now_ps
    if port[RATE] == 0:
        port[FREE_PS] = now_ps
        return now_ps
    if now_ps > port[FREE_PS]:
        port[FRACTION] = 0
    scaled = 8 * line_bytes(size) * _MEGA
    rest = scaled % port[RATE] * _MEGA + port[FRACTION]
    port[FRACTION] = rest % port[RATE]
    port[FREE_PS] = now_ps + scaled // port[RATE] * _MEGA + rest // port[RATE]
    return port[FREE_PS]


@native
def release(ctx: Context, port: Words) -> None:
    """The frame at the head of a port has gone."""
    port[SCHEDULED] = 0
    if port[WAITING] > 0:
        _schedule(ctx, port)


@native
def line_bytes(size: int) -> int:
    """:func:`offramp_base.wire.ethernet.wire_bytes`."""
    whole = size + _OVERHEAD
    return max(whole, _SHORTEST)


@native
def _schedule(ctx: Context, port: Words) -> None:
    port[SCHEDULED] = 1
    time = ctx.now_ps
    if port[FREE_PS] > time:
        time = port[FREE_PS]
    push(ctx, offset(Context.ready), time, port[NUMBER], int(port))


@native
def _changed(ctx: Context, port: Words, number: int, queue: Words) -> None:
    """Tell an observer the depth of a queue."""
    if ctx.observed != 0:
        change = Words(append(ctx, offset(Context.changes), 40))
        change[0] = ctx.now_ps
        change[1] = port[NUMBER]
        change[2] = number
        change[3] = queue[PACKETS]
        change[4] = queue[BYTES]
