# SPDX-License-Identifier: Apache-2.0
"""Queues of packets on links: chains of blocks with one writer and one reader, possibly in different threads.

A slot whose time is 0 is empty; the writer fills in the time last, the reader clears it. A block is filled once, read
once, and returned to the partition that fills it.
"""

from __future__ import annotations

from offramp_base.native.subset import Words, inlined, native, observe, publish
from offramp_sim.packets.layout import (
    BLOCK_BYTES,
    BLOCK_MASK,
    NEVER_PS,
    PACKET_BYTES,
    PacketRecord,
    PartitionState,
    PortRecord,
)


@native
def _take_block(ctx: PartitionState) -> int:
    """Take an empty block and return its address; the main loop has made sure that there is one."""
    ctx.blocks_left -= 1
    block = ctx.free_block
    if block == 0:
        block = ctx.fresh
        ctx.fresh = block + BLOCK_BYTES
    else:
        ctx.free_block = Words(block)[0]
    Words(block)[0] = 0
    return block


@inlined
def enqueue(ctx: PartitionState, port: PortRecord, time: int, label: int, subject: int, extra: int) -> None:
    """Put a packet on a link, behind those that arrive before it."""
    write = port.write
    if write & BLOCK_MASK == 0:
        block = _take_block(ctx)
        publish(Words(write - BLOCK_BYTES), block)
        write = block + PACKET_BYTES
    slot = PacketRecord(write)
    slot.label = label
    slot.subject = subject
    slot.extra = extra
    publish(Words(write), time)
    port.write = write + PACKET_BYTES


@inlined
def head_time(read: int) -> int:
    """Arrival time of the packet in a slot; NEVER_PS if there is none yet."""
    if read & BLOCK_MASK == 0:
        block = observe(Words(read - BLOCK_BYTES))
        if block == 0:
            return NEVER_PS
        read = block + PACKET_BYTES
    time = observe(Words(read))
    return time if time != 0 else NEVER_PS


@inlined
def slot_of(ctx: PartitionState, port: int, read: int) -> int:
    """The slot at or behind an address; a block that has been read to its end retires."""
    if read & BLOCK_MASK != 0:
        return read
    block = read - BLOCK_BYTES
    after = Words(block)[0]
    _retire(ctx, ctx.ports[port].owner, block)
    return after + PACKET_BYTES


@native
def _retire(ctx: PartitionState, owner: int, block: int) -> None:
    if owner != ctx.part:
        back = ctx.returned[((ctx.window & 1) * ctx.parts + ctx.part) * ctx.parts + owner]
        Words(block)[0] = 0
        if back.count == 0:
            back.first = block
        else:
            Words(back.last)[0] = block
        back.last = block
        back.count += 1
        return
    Words(block)[0] = ctx.retired
    ctx.retired = block


@native
def free_retired(ctx: PartitionState) -> None:
    """Return retired blocks, whose packets have been served."""
    block = ctx.retired
    while block != 0:
        after = Words(block)[0]
        Words(block)[0] = ctx.free_block
        ctx.free_block = block
        ctx.blocks_left += 1
        block = after
    ctx.retired = 0


@native
def take_returned(ctx: PartitionState) -> None:
    """Take back blocks that others have read in the last window."""
    for other in range(ctx.parts):
        back = ctx.returned[(((ctx.window + 1) & 1) * ctx.parts + other) * ctx.parts + ctx.part]
        if back.count > 0:
            Words(back.last)[0] = ctx.free_block
            ctx.free_block = back.first
            ctx.blocks_left += back.count
            back.count = 0
