# SPDX-License-Identifier: Apache-2.0
"""The agent's control protocol and rings as bytes (``smartnic/lib/protocol.hpp``, ``smartnic/agent/rings.hpp``)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

MAGIC: Final = 0x43494E4F  # "ONIC"
VERSION: Final = 1
HEADER: Final = struct.Struct("<III")
"""Magic, kind, bytes of the body."""
REPLY: Final = 0x8000
ERROR: Final = 0xFFFF
MOST_BODY: Final = 4096
MOST_ENTRIES: Final = 65536


class Kind(IntEnum):
    """Kinds of messages on the control socket."""

    HELLO = 1
    MAP = 2
    QUEUE = 3
    TABLES = 4
    TRANSPORT = 5
    STATS = 6
    COFLOWS = 7


HELLO: Final = struct.Struct("<I")
HELLO_REPLY: Final = struct.Struct("<IIII")
"""Version, cores, most entries of a ring, ports; names of functions follow, one a line."""
MAP: Final = struct.Struct("<Q")
QUEUE: Final = struct.Struct("<IIQ")
"""Region, entries, offset."""
TABLES: Final = struct.Struct("<IIIIQQ4I")
"""Queue, function, region, zero, offset, length, parameters."""
TRANSPORT: Final = struct.Struct("<6I3Q4q3dQ")
"""Queue, port, worker, flags, region, window; offset and length of the plans, offset of the journal; times in ns until
a repeat, at most, until failure, between windows; line rate, loss, duplication; seed."""
COFLOWS: Final = struct.Struct("<6IQqdQ")
"""Queue, port, rank, ranks, region, DSCP of control frames; offset of the ranks' addresses, ns until a repeat, loss,
seed."""
ADDRESS: Final = struct.Struct("<6sHII")
"""MAC, zero, IPv4 address as a number, zero."""
NUMBER: Final = struct.Struct("<I")


class Flag(IntEnum):
    """Flags of a transport."""

    ACKS = 1
    REUPLOAD = 2
    RESUME = 4


class Function(IntEnum):
    """Numbers of functions on a queue."""

    KVS_LOOKUP = 0
    EBS_LOOKUP = 1
    REDUCE = 2
    COMPRESS = 3
    DECOMPRESS = 4
    QUANTISE = 5
    DEQUANTISE = 6
    FEATURES_SELECT = 7
    ECHO = 8
    MEMORY_WRITE = 16
    MEMORY_READ = 17
    SWITCHGNN_START = 32
    SWITCHGNN_EXCHANGE = 33
    HERMOD_EXCHANGE = 48


SUBMISSION: Final = struct.Struct("<QIIIIQQQQQ")
"""Request, function, zero, region of message and of answer, offset and length of the message, of the answer, spare."""
COMPLETION: Final = struct.Struct("<QIIQQ")
"""Request, status, bytes of the answer, ns that the agent worked on it, spare."""
SUBMITTED, TAKEN, COMPLETED, HEARD = 0, 64, 128, 192
"""Offsets of the counters: submissions given and taken, completions given and taken."""
RINGS_AT: Final = 256
NO_ROOM: Final = 64
"""Status: the answer is longer than the room for it."""

MEMORY: Final = struct.Struct("<IIQQ")
"""Function whose tables, zero, offset, length; of MEMORY_WRITE the content follows."""
EXCHANGE: Final = struct.Struct("<IIIIQQQ")
"""Plan, width, number of the exchange, zero; offsets of values, sums and scratch memory."""


COFLOW: Final = struct.Struct("<I4B4I")
"""Message number; DSCP, class, whether in order, numbers of the key; transfers out, in, pieces, zero. The key (8 bytes
each) and then transfers and pieces follow."""
TRANSFER: Final = struct.Struct("<IIQQ")
"""Peer, zero, offset (of a piece: in the transfer), length."""


def queue_bytes(entries: int) -> int:
    """Bytes that a queue's rings take of shared memory."""
    return RINGS_AT + entries * (SUBMISSION.size + COMPLETION.size)
