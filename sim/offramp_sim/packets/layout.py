# SPDX-License-Identifier: Apache-2.0
"""Layout of the engine's memory in 64-bit words. Addresses point into NumPy arrays that Python owns.

Each partition of the network has its own :class:`PartitionState`. They reach what they share (ports, nodes, the
exchange) through the same addresses, and each word of it is written by one partition only.
"""

from __future__ import annotations

from typing import Annotated, Final

from offramp_base.native.records import At, Record
from offramp_base.native.subset import Bytes, Doubles, Ints, Words

NEVER_PS: Final = 1 << 62
RATE_BITS: Final = 8
"""Bits behind the point of a port's rate."""
LINE_WORDS: Final = 8
"""Words of a cache line."""


class PacketRecord(Record):
    """A packet in flight: a slot of the queue of its link."""

    time: int  # of arrival at the other end; 0: the slot is empty
    label: int  # to, size, mark, kind
    subject: int  # a: flow, vertex or host; b: payload, chunk or round
    extra: int  # c: count or another vertex; when it was sent


# Within the words of a packet.
HALF: Final = 32
LOW: Final = (1 << HALF) - 1
SIZE_BITS: Final = 24
SIZE_MASK: Final = (1 << SIZE_BITS) - 1  # link bytes
ECN_SHIFT: Final = HALF + SIZE_BITS
ECN: Final = 1 << ECN_SHIFT
KIND_SHIFT: Final = ECN_SHIFT + 1
KIND_MASK: Final = 15
NOBODY: Final = LOW  # the address of what a switch keeps

# Queues are chains of blocks; the first word of a block leads to the next.
PACKET_BYTES: Final = 32
BLOCK_BYTES: Final = 256
BLOCK_MASK: Final = BLOCK_BYTES - 1
BLOCK_SLOTS: Final = BLOCK_BYTES // PACKET_BYTES - 1
MOST_EVENTS: Final = 16
"""More than one event schedules: it drops one packet of a flow at most."""


class PortRecord(Record):
    """The sending end of one direction of a link. Most packets need only the first eight words."""

    free: int  # when all that waits has left
    write: int  # address of the next empty slot
    delay: int
    rate: int  # picoseconds per byte times 256
    check: int  # waiting time from which a packet may be marked or dropped; 0: it may be lost
    sent_bytes: int
    peak: int  # longest waiting time, the packet's own included
    target: int  # node; -1 - node where another partition has it
    limit: int  # waiting time from which a packet is dropped
    mark: int  # waiting time from which it is marked
    loss: int  # probability times 2^32
    random: int
    dropped: int
    marks: int
    lost: int
    owner: int  # partition of the sending node


class SwitchRecord(Record):
    """Routes of a switch: down by division, up by a hash of the flow."""

    first_in: int  # ports that lead here
    last_in: int
    low: int  # first host below
    span: int  # how many hosts are below
    divisor: int  # hosts below each port
    down: int  # port to the first of them
    down_stride: int
    up: int  # first port upwards
    up_stride: int
    ups: int
    level: int
    random: int
    loop: int  # port to itself, for packets that the pipeline keeps for a while


class HostRecord(Record):
    """State of a host: what it sends next, and how fast."""

    ring: int  # flow that has sent last, -1: none has anything to send
    awake: int  # when it looks for something to send
    timer: int  # when it looks whether anything has happened
    pending: int  # first start of a flow that is due, -1: none
    last_pending: int
    port: int
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
    last_notice: int  # when it last told the senders of a sum of its mark
    turn: int  # 1: a flow goes before the next upload
    held: int  # root of the flows that wait for their time, NOTHING: none


class FlowStart(Record):
    """A flow that has something to send, at its host."""

    time: int
    flow: int
    size: int
    next: int


class FlowRecord(Record):
    """The sending end of a flow."""

    source: int
    sink: int
    to_send: int
    next: int  # flow after it in the ring, -1: not in the ring


class FlowSink(Record):
    """The receiving end of a flow; a cache line, as the next one may belong to another partition."""

    to_arrive: int
    finish: int
    padding: Annotated[Words, 6]


