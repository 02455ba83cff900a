# SPDX-License-Identifier: Apache-2.0
"""``ebs.lookup`` in machine code (:mod:`offramp.leo.functions.ebs`): QoS, block table and address table of a read.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.device import Status
from offramp.leo.functions import ebs
from offramp.leo.native.serve import MESSAGE, MESSAGE_BYTES, OWN, REPLY, REPLY_BYTES, SCRATCH
from offramp_base.native.subset import Bytes, Words, below, copy, inlined, native

# The context.
VOLUMES: Final = 0  # address and number of volumes
VOLUME_COUNT: Final = 1
BLOCKS: Final = 2  # address of the block table
ADDRESSES: Final = 3  # address and number of segments
SEGMENT_COUNT: Final = 4
BLOCK_COUNT: Final = 5  # entries of the block table

# Words of a volume.
FIRST: Final = 0
SIZE: Final = 1
RATE: Final = 2
BURST: Final = 3
TOKENS: Final = 4
TICK: Final = 5

_VOLUME_WORDS = ebs.VOLUME.size // 8
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
def _take(volume: Words, tokens: int, tick: int) -> bool:
    """Tokens from a volume's bucket, which has filled since the last read; False where there are too few."""
    now = volume[TICK] if below(tick, volume[TICK]) else tick
    passed = now - volume[TICK]
    passed = passed if below(passed, _LOW) else _LOW
    held = volume[TOKENS] + passed * volume[RATE]
    held = held if below(held, volume[BURST]) else volume[BURST]
    if below(held, tokens):
        return False
    volume[TOKENS] = held - tokens
    volume[TICK] = now
    return True


@inlined
def _end(arguments: Words, outcome: int, server: int, address: int) -> int:
    answer = arguments + SCRATCH
    answer[0] = outcome | server << 32
    answer[1] = address
    copy(Bytes(arguments[REPLY]), Bytes(int(answer)), _ANSWER)
    arguments[REPLY_BYTES] = _ANSWER
    return _OK


@native
def ebs_lookup(arguments: Words) -> int:
    """``ebs.lookup``."""
    if arguments[MESSAGE_BYTES] != _REQUEST or arguments[REPLY_BYTES] < _ANSWER:
        return _LENGTH
    own = Words(arguments[OWN])
    message = Words(arguments[MESSAGE])
    number = message[0] & _LOW
    count = (message[0] >> 32) & _LOW
    start = message[1]
    if number >= own[VOLUME_COUNT]:
        return _end(arguments, _NO_VOLUME, 0, 0)
    volume = Words(own[VOLUMES]) + number * _VOLUME_WORDS
    size = volume[SIZE]
    if size == 0:
        return _end(arguments, _NO_VOLUME, 0, 0)
    if count == 0 or below(size, count) or below(size - count, start):
        return _end(arguments, _OUT_OF_RANGE, 0, 0)
    within = start % _SEGMENT
    if within + count > _SEGMENT:
        return _end(arguments, _SPLIT, 0, 0)
    place = (volume[FIRST] & _LOW) + start // _SEGMENT
    if place >= own[BLOCK_COUNT]:
        return _end(arguments, _UNMAPPED, 0, 0)
    entry = Words(own[BLOCKS])[place]
    stored = (entry >> 32) & _LOW
    if stored == 0 or stored > own[SEGMENT_COUNT]:
        return _end(arguments, _UNMAPPED, 0, 0)
    base = Words(own[ADDRESSES])[stored - 1]
    if base == 0:
        return _end(arguments, _UNMAPPED, 0, 0)
    if not _take(volume, count * _BLOCK, message[2]):
        return _end(arguments, _WAIT, 0, 0)
    return _end(arguments, _FOUND, entry & _LOW, base + within * _BLOCK)


def context(tables: npt.NDArray[np.int64], layout: ebs.Layout) -> npt.NDArray[np.int64]:
    """What the function needs to know: the tables' memory, and where each lies in it."""
    start = tables.ctypes.data
    blocks, addresses = start + layout.blocks_at, start + layout.addresses_at
    return np.array([start, layout.volumes, blocks, addresses, layout.segments, layout.entries], np.int64)
