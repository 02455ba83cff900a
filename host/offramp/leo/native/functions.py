# SPDX-License-Identifier: Apache-2.0
"""CPU functions in machine code: ``kvs.lookup``, values by address, one-sided reads and writes, fetch-and-add, echo.

They answer as the models of :mod:`offramp.leo.functions` do. Their writes go through the journal.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.device import Status
from offramp.leo.functions import ebs, kvs
from offramp.leo.functions.crc import CRC32, CRC32C, tables
from offramp.leo.functions.echo import ECHO
from offramp.leo.native.call import Arguments
from offramp.leo.native.ebs import ebs_lookup
from offramp.leo.native.journal import MOST_WRITE
from offramp.leo.native.machine import machine
from offramp_base.native.records import Record
from offramp_base.native.subset import Bytes, Words, copy, inlined, native

_OK = int(Status.OK)
_LENGTH = int(Status.BAD_LENGTH)
_BOUNDS = int(Status.OUT_OF_BOUNDS)
_FAILED = int(Status.FAILED)

READ: Final = "memory.read"
"""One-sided. Request: offset (8 bytes), length (4). Answer: the bytes."""
WRITE: Final = "memory.write"
"""One-sided. Request: offset (8 bytes), the bytes, at most 4096. Answer: empty."""
ADD: Final = "memory.add"
"""One-sided, atomic. Request: offset (8 bytes), addend (8). Answer: the word before (8)."""
GET: Final = "kvs.read"
"""Request: a value's address (8 bytes). Answer: the value; empty for address 0."""
PUT: Final = "kvs.write"
"""Request: a value's address (8 bytes), the value. Answer: 1 where it was written, 0 for address 0 (4 bytes)."""
BLOCKS: Final = "ebs.read"
"""Request: the answer of ``ebs.lookup``. Answer: the blocks at its address; it fails where nothing was found."""


class KvsContext(Record):
    """Context of the kvs functions."""

    index: Words  # in host memory
    buckets: int
    tables: Words  # of the CRCs
    value: int  # bytes of a value


_FIRST_BYTE = 8 * 256  # CRC-32's tables lie behind CRC-32C's


@inlined
def _word(place: Bytes) -> int:
    return Words(int(place))[0]


@native
def _hash(table: Words, key: int) -> int:
    """CRC of a key's 8 bytes."""
    x = key ^ 0xFFFFFFFF
    register = 0xFFFFFFFF
    for byte in range(8):
        register = register ^ table[byte * 256 + ((x >> (8 * byte)) & 0xFF)]
    return register


@inlined
def _in_bucket(line: Words, key: int) -> int:
    """The address stored with a key in a bucket; 0 if the key is not there."""
    address = 0
    for slot in range(4):
        if line[2 * slot] == key and line[2 * slot + 1] != 0 and address == 0:
            address = line[2 * slot + 1]
    return address


@inlined
def _answer_word(arguments: Arguments, word: int, size: int) -> int:
    """Answer with the lowest ``size`` bytes of a word."""
    arguments.scratch[0] = word
    copy(arguments.reply, Bytes(arguments.scratch), size)
    arguments.reply_bytes = size
    return _OK


@native
def lookup(arguments: Arguments) -> int:
    """``kvs.lookup`` (:mod:`offramp.leo.functions.kvs`)."""
    if arguments.message_bytes != 8 or arguments.reply_bytes < 8:
        return _LENGTH
    own = KvsContext(arguments.own)
    index = own.index
    crcs = own.tables
    key = _word(arguments.message)
    mask = own.buckets - 1
    address = _in_bucket(index + (_hash(crcs, key) & mask) * 8, key)
    if address == 0:
        address = _in_bucket(index + (_hash(crcs + _FIRST_BYTE, key) & mask) * 8, key)
    return _answer_word(arguments, address, 8)


@inlined
def _inside(arguments: Arguments, offset: int, length: int) -> bool:
    return length >= 0 and offset >= 0 and length <= arguments.host_bytes and offset <= arguments.host_bytes - length


@inlined
def _answer_memory(arguments: Arguments, place: int, size: int) -> int:
    """Answer with ``size`` bytes of the host's memory at ``place``."""
    if size > arguments.reply_bytes or not _inside(arguments, place, size):
        return _BOUNDS
    copy(arguments.reply, arguments.host + place, size)
    arguments.reply_bytes = size
    return _OK


