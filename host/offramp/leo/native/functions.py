# SPDX-License-Identifier: Apache-2.0
"""CPU functions in machine code: ``kvs.lookup``, values by address, one-sided reads and writes, fetch-and-add, echo.

They answer what the models of :mod:`offramp.leo.functions` do. What they write goes through the journal.

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
from offramp.leo.native.ebs import ebs_lookup
from offramp.leo.native.journal import CONTENT, MOST_WRITE, OFFSET
from offramp.leo.native.journal import LENGTH as WRITE_LENGTH
from offramp.leo.native.machine import machine
from offramp.leo.native.serve import HOST, HOST_BYTES, LOG, MESSAGE, MESSAGE_BYTES, OWN, REPLY, REPLY_BYTES, SCRATCH
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
ECHO: Final = "echo"
"""Answer: the request."""

# The context of kvs functions.
INDEX: Final = 0  # address
BUCKETS: Final = 1
TABLES: Final = 2  # address of the CRCs' tables
VALUE: Final = 3  # bytes of a value
_FIRST_BYTE = 8 * 256  # CRC-32's tables lie behind CRC-32C's


@inlined
def _word(place: Bytes) -> int:
    return Words(int(place))[0]


@native
def _hash(table: Words, key: int) -> int:
    """The CRC of a key's 8 bytes."""
    x = key ^ 0xFFFFFFFF
    found = 0xFFFFFFFF
    for byte in range(8):
        found = found ^ table[byte * 256 + ((x >> (8 * byte)) & 0xFF)]
    return found


@inlined
def _in_bucket(line: Words, key: int) -> int:
    """The address of a key in a bucket, 0 where it is not there."""
    found = 0
    for slot in range(4):
        if line[2 * slot] == key and line[2 * slot + 1] != 0 and found == 0:
            found = line[2 * slot + 1]
    return found


@native
def lookup(arguments: Words) -> int:
    """``kvs.lookup`` (:mod:`offramp.leo.functions.kvs`)."""
    if arguments[MESSAGE_BYTES] != 8 or arguments[REPLY_BYTES] < 8:
        return _LENGTH
    own = Words(arguments[OWN])
    index = Words(own[INDEX])
    crcs = Words(own[TABLES])
    key = _word(Bytes(arguments[MESSAGE]))
    mask = own[BUCKETS] - 1
    found = _in_bucket(index + (_hash(crcs, key) & mask) * 8, key)
    if found == 0:
        found = _in_bucket(index + (_hash(crcs + _FIRST_BYTE, key) & mask) * 8, key)
    arguments[SCRATCH] = found
    copy(Bytes(arguments[REPLY]), Bytes(int(arguments + SCRATCH)), 8)
    arguments[REPLY_BYTES] = 8
    return _OK


@inlined
def _inside(arguments: Words, offset: int, length: int) -> bool:
    return length >= 0 and offset >= 0 and length <= arguments[HOST_BYTES] and offset <= arguments[HOST_BYTES] - length


@native
def get(arguments: Words) -> int:
    """``kvs.read``."""
    if arguments[MESSAGE_BYTES] != 8:
        return _LENGTH
    address = _word(Bytes(arguments[MESSAGE]))
    size = Words(arguments[OWN])[VALUE]
    if address == 0:
        arguments[REPLY_BYTES] = 0
        return _OK
    if size > arguments[REPLY_BYTES] or not _inside(arguments, address, size):
        return _BOUNDS
    copy(Bytes(arguments[REPLY]), Bytes(arguments[HOST]) + address, size)
    arguments[REPLY_BYTES] = size
    return _OK


@inlined
def _log(arguments: Words, offset: int, content: Bytes, length: int) -> None:
    log = Words(arguments[LOG])
    log[OFFSET] = offset
    log[WRITE_LENGTH] = length
    copy(Bytes(int(log + CONTENT)), content, length)