class SenderCongestion(Record):
    """State of congestion control at the sending end of a flow; windows in bytes, rates in bytes per picosecond."""

    in_flight: int
    sent: int  # bytes so far, those sent again included
    settled: int  # bytes acknowledged or lost
    resent: int
    next_send: int
    round_trip: int  # the latest
    unloaded: int  # round trip of a packet that meets no other
    window: float
    threshold: float  # below which the window doubles in a round trip
    alpha: float  # of DCTCP or DCQCN: how much is marked
    acked: int  # in this round trip
    marked: int
    round_end: int  # of ``sent``
    cut_until: int  # of ``settled`` (DCTCP) or a time: no second cut before
    rate: float
    target: float
    alpha_due: int
    raise_due: int
    raises_by_time: int
    raises_by_bytes: int
    bytes_since: int
    held: int  # 1: waits for ``next_send``
    line: float  # rate of the host's link
    child: int
    sibling: int


class ReceiverCongestion(Record):
    """State of congestion control at the receiving end of a flow."""

    packets: int
    delay: int  # one way, of all of them
    longest: int
    next_notice: int  # DCQCN: no congestion notice before


class QueueSample(Record):
    """Queue that packets found at the watched port within an interval, in picoseconds of its line."""

    packets: int
    total: int
    least: int
    most: int


class Meeting(Record):
    """The state that a partition publishes to the others at the end of a window; a cache line."""

    window: int  # written last
    low: int  # earliest time of what it knows to be due
    left: int  # hosts and flows that it waits for
    failed: int
    padding: Annotated[Words, 4]


class Returned(Record):
    """Blocks that go back to the partition that fills them; a cache line."""

    first: int
    last: int
    count: int
    padding: Annotated[Words, 5]


class Calendar(Record):
    """Events in the order of their times."""

    now: int  # picoseconds
    sequence: int  # events scheduled so far: ties in time are served in this order
    heap: Words
    heap_used: int
    heap_size: int