@native
def get(arguments: Arguments) -> int:
    """``kvs.read``."""
    if arguments.message_bytes != 8:
        return _LENGTH
    address = _word(arguments.message)
    size = KvsContext(arguments.own).value
    if address == 0:
        arguments.reply_bytes = 0
        return _OK
    return _answer_memory(arguments, address, size)


@inlined
def _log(arguments: Arguments, offset: int, content: Bytes, length: int) -> None:
    log = arguments.log
    log.offset = offset
    log.length = length
    copy(log.content, content, length)


@native
def put(arguments: Arguments) -> int:
    """``kvs.write``."""
    size = KvsContext(arguments.own).value
    if arguments.message_bytes != 8 + size or size > MOST_WRITE or arguments.reply_bytes < 4:
        return _LENGTH
    address = _word(arguments.message)
    if address != 0:
        if not _inside(arguments, address, size):
            return _BOUNDS
        _log(arguments, address, arguments.message + 8, size)
    return _answer_word(arguments, 0 if address == 0 else 1, 4)


@native
def read(arguments: Arguments) -> int:
    """``memory.read``."""
    if arguments.message_bytes != 12:
        return _LENGTH
    place = arguments.message
    offset = _word(place)
    length = place[8] | place[9] << 8 | place[10] << 16 | place[11] << 24
    return _answer_memory(arguments, offset, length)


@native
def write(arguments: Arguments) -> int:
    """``memory.write``."""
    length = arguments.message_bytes - 8
    if length < 0 or length > MOST_WRITE:
        return _LENGTH
    offset = _word(arguments.message)
    if not _inside(arguments, offset, length):
        return _BOUNDS
    _log(arguments, offset, arguments.message + 8, length)
    arguments.reply_bytes = 0
    return _OK


@native
def add(arguments: Arguments) -> int:
    """``memory.add``."""
    if arguments.message_bytes != 16 or arguments.reply_bytes < 8:
        return _LENGTH
    offset = _word(arguments.message)
    if offset & 7 != 0 or not _inside(arguments, offset, 8):
        return _BOUNDS
    before = Words(arguments.host + offset)
    arguments.scratch[0] = before[0]
    copy(arguments.reply, Bytes(arguments.scratch), 8)
    arguments.scratch[0] = before[0] + _word(arguments.message + 8)
    _log(arguments, offset, Bytes(arguments.scratch), 8)
    arguments.reply_bytes = 8
    return _OK


@native
def blocks(arguments: Arguments) -> int:
    """``ebs.read``."""
    if arguments.message_bytes != 16:
        return _LENGTH
    request = Words(arguments.message)
    size = KvsContext(arguments.own).value
    if request[0] & 0xFFFFFFFF != 0:
        return _FAILED
    return _answer_memory(arguments, request[1], size)


@native
def echo(arguments: Arguments) -> int:
    """``echo``."""
    if arguments.message_bytes > arguments.reply_bytes:
        return _LENGTH
    copy(arguments.reply, arguments.message, arguments.message_bytes)
    arguments.reply_bytes = arguments.message_bytes
    return _OK


NATIVE: Final[dict[str, Any]] = {
    kvs.NAME: lookup,
    ebs.NAME: ebs_lookup,
    GET: get,
    PUT: put,
    READ: read,
    WRITE: write,
    ADD: add,
    BLOCKS: blocks,
    ECHO: echo,
}


@cache
def addresses() -> dict[str, tuple[int, Any]]:
    """Address of each function by name, with what keeps it alive."""
    compiled = machine(*NATIVE.values())
    return {name: (compiled[f.__name__].__dict__["address"], compiled[f.__name__]) for name, f in NATIVE.items()}


@cache
def crc_tables() -> npt.NDArray[np.int64]:
    """Tables of CRC-32C, then of CRC-32, one word per entry."""
    return np.concatenate([tables(CRC32C).ravel(), tables(CRC32).ravel()]).astype(np.int64)


def kvs_context(index: npt.NDArray[np.int64], buckets: int, value: int) -> npt.NDArray[np.int64]:
    """Context of the kvs functions: the index in host memory, its buckets, bytes of a value."""
    return np.array([index.ctypes.data, buckets, crc_tables().ctypes.data, value], np.int64)