@native
def put(arguments: Words) -> int:
    """``kvs.write``."""
    size = Words(arguments[OWN])[VALUE]
    if arguments[MESSAGE_BYTES] != 8 + size or size > MOST_WRITE or arguments[REPLY_BYTES] < 4:
        return _LENGTH
    address = _word(Bytes(arguments[MESSAGE]))
    arguments[SCRATCH] = 0 if address == 0 else 1
    if address != 0:
        if not _inside(arguments, address, size):
            return _BOUNDS
        _log(arguments, address, Bytes(arguments[MESSAGE]) + 8, size)
    copy(Bytes(arguments[REPLY]), Bytes(int(arguments + SCRATCH)), 4)
    arguments[REPLY_BYTES] = 4
    return _OK


@native
def read(arguments: Words) -> int:
    """``memory.read``."""
    if arguments[MESSAGE_BYTES] != 12:
        return _LENGTH
    place = Bytes(arguments[MESSAGE])
    offset = _word(place)
    length = place[8] | place[9] << 8 | place[10] << 16 | place[11] << 24
    if length > arguments[REPLY_BYTES] or not _inside(arguments, offset, length):
        return _BOUNDS
    copy(Bytes(arguments[REPLY]), Bytes(arguments[HOST]) + offset, length)
    arguments[REPLY_BYTES] = length
    return _OK


@native
def write(arguments: Words) -> int:
    """``memory.write``."""
    length = arguments[MESSAGE_BYTES] - 8
    if length < 0 or length > MOST_WRITE:
        return _LENGTH
    offset = _word(Bytes(arguments[MESSAGE]))
    if not _inside(arguments, offset, length):
        return _BOUNDS
    _log(arguments, offset, Bytes(arguments[MESSAGE]) + 8, length)
    arguments[REPLY_BYTES] = 0
    return _OK


@native
def add(arguments: Words) -> int:
    """``memory.add``."""
    if arguments[MESSAGE_BYTES] != 16 or arguments[REPLY_BYTES] < 8:
        return _LENGTH
    offset = _word(Bytes(arguments[MESSAGE]))
    if offset & 7 != 0 or not _inside(arguments, offset, 8):
        return _BOUNDS
    before = Words(arguments[HOST] + offset)
    arguments[SCRATCH] = before[0]
    copy(Bytes(arguments[REPLY]), Bytes(int(arguments + SCRATCH)), 8)
    arguments[SCRATCH] = before[0] + _word(Bytes(arguments[MESSAGE]) + 8)
    _log(arguments, offset, Bytes(int(arguments + SCRATCH)), 8)
    arguments[REPLY_BYTES] = 8
    return _OK


@native
def blocks(arguments: Words) -> int:
    """``ebs.read``."""
    if arguments[MESSAGE_BYTES] != 16:
        return _LENGTH
    found = Words(arguments[MESSAGE])
    size = Words(arguments[OWN])[VALUE]
    if found[0] & 0xFFFFFFFF != 0:
        return _FAILED
    place = found[1]
    if size > arguments[REPLY_BYTES] or not _inside(arguments, place, size):
        return _BOUNDS
    copy(Bytes(arguments[REPLY]), Bytes(arguments[HOST]) + place, size)
    arguments[REPLY_BYTES] = size
    return _OK


@native
def echo(arguments: Words) -> int:
    """``echo``."""
    if arguments[MESSAGE_BYTES] > arguments[REPLY_BYTES]:
        return _LENGTH
    copy(Bytes(arguments[REPLY]), Bytes(arguments[MESSAGE]), arguments[MESSAGE_BYTES])
    arguments[REPLY_BYTES] = arguments[MESSAGE_BYTES]
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
    made = machine(*NATIVE.values())
    return {name: (made[f.__name__].__dict__["address"], made[f.__name__]) for name, f in NATIVE.items()}


@cache
def crc_tables() -> npt.NDArray[np.int64]:
    """CRC-32C's, then CRC-32's, a word for each entry."""
    return np.concatenate([tables(CRC32C).ravel(), tables(CRC32).ravel()]).astype(np.int64)


def kvs_context(index: npt.NDArray[np.int64], buckets: int, value: int) -> npt.NDArray[np.int64]:
    """What kvs functions need to know: the index in host memory, its buckets, bytes of a value."""
    return np.array([index.ctypes.data, buckets, crc_tables().ctypes.data, value], np.int64)