class PartitionState(Calendar):
    """The state of a partition."""

    part: int
    parts: int
    window: int  # number of the current one
    window_ps: int  # what happens in a window touches no other node within it
    begin: int
    end_of_window: int
    stage: int
    node: int  # the next one of this window
    place: int  # arrivals of the node that have been served
    gathered: int  # and how many there are
    gather_port: int
    gather_low: int
    sort_size: int
    keys: Words  # time and port of each arrival
    slots: Words  # its address
    sorted_keys: Words
    sorted_slots: Words
    counts: Words
    starts: At[FlowStart]
    starts_used: int
    ranges: Words  # first and last node, for each level
    range_count: int
    news: Words  # by window, from, to: how many ports have got packets for the other partition, and which
    news_size: int
    noted: Words  # by port, the window in which it was last among them
    notices: int  # first of the ports, partition by partition, that carry drops to the partition of their flows
    sent_low: int  # earliest time of what went to other partitions in this window
    meetings: At[Meeting]
    returned: At[Returned]  # by window, from, to
    part_of: Bytes  # partition of each node
    lanes: int  # of a divided star, first queue of the hosts' links: by partition of the receiver, sender; 0: none

    free_block: int  # address, 0: none
    retired: int  # blocks whose last packets are being served
    fresh: int  # blocks never used
    blocks_left: int
    margin: int  # blocks that the packets of one event may begin

    host_count: int  # number of hosts; switches are the nodes after them, leaves first
    leaf_count: int
    ports: At[PortRecord]
    reads: Words  # by port: address of the next packet to arrive
    arrival: Words  # and its time
    due: Words  # by node: when it has something to do
    switches: At[SwitchRecord]
    hosts: At[HostRecord]
    flows: At[FlowRecord]
    sinks: At[FlowSink]
    leaf_of: Words  # leaf of each host
    hosts_left: int  # hosts that have not seen the last GO
    flows_left: int
    events: int
    sent: int
    header: int  # link bytes of a flow's packet beyond its payload
    payload: int  # most payload of a flow's packet
    retry_ps: int  # after which a dropped packet of a flow is sent again
    spray: int  # whether packets, not flows, choose among equal paths

    # Any network: ways from each switch to each.
    routing: int  # 0: a tree's switches divide
    switch_count: int
    home: Words  # of each host, the switch that it is at
    way_first: Words  # by switch and target switch
    way_count: Words
    way_ports: Words
    choices: Words  # by host (DESTINATION) or flow (ECMP): what decides among equal ways

    # SwitchGNN.
    blocks: int
    chunks: int
    data_bytes: int
    short_bytes: int
    acks: int  # which sums are acknowledged
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
    round: int  # of the switch that counts reports
    done_count: int
    done_round: Words  # last round that each host has reported
    end: int
    pass_free: Words  # when each leaf's pipeline is free
    on_demand: int  # strawman: aggregators are assigned on demand, as their numbers allow; 0: every vertex has its own
    free_aggregators: Words  # strawman: free ones of each leaf
    mode: Bytes  # strawman: what a vertex has got at each leaf
    alone: Bytes  # strawman: whether the owner has asked for single features, so that sums of leaves count no more
    vertices: int
    passes: int
    fetches: int
    timeouts: int
    cuts: int
    ack_link_bytes: int
    guard_ps: int  # between cuts of a rate
    raise_ps: int  # without a mark, until the rate is raised

    # Congestion control of flows.
    transport: int  # 0: none
    senders: At[SenderCongestion]
    receivers: At[ReceiverCongestion]
    gain: float
    least_window: float
    queue_ps: int  # Swift: what may wait on the way
    scaling: float  # of the target, by the root of the window in packets
    scaling_offset: float
    scaling_range: float
    largest_cut: float
    increase: float  # packets per round trip (Swift), bytes per picosecond (DCQCN)
    hyper_increase: float
    least_rate: float
    alpha_ps: int
    raise_rate_ps: int
    raise_bytes: int
    notice_ps: int
    ramp_ps: int  # waiting time from the first to the last mark threshold; 0: all beyond the first are marked
    ramp_share: int  # of packets at the last one, times 2^32

    use: Doubles  # of each port, of its rate (HPCC)
    use_time: Words  # when it was last measured
    base_ps: int  # the longest round trip of a packet that meets no other (HPCC)
    goal: float  # use at which windows are held (HPCC)
    stages: int  # round trips of additive increase in a row (HPCC)

    watched: int  # port, NOTHING: none
    samples: At[QueueSample]
    sample_count: int
    sample_ps: int


# Kinds of packets (specification section 3.4).
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
FLOW_ACK: Final = 10

NOTHING: Final = -1
ACK_LOST: Final = 1 << 30
"""Flag in the size of a loss: the answer was lost, not the packet."""

# What a vertex has got at a leaf of the strawman.
UNDECIDED: Final = 0
AGGREGATED: Final = 1
DELIVERED: Final = 2

# Sums that are acknowledged.
ACK_MARKED: Final = 1
ACK_ALL: Final = 2

# Routing on any network.
DESTINATION: Final = 1
ECMP: Final = 2
SPRAY: Final = 3
ADAPTIVE: Final = 4

# Congestion control of flows.
DCTCP: Final = 1
DCQCN: Final = 2
SWIFT: Final = 3
HPCC: Final = 4
USE_SHIFT: Final = 50
"""Bits below the use of a packet's busiest link in a packet with the time when it was sent (HPCC)."""
USE_BITS: Final = 10
"""Bits behind the point of that use."""
MOST_USE: Final = (1 << 12) - 1

EVENT_KINDS: Final = 8
"""Kinds of events in a calendar; an item is a number times this, plus the kind."""

# Stages of a window.
MEET: Final = 0
WAIT: Final = 1
NODES: Final = 2

# What run() returns.
FINISHED_RUN: Final = 0
NEEDS_ROOM: Final = 1
STARVED: Final = 2
WAITING: Final = 3
"""Hint that this partition waits for another, which may need the processor."""
FAILED: Final = 4
