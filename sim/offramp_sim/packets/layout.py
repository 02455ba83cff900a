# SPDX-License-Identifier: Apache-2.0
"""Where the engine keeps what: indices of 64-bit words. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import At, Record
from offramp_base.native.subset import Bytes, Ints, Words


class Port(Record):
    """One direction of a link."""

    rate: int  # picoseconds a byte
    delay: int
    limit: int  # bytes that may wait
    mark: int  # bytes above which packets are marked
    loss: int  # probability times 2^32
    target: int
    free: int  # when all that waits has left
    sent_bytes: int
    sent: int
    dropped: int
    marks: int
    peak: int  # bytes
    lost: int


class Packet(Record):
    """A packet in flight."""

    kind: int
    node: int  # that it arrives at
    to: int  # host
    size: int  # bytes of link time
    a: int  # flow, vertex or host
    b: int  # payload, chunk or round
    c: int  # count or another vertex
    ecn: int


class Host(Record):
    """What a host sends next, and how fast."""

    ring: int  # flow that sends next, -1: none
    awake: int  # when the next wake-up is due, -1: never
    at_round: int
    next_upload: int
    next_chunk: int
    last_upload: int
    progress: int  # when something useful last happened
    patience: int  # the current time-out
    rate_mbps: int
    line_mbps: int
    next_send: int
    last_cut: int
    last_raise: int
    turn: int  # 1: a flow goes before the next upload


class Flow(Record):
    """Background traffic from one host to another."""

    source: int
    sink: int
    to_send: int
    to_arrive: int
    start: int
    finish: int
    next: int  # flow after it in the ring, -1: not in the ring


class Calendar(Record):
    """Events in the order of their times."""

    now: int  # picoseconds
    sequence: int  # events scheduled so far: ties in time are served in this order
    heap: Words
    heap_used: int
    heap_size: int


class Context(Calendar):
    """The whole state of a simulation."""

    random: int
    host_count: int  # number of hosts; switches are the nodes after them, leaves first
    leaf_count: int
    packets: At[Packet]  # packets in flight
    pool_used: int
    pool_size: int
    pool_free: int  # first free packet, linked through its first word; -1: none
    margin: int  # packets and events that one event may make
    ports: At[Port]
    hosts: At[Host]
    flows: At[Flow]
    routes: Words  # first port towards each host, by switch and host
    fans: Words  # how many equal ports there are from that one on
    leaf_of: Words  # leaf of each host
    flows_left: int
    events: int
    header: int  # link bytes of a flow's packet beyond its payload
    payload: int  # most payload of a flow's packet
    retry_ps: int  # after which a dropped packet of a flow is sent again

    # SwitchGNN.
    blocks: int
    chunks: int
    data_bytes: int
    short_bytes: int
    acks: int
    control: int  # whether hosts obey marks
    timeout_ps: int
    pass_ps: int  # time of a pipeline pass; 0: free
    owners: Ints  # of each vertex of each block, numbered one after the other
    block_of: Ints
    rows: Words
    neighbours: Ints
    upload_rows: Words  # by block and host
    uploads: Words
    remain: Words  # packets that a host still waits for, by block and host
    ack_rows: Words
    ack_hosts: Ints
    left: Ints  # contributions that an aggregator waits for, by leaf, vertex and chunk; then the same at first
    marked_sum: Bytes
    seen: Bytes
    finished: Bytes
    missing: Ints  # features that a host still waits for after a time-out
    got: Bytes  # whether it has them, by neighbour and chunk
    round: int  # of the switch
    done_count: int
    done_round: Words  # last round that each host has reported
    hosts_left: int  # hosts that have not seen the last GO
    end: int
    pass_free: Words  # when each leaf's pipeline is free
    free_aggregators: int  # strawman: free ones; -1: blocks, every vertex has its own
    mode: Bytes  # strawman: what a vertex has got
    vertices: int
    passes: int
    fetches: int
    timeouts: int
    cuts: int
    ack_link_bytes: int
    guard_ps: int  # between cuts of a rate
    raise_ps: int  # without a mark, until the rate is raised
    reserved: int


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
