# SPDX-License-Identifier: Apache-2.0
"""Where the engine keeps what: indices of 64-bit words. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from typing import Final

# The context.
NOW: Final = 0  # picoseconds
SEQUENCE: Final = 1  # events scheduled so far: ties in time are served in this order
RANDOM: Final = 2
HOSTS: Final = 3  # number of hosts; switches are the nodes after them, leaves first
LEAVES: Final = 4
HEAP: Final = 5
HEAP_USED: Final = 6
HEAP_SIZE: Final = 7
POOL: Final = 8  # packets in flight
POOL_USED: Final = 9
POOL_SIZE: Final = 10
POOL_FREE: Final = 11  # first free packet, linked through its first word; -1: none
MARGIN: Final = 12  # packets and events that one event may make
PORT: Final = 13
HOST: Final = 14
FLOW: Final = 15
ROUTE: Final = 16  # first port towards each host, by switch and host
FAN: Final = 17  # how many equal ports there are from that one on
LEAF_OF: Final = 18  # leaf of each host
FLOWS_LEFT: Final = 19
EVENTS: Final = 20
HEADER: Final = 21  # link bytes of a flow's packet beyond its payload
PAYLOAD: Final = 22  # most payload of a flow's packet
RETRY_PS: Final = 23  # after which a dropped packet of a flow is sent again
# SwitchGNN.
BLOCKS: Final = 24
CHUNKS: Final = 25
DATA_BYTES: Final = 26
SHORT_BYTES: Final = 27
ACKS: Final = 28
CONTROL: Final = 29  # whether hosts obey marks
TIMEOUT_PS: Final = 30
PASS_PS: Final = 31  # time of a pipeline pass; 0: free
OWNER: Final = 32  # of each vertex of each block, numbered one after the other
BLOCK_OF: Final = 33
ROW: Final = 34
NEIGHBOUR: Final = 35
UPLOAD_ROW: Final = 36  # by block and host
UPLOAD: Final = 37
REMAIN: Final = 38  # packets that a host still waits for, by block and host
ACK_ROW: Final = 39
ACK_HOST: Final = 40
LEFT: Final = 41  # contributions that an aggregator waits for, by leaf, vertex and chunk; then the same at first
MARKED_SUM: Final = 42
SEEN: Final = 43
FINISHED: Final = 44
MISSING: Final = 45  # features that a host still waits for after a time-out
GOT: Final = 46  # whether it has them, by neighbour and chunk
ROUND: Final = 47  # of the switch
DONE_COUNT: Final = 48
DONE_ROUND: Final = 49  # last round that each host has reported
HOSTS_LEFT: Final = 50  # hosts that have not seen the last GO
END: Final = 51
PASS_FREE: Final = 52  # when each leaf's pipeline is free
FREE_AGGREGATORS: Final = 53  # strawman: free ones; -1: blocks, every vertex has its own
MODE: Final = 54  # strawman: what a vertex has got
VERTICES: Final = 55
PASSES: Final = 56
FETCHES: Final = 57
TIMEOUTS: Final = 58
CUTS: Final = 59
ACK_LINK_BYTES: Final = 60
GUARD_PS: Final = 61  # between cuts of a rate
RAISE_PS: Final = 62  # without a mark, until the rate is raised
CONTEXT_WORDS: Final = 64

# A port: one direction of a link.
RATE: Final = 0  # picoseconds a byte
DELAY: Final = 1
LIMIT: Final = 2  # bytes that may wait
MARK: Final = 3  # bytes above which packets are marked
LOSS: Final = 4  # probability times 2^32
TARGET: Final = 5
FREE: Final = 6  # when all that waits has left
SENT_BYTES: Final = 7
SENT: Final = 8
DROPPED: Final = 9
MARKS: Final = 10
PEAK: Final = 11  # bytes
LOST: Final = 12
PORT_WORDS: Final = 13

# A packet.
KIND: Final = 0
NODE: Final = 1  # that it arrives at
TO: Final = 2  # host
SIZE: Final = 3  # bytes of link time
A: Final = 4  # flow, vertex or host
B: Final = 5  # payload, chunk or round
C: Final = 6  # count or another vertex
ECN: Final = 7
PACKET_WORDS: Final = 8

# A host.
RING: Final = 0  # flow that sends next, -1: none
AWAKE: Final = 1  # when the next wake-up is due, -1: never
AT_ROUND: Final = 2
NEXT_UPLOAD: Final = 3
NEXT_CHUNK: Final = 4
LAST_UPLOAD: Final = 5
PROGRESS: Final = 6  # when something useful last happened
PATIENCE: Final = 7  # the current time-out
RATE_MBPS: Final = 8
LINE_MBPS: Final = 9
NEXT_SEND: Final = 10
LAST_CUT: Final = 11
LAST_RAISE: Final = 12
TURN: Final = 13  # 1: a flow goes before the next upload
HOST_WORDS: Final = 14

# A flow.
SOURCE: Final = 0
SINK: Final = 1
TO_SEND: Final = 2
TO_ARRIVE: Final = 3
START: Final = 4
FINISH: Final = 5
NEXT: Final = 6  # flow after it in the ring, -1: not in the ring
FLOW_WORDS: Final = 7

# Kinds of packets (specification section 3.4) and of events.
FLOW_DATA: Final = 0
DATA: Final = 1
RESULT: Final = 2
PARTIAL: Final = 3
RAW: Final = 4
FETCH: Final = 5
RESEND: Final = 6
ACK: Final = 7
DONE: Final = 8
GO: Final = 9
ARRIVAL: Final = 0
WAKE: Final = 1
TIMER: Final = 2
FLOW_START: Final = 3
EMISSION: Final = 4
EVENT_KINDS: Final = 8

# What run() returns.
FINISHED_RUN: Final = 0
NEEDS_ROOM: Final = 1
STARVED: Final = 2
