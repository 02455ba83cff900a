# SPDX-License-Identifier: Apache-2.0
"""The context: an array of words through which machine code and Python share everything of one switch.

Each constant is the index of a word. Addresses point into NumPy arrays that Python owns.
"""

from __future__ import annotations

from typing import Final

DATA: Final = 0  # address
SIZE: Final = 1  # bytes there are
USED: Final = 2  # bytes in use
START: Final = 3

NOW_US: Final = 0
MAX_PASSES: Final = 1
DROP_PORT: Final = 2
LOGGING: Final = 3  # 1 where log_msg is listened to
GROW: Final = 4  # the C function (buffer, size) that enlarges a buffer

FRAME: Final = 5  # address of the bytes that the current pass parses
TOP: Final = 6  # address of the first free packet memory
STRIDE: Final = 7  # bytes of a packet memory
LIMIT: Final = 8  # address of the first byte behind all packet memories

RANDOM_NEXT: Final = 9  # the C function that draws 32 bits
RANDOM_STATE: Final = 10  # its argument
CRC16_TABLE: Final = 11  # 256 words
CRC32_TABLE: Final = 12  # 256 words

# Counts, in the order of SwitchStats.
PACKETS_IN: Final = 13
PACKETS_OUT: Final = 14
DROPPED: Final = 15
PARSE_ERRORS: Final = 16
CHECKSUM_ERRORS: Final = 17
PASSES: Final = 18
RECIRCULATIONS: Final = 19
RESUBMISSIONS: Final = 20
CLONES: Final = 21
REPLICAS: Final = 22
TRUNCATED: Final = 23
LOOPED: Final = 24
FAILED_CHECKS: Final = 25
EXHAUSTED: Final = 26

# Buffers that grow: four words each.
OUT: Final = 27  # frames that leave, one behind the other; START is the beginning of the current one
INDEX: Final = 31  # port and length of each of them, a word each
QUEUE: Final = 35  # packets that wait for another pass; START is the next of them
EVENTS: Final = 39  # log messages and failed checks
DIGESTS: Final = 43  # START is behind the last digest of a finished ingress

WAITING: Final = 47  # packets in the queue
CURRENT: Final = 48  # where the current one begins in the queue; far away for a packet from outside

# Tables of the replication engine: by multicast group and by clone session.
GROUPS: Final = 49
SESSIONS: Final = 65

# The traffic manager.
NOW_PS: Final = 81
READY: Final = 82  # a buffer: heap of ports that hold something and whose line is free
RETURNING: Final = 86  # a buffer: heap of recirculated packets on their way back to the parser
RETURNED: Final = 90  # how many have been put there
TIMES: Final = 91  # a buffer: for each frame that leaves, when its line is free again
CHANGES: Final = 95  # a buffer: time, port, queue, packets and bytes of it
OBSERVED: Final = 99  # 1 where CHANGES are listened to
HELD_BYTES: Final = 100  # in all queues
BUFFER_BYTES: Final = 101
MISDIRECTED: Final = 102
PORTS: Final = 103  # address of the addresses of the ports, by number plus 1
PORT_COUNT: Final = 104
MAKE_PORT: Final = 105  # the C function (number, 0) that finds or makes a port
FOUND_PORT: Final = 106
MARK: Final = 107  # the C function (frame, length) that marks a frame in place; 0: as RFC 3168 has it
MARKED: Final = 108  # whether it has
PASSES_LEFT: Final = 109  # address of the budget of the current packet
NEW_CHUNK: Final = 110  # the C function (bytes, 0) that gives the arena room for them
ARENA: Final = 111  # address of the memory that has never been used
ARENA_END: Final = 112
FREE: Final = 113  # addresses of free blocks of 2^n bytes, n below 64

MAX_STEPS: Final = 177
STEPS: Final = 178  # that the current packet may still make; below 0: it has used them up

OBJECTS: Final = 184  # the objects of the program begin here

# A match table: sixteen words. Entries are counted from 1; 0 is none.
SLOTS: Final = 0  # address of the hash table
MASK: Final = 1  # its slots less 1
ROWS: Final = 2  # address of what each entry does
DEFAULT: Final = 3  # address of the row of the default action
HITS: Final = 4
MISSES: Final = 5
COUNTS: Final = 6  # packets and bytes of each entry since the last call
METERS: Final = 7  # a meter for each entry
TOUCHED: Final = 8  # entries counted since the last call
TOUCHES: Final = 9  # how many
ROOT: Final = 10  # lpm: what is known by the first bits of the key
PATTERNS: Final = 11  # ternary: masks, the one with the highest score first
PATTERN_COUNT: Final = 12
NEXT: Final = 13  # ternary: for each entry the next with the same masked key
SCORES: Final = 14  # ternary: the entry with the highest wins; lpm: length of the prefix
RANGES: Final = 15  # ternary: lowest and highest value for each range key of each entry
TABLE_WORDS: Final = 16

# A meter: eight words. Doubles but for the first and the last.
RATES: Final = 0  # how many buckets
COMMITTED: Final = 1  # rate and burst of the committed bucket, then of the peak bucket
LEVELS: Final = 5  # of both
LAST_US: Final = 7
METER_WORDS: Final = 8
