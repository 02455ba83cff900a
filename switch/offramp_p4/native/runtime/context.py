# SPDX-License-Identifier: Apache-2.0
"""Memory that machine code and Python share for one switch. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from typing import Annotated, Final

from offramp_base.native.records import At, Record
from offramp_base.native.subset import Bytes, Doubles, Words


class Buffer(Record):
    """Memory that grows."""

    data: int  # address
    size: int  # bytes there are
    used: int  # bytes in use
    start: int


class Patterns(Record):
    """The search structure of a ternary table; see :mod:`offramp_p4.native.runtime.patterns`."""

    key_words: int
    nibbles: int  # groups of four bits of a key
    ranges: int  # range keys
    entries: Words  # a record of each entry
    tuples: Words  # a row of each hash table
    tuple_count: int
    order: Words  # the numbers of the blocks in use, the highest scores first
    block_count: int
    blocks: Words
    blocks_taken: int
    blocks_there: int
    scratch: Words  # of the control plane, for what a block has


class Timer(Record):
    """The timer of an entry: its lifetime, and how packets have changed it."""

    began_us: int
    life_us: int  # 0: forever
    renewed: int  # since Python has looked: 0 not, 1 begun anew, 2 with another time to live


class TableRecord(Record):
    """A match table. Entries are counted from 1; 0 is none."""

    slots: Words  # address of the hash table
    mask: int  # its slots less 1
    taken: int  # those that are not free
    rows: Words  # address of what each entry does
    default: int  # address of the row of the default action
    hits: int
    misses: int
    counts: Words  # packets and bytes of each entry since the last call
    meters: Words  # a meter for each entry
    touched: Words  # entries counted since the last call
    touches: int  # how many
    root: Words  # lpm: what is known by the first bits of the key
    roots: int  # lpm: rows of the root in use
    lengths: Bytes  # lpm: of the prefix of each entry
    patterns: At[Patterns]  # ternary
    timers: At[Timer]  # PNA: of each entry


class Meter(Record):
    """A meter."""

    rates: int  # how many buckets
    buckets: Annotated[Doubles, 4]  # rate and burst of the committed bucket, then of the peak bucket
    levels: Annotated[Doubles, 2]  # of both
    last_us: int
    packets: Annotated[Words, 3]  # of each colour
    octets: Annotated[Words, 3]


class DepartingFrame(Record):
    """A frame of a burst that leaves: the next bytes of OUT, and what follows them in the frame that came in."""

    port: int
    head: int  # bytes of OUT
    number: int  # of the frame in the burst
    skipped: int  # bytes of that frame before the rest; below 0: OUT has all
    rest: int


class CrcRecord(Record):
    """A custom CRC that has been set."""

    used: int  # 0: it has its first parameters
    width: int
    start: int
    final_xor: int
    reflected: int  # 1 where bytes enter with their bit 0 first
    turned: int  # 1 where the remainder is turned round at the end
    table: Annotated[Words, 256]


class Learning(Record):
    """An entry that a packet adds to the table that it has missed."""

    site: int  # the number of the call in the program
    table: int  # the number of the table in the program, from 1
    key: int  # address of its words
    data: int  # address of the action's arguments
    profile: int  # of its time to live
    added: int  # 1 when it has been


class SwitchMemory(Record):
    """Everything of one switch that machine code and Python share."""

    now_us: int
    max_passes: int
    drop_port: int
    logging: int  # 1 where log_msg is listened to
    grow: int  # the C function (buffer, size) that enlarges a buffer
    frame: int  # address of the bytes that the current pass parses
    top: int  # address of the first free packet memory
    stride: int  # bytes of a packet memory
    limit: int  # address of the first byte behind all packet memories
    random_next: int  # the C function that draws 32 bits
    random_state: int  # its argument
    crc16: Words  # 256 words
    crc32: Words  # 256 words

    # Counts, in the order of SwitchStats.
    packets_in: int
    packets_out: int
    dropped: int
    parse_errors: int
    checksum_errors: int
    passes: int
    recirculations: int
    resubmissions: int
    clones: int
    replicas: int
    truncated: int
    looped: int
    failed_checks: int
    exhausted: int

    # Buffers that grow: four words each.
    out: Buffer  # frames that leave, one behind the other; START is the beginning of the current one
    index: Buffer  # port and length of each of them, a word each
    queue: Buffer  # packets that wait for another pass; START is the next of them
    events: Buffer  # log messages and failed checks
    digests: Buffer  # START is behind the last digest of a finished ingress
    waiting: int  # packets in the queue
    current: int  # where the current one begins in the queue; far away for a packet from outside

    # Tables of the replication engine: by multicast group and by clone session.
    groups: TableRecord
    sessions: TableRecord

    # The traffic manager.
    now_ps: int
    ready: Buffer  # heap of ports that hold something and whose line is free
    returning: Buffer  # heap of recirculated packets on their way back to the parser
    returned: int  # how many have been put there
    times: Buffer  # for each frame that leaves, when its line is free again
    changes: Buffer  # time, port, queue, packets and bytes of it
    observed: int  # 1 where CHANGES are listened to
    held_bytes: int  # in all queues
    buffer_bytes: int
    misdirected: int
    ports: Words  # address of the addresses of the ports, by number plus 1
    port_count: int
    make_port: int  # the C function (number, 0) that finds or makes a port
    found_port: int
    mark: int  # the C function (frame, length) that marks a frame in place; 0: as RFC 3168 has it
    marked: int  # whether it has
    passes_left: int  # address of the budget of the current packet
    new_chunk: int  # the C function (bytes, 0) that gives the arena room for them
    arena: int  # address of the memory that has never been used
    arena_end: int
    free: Annotated[Words, 64]  # addresses of free blocks of 2^n bytes, n below 64
    max_steps: int
    steps: int  # that the current packet may still make; below 0: it has used them up
    origin: int  # address of the frame of a burst that has come in
    number: int  # and its place in the burst
    kept: int  # address of the memory that keeps the headers of a packet's first pass
    kept_frame: int  # address of the frame that they are of, which stays there until the packet has ended; 0: none
    kept_length: int  # and its bytes; below 0: it has not been parsed to its end
    whole: int  # address of the packet memory that has these headers when the next pass begins; 0: none
    next_first: int  # 1 if the frame that they are of waits for another pass, before all that is in the queue
    next_fields: int  # the number of its field list, which KEPT has
    quiet_ps: int  # no frame arrives before this time is over

    # Tofino.
    chip_ports: int  # of all pipes
    cpu_port: int  # -1: none
    loops: Bytes  # for each port, 1 if what it sends comes in again
    loop_count: int
    port_data: Bytes  # what the parser finds behind the intrinsic metadata, port by port
    port_data_count: int
    arrival: Buffer  # the frame that ingress parses
    held: Buffer  # what ingress has sent, behind room for the chip's header
    copies: Buffer  # where it goes
    enqueued_us: int  # of the copy that is before egress; cells of its queue that it found
    found_cells: int
    waited_us: int
    left_cells: int  # and that it leaves behind
    pruned: TableRecord  # level-2 exclusion id and port, of ports without copies
    # A Tofino.
    patterns: Words  # port, value and mask of what wakes the packet generator among the packets that come in again
    pattern_count: int
    triggers: Buffer  # port, first four bytes and time of those that have

    # PSA and PNA.
    rss_key: Bytes  # of the Toeplitz hash
    gathered: Buffer  # the data of checksums, of one pass
    hosts: TableRecord  # PNA: the ports towards the host
    mirrors: Buffer  # slots and sessions of the current pass, in order
    renewed: Buffer  # words of the table and number of each entry whose timer is
    lives_us: Words  # by expire-time profile: LIVES words
    due_us: int  # when the first entry may have expired
    expire: int  # the C function that removes those that have
    learn: int  # the C function that adds the entry of LEARNING
    learning: Learning
    flow_ids: int  # that have been given
    crcs: At[CrcRecord]  # custom CRCs, by their numbers
    crc_count: int  # 0: all have their first parameters
    unused: int  # so that what follows begins on a cache line


STATS: Final = (SwitchMemory.packets_in, SwitchMemory.exhausted + 1)
"""Counts, in the order of SwitchStats."""
HIT: Final = 1 << 62
"""Flag beside the packets of an entry: it has been hit, whether or not that was counted."""
LIVES: Final = 256
"""Expire-time profiles, by their eight bits."""
BUFFERS: Final = tuple(place.offset for place in SwitchMemory.PLACES.values() if place.kind is Buffer)
