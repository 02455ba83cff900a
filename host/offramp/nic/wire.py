# SPDX-License-Identifier: Apache-2.0
"""The agent's control protocol and rings as bytes; ``ci/formats`` generates them for the agent's C++."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from offramp_base.wire.structures import StructFormat

MAGIC: Final = 0x43494E4F  # "ONIC"
VERSION: Final = 1
HEADER: Final = StructFormat(
    "Header", "In front of each message; `length` is the body's.", magic="u32", kind="u32", length="u32"
)
REPLY: Final = 0x8000
ERROR: Final = 0xFFFF
MOST_BODY: Final = 4096
MOST_ENTRIES: Final = 65536


MOST_PAGES: Final = 16
"""Most pages of slots of a rank of all-reduce."""
MOST_SEGMENTS: Final = 4
"""Most segments of a packet of all-reduce: more do not fit a port's buffers."""


class ControlMessageType(IntEnum):
    """Kinds of messages on the control socket."""

    HELLO = 1
    MAP = 2
    QUEUE = 3
    TABLES = 4
    TRANSPORT = 5
    STATS = 6
    COFLOWS = 7
    UPGRADE = 8
    RANK = 9


HELLO: Final = StructFormat("Hello", "The first message of a client.", version="u32")
HELLO_REPLY: Final = StructFormat(
    "HelloReply",
    "Names of functions follow, one per line.",
    version="u32",
    cores="u32",
    most_entries="u32",
    ports="u32",
)
MAP: Final = StructFormat(
    "Map", "Memory that the client shares: a memfd, sealed against shrinking, comes with the message.", size="u64"
)
QUEUE: Final = StructFormat("Queue", "Rings in shared memory.", region="u32", entries="u32", offset="u64")
TABLES: Final = StructFormat(
    "Tables",
    "Memory that a function of a queue looks things up in.",
    queue="u32",
    function="u32",
    region="u32",
    zero="u32",
    offset="u64",
    length="u64",
    parameters="u32[4]",
)
TRANSPORT: Final = StructFormat(
    "Transport",
    "A worker of SwitchGNN on a port. Times are nanoseconds: until a repeat, at most, until failure, between windows.",
    queue="u32",
    port="u32",
    worker="u32",
    flags="u32",
    region="u32",
    window="u32",
    text_offset="u64",
    text_length="u64",
    journal_offset="u64",
    retry="i64",
    cap="i64",
    limit="i64",
    gap="i64",
    line_bps="f64",
    loss="f64",
    duplication="f64",
    seed="u64",
)
COFLOWS: Final = StructFormat(
    "Coflows",
    "An end host of Hermod on a port; the addresses of its ranks are at `offset`, `dscp` is that of control frames.",
    queue="u32",
    port="u32",
    rank="u32",
    ranks="u32",
    region="u32",
    dscp="u32",
    offset="u64",
    retry="i64",
    loss="f64",
    seed="u64",
)
RANK: Final = StructFormat(
    "Rank",
    "A rank of all-reduce on a port. Times are nanoseconds: until a repeat, until failure.",
    queue="u32",
    port="u32",
    rank="u32",
    ranks="u32",
    job="u32",
    pages="u32",
    segments="u32",
    flight="u32",
    retry="i64",
    limit="i64",
    loss="f64",
    seed="u64",
)
UPGRADE: Final = StructFormat(
    "Upgrade",
    "From a new agent to the one that it takes the place of; the names of its ports follow, one per line.",
    version="u32",
)
MOST_RANKS: Final = 4096
ADDRESS: Final = StructFormat(
    "Address",
    "Where a rank is; the first number of the IPv4 address's dotted form is its highest byte.",
    mac="byte[6]",
    zero="u16",
    ip="u32",
    spare="u32",
)
NUMBER: Final = StructFormat("Number", "What the answer to most messages is.", value="u32")


class Flag(IntEnum):
    """Flags of a transport."""

    ACKS = 1
    REUPLOAD = 2
    RESUME = 4


class NicFunction(IntEnum):
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
    ALLREDUCE = 64


SUBMISSION: Final = StructFormat(
    "Submission",
    "A request on a queue; the answer has room for `answer_room` bytes.",
    request="u64",
    function="u32",
    zero="u32",
    message_region="u32",
    answer_region="u32",
    message_offset="u64",
    message_length="u64",
    answer_offset="u64",
    answer_room="u64",
    spare="u64",
)
COMPLETION: Final = StructFormat(
    "Completion",
    "How a request ended; `length` is the answer's, `busy_ns` how long the agent worked on it.",
    request="u64",
    status="u32",
    length="u32",
    busy_ns="u64",
    spare="u64",
)
SUBMITTED, TAKEN, COMPLETED, HEARD = 0, 64, 128, 192
"""Offsets of the counters: submissions made and taken, completions made and taken."""
RINGS_AT: Final = 256
NO_ROOM: Final = 64
"""Status: the answer is longer than its room."""

PENDING: Final = 65
"""Status that never leaves the agent: the request is completed later."""

MEMORY: Final = StructFormat(
    "Memory",
    "A part of a function's tables; behind it, of a write, the content.",
    function="u32",
    zero="u32",
    offset="u64",
    length="u64",
)
EXCHANGE: Final = StructFormat(
    "Exchange",
    "A round of SwitchGNN; offsets are those of values, sums and scratch memory.",
    plan="u32",
    width="u32",
    number="u32",
    zero="u32",
    values="u64",
    sums="u64",
    scratch="u64",
)
COFLOW: Final = StructFormat(
    "Coflow",
    "A coflow's transfers; the key (8 bytes each), transfers out and in, and pieces follow.",
    message="u32",
    dscp="u8",
    priority="u8",
    in_order="u8",
    keys="u8",
    outgoing="u32",
    incoming="u32",
    pieces="u32",
    zero="u32",
)
SUM: Final = StructFormat(
    "Sum",
    "A tensor to be summed over the ranks: its type (offramp.allreduce.numbers), where its values are and its sums go.",
    type="u32",
    region="u32",
    count="u64",
    values="u64",
    sums="u64",
)
TRANSFER: Final = StructFormat(
    "Transfer",
    "Bytes to or from a peer; a piece's offset is in its transfer.",
    peer="u32",
    zero="u32",
    offset="u64",
    length="u64",
)


def queue_bytes(entries: int) -> int:
    """Bytes of shared memory that a queue's rings take."""
    return RINGS_AT + entries * (SUBMISSION.size + COMPLETION.size)
