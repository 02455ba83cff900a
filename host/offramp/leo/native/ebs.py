# SPDX-License-Identifier: Apache-2.0
"""``ebs.lookup`` in machine code (:mod:`offramp.leo.functions.ebs`): QoS, block table and address table of a read.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

from offramp.device import Status
from offramp.leo.functions import ebs
from offramp.leo.native.call import Arguments
from offramp_base.native.records import At, Record
from offramp_base.native.subset import Bytes, Words, below, copy, inlined, native


class VolumeRecord(Record):
    """A record of the table of volumes."""

    first: int
    size: int
    rate: int
    burst: int
    tokens: int
    tick: int
    spare: Annotated[Words, 2]


class EbsContext(Record):
    """Context of the function: the tables, and the offset of each."""

    volumes: At[VolumeRecord]
    volume_count: int
    blocks: Words  # the block table
    addresses: Words
    segment_count: int
    block_count: int  # entries of the block table


_REQUEST = ebs.REQUEST.size
_ANSWER = ebs.ANSWER.size
_BLOCK = ebs.BLOCK
_SEGMENT = ebs.SEGMENT
_LOW = 0xFFFFFFFF
_FOUND = int(ebs.EbsStatus.FOUND)
_NO_VOLUME = int(ebs.EbsStatus.NO_VOLUME)
_OUT_OF_RANGE = int(ebs.EbsStatus.OUT_OF_RANGE)
_SPLIT = int(ebs.EbsStatus.SPLIT)
_UNMAPPED = int(ebs.EbsStatus.UNMAPPED)
_WAIT = int(ebs.EbsStatus.WAIT)
_OK = int(Status.OK)
_LENGTH = int(Status.BAD_LENGTH)


@native
def _take(volume: VolumeRecord, tokens: int, tick: int) -> bool:
    """Take tokens from a volume's bucket, refilled for the time since the last read; False if there are too few."""
    now = volume.tick if below(tick, volume.tick) else tick
    passed = now - volume.tick
    passed = passed if below(passed, _LOW) else _LOW
    held = volume.tokens + passed * volume.rate
    held = held if below(held, volume.burst) else volume.burst
    if below(held, tokens):
        return False
    volume.tokens = held - tokens
    volume.tick = now
    return True


@inlined
def _end(arguments: Arguments, outcome: int, server: int, address: int) -> int:
    answer = arguments.scratch
    answer[0] = outcome | server << 32
    answer[1] = address
    copy(arguments.reply, Bytes(answer), _ANSWER)
    arguments.reply_bytes = _ANSWER
    return _OK


@native
def ebs_lookup(arguments: Arguments) -> int:
    """``ebs.lookup``."""
    if arguments.message_bytes != _REQUEST or arguments.reply_bytes < _ANSWER:
        return _LENGTH
    own = EbsContext(arguments.own)
    message = Words(arguments.message)
    number = message[0] & _LOW
    count = (message[0] >> 32) & _LOW
    start = message[1]
    if number >= own.volume_count:
        return _end(arguments, _NO_VOLUME, 0, 0)
    volume = own.volumes[number]
    size = volume.size
    if size == 0:
        return _end(arguments, _NO_VOLUME, 0, 0)
    if count == 0 or below(size, count) or below(size - count, start):
        return _end(arguments, _OUT_OF_RANGE, 0, 0)
    within = start % _SEGMENT
    if within + count > _SEGMENT:
        return _end(arguments, _SPLIT, 0, 0)
    place = (volume.first & _LOW) + start // _SEGMENT
    if place >= own.block_count:
        return _end(arguments, _UNMAPPED, 0, 0)
    entry = own.blocks[place]
    stored = (entry >> 32) & _LOW
    if stored == 0 or stored > own.segment_count:
        return _end(arguments, _UNMAPPED, 0, 0)
    base = own.addresses[stored - 1]
    if base == 0:
        return _end(arguments, _UNMAPPED, 0, 0)
    if not _take(volume, count * _BLOCK, message[2]):
        return _end(arguments, _WAIT, 0, 0)
    return _end(arguments, _FOUND, entry & _LOW, base + within * _BLOCK)


def context(tables: npt.NDArray[np.int64], layout: ebs.TableLayout) -> npt.NDArray[np.int64]:
    """Context of the function: the tables' memory, and the offset of each table in it."""
    start = tables.ctypes.data
    blocks, addresses = start + layout.blocks_at, start + layout.addresses_at
    return np.array([start, layout.volumes, blocks, addresses, layout.segments, layout.entries], np.int64)
