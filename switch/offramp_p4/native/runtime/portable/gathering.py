# SPDX-License-Identifier: Apache-2.0
"""The data that the ``Checksum`` objects of a pass have been given, and the Toeplitz hash."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, copy, native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.portable.hashing import RSS_KEY

RSS_BYTES: Final = len(RSS_KEY)


class Gathered(Record):
    """The data of one object, in the packet's memory; all 0 at first."""

    at: int  # bytes of GATHERED before them
    used: int
    room: int


@native
def gather_data(ctx: SwitchMemory, data: Gathered, more: Bytes, size: int) -> None:
    """Append data to an object."""
    used = data.used
    if used + size > data.room:
        whole = 2 * (used + size)
        before = ctx.gathered.used
        append(ctx, offset(SwitchMemory.gathered), whole)
        copy(Bytes(ctx.gathered.data + before), Bytes(ctx.gathered.data + data.at), used)
        data.at = before
        data.room = whole
    copy(Bytes(ctx.gathered.data + data.at + used), more, size)
    data.used = used + size


@native
def forget(data: Gathered) -> None:
    """Begin with no data."""
    data.used = 0


@native
def gathered_at(ctx: SwitchMemory, data: Gathered) -> int:
    """The address of the data that an object has gathered."""
    return ctx.gathered.data + data.at


@native
def gathered_bytes(data: Gathered) -> int:
    """Bytes that have been gathered."""
    return data.used


@native
def toeplitz(ctx: SwitchMemory, data: Bytes, size: int) -> int:
    """:func:`offramp_p4.portable.hashing.toeplitz`."""
    key = ctx.rss_key
    window = key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3]
    result = 0
    following = 4
    for i in range(size):
        byte = data[i]
        more = key[following]
        following += 1
        if following == RSS_BYTES:
            following = 0
        for bit in range(7, -1, -1):
            if byte >> bit & 1 != 0:
                result = result ^ window
            window = (window << 1 | (more >> bit & 1)) & 0xFFFFFFFF
    return result
