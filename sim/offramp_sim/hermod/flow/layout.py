# SPDX-License-Identifier: Apache-2.0
"""Layout of the engine's context in words. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record
from offramp_base.native.subset import Bytes, Doubles, Ints, Words

NOBODY: Final = -1
"""Marks the end of a list, or a flow that is in no heap."""

FREE: Final = 0
FIXED: Final = 1
"""Value of :data:`FlowRunState.fixed` for a flow that has its rate."""
NARROWED: Final = 2
ASIDE: Final = 3


class FlowRunState(Record):
    """The whole state of a run. Addresses point into NumPy arrays that Python owns."""

    tasks: int
    ports: int  # the first resources are the sending sides of NICs
    delay: Doubles  # seconds before a task's flows start; the task's own time if it has none
    waits: Ints  # tasks that a task still waits for
    after_row: Ints  # tasks that wait for it
    after: Ints
    flow_row: Ints  # flows of a task
    open_flows: Ints  # of them not finished
    loads: Ints  # what each flow puts on resources; many have the same
    use_row: Words  # resources of a load
    use: Ints
    amount: Doubles  # bytes that the whole flow puts on the resource
    weight: Doubles  # of a load in fair sharing, in whole flows per second
    capacity: Doubles  # of a resource, bytes per second
    levels: Ints  # each flow's class, lower goes first
    hosts: Ints  # its place at its senders within its class, lower goes first
    sides: Bytes  # 1: holds flows of side 2 of the same sender back
    fifo: int  # by order of arrival, at one time equal: 1 CLASS, 2 HOST
    ordered: int  # 1: senders keep the order of HOST

    start: Doubles
    end: Doubles
    heap_time: Doubles  # delays under way
    heap_task: Words
    heap_count: int

    # Flows under way, by slots, so that what is known of them stays near together in memory.
    spare: Ints  # slots of flows that have ended
    spare_count: int
    fresh_slot: int
    gone: Ints  # slots of flows that end in this event
    gone_count: int
    task: Ints
    load: Ints
    classes: Ints  # with FIFO the order of arrival
    host: Ints
    side: Bytes
    left: Doubles  # share of the flow that had not arrived when its rate last changed
    since: Doubles  # and when that was
    rate: Doubles  # shares per second
    due: Doubles  # when the flow arrives at this rate
    ends: Ints  # heap by DUE
    ends_count: int
    place: Ints  # in it

    first: Ints  # of a resource: its flows under way, by class and then by arrival
    last: Ints
    after_node: Ints  # a node for each resource of each flow under way, those of a flow next to each other
    before_node: Ints
    node_flow: Ints
    node_class: Ints
    node_amount: Doubles
    first_node: Ints
    free_nodes: Ints  # by the number of resources
    fresh_node: int

    queue: Words  # heap of flows whose rates may have changed: class, flow
    queue_count: int
    queued: Bytes
    members: Ints  # flows of one class that are given their rates together
    member_count: int
    member: Bytes
    was: Doubles  # rate of a member before
    fixed: Bytes
    witness: Ints  # a resource that left the flow nothing
    allocation: int  # number of the current one
    reached: Words  # by resource, the last one that needed its ROOM
    room: Doubles  # capacity left in this allocation
    demand: Doubles
    lowest: Doubles
    level: Doubles  # of a member
    held: Ints  # by port: how many flows of side 1 send there
    top: Ints  # by port: the lowest HOST among flows without a rate

    events: int
    done: int
    clock: float
    slack: float  # seconds within which ends count as one event
    rejoining: int  # how many of the first slots hold flows that are on no resource yet, since the network has changed
    punctual: int  # 1: ends of one event keep their own times, and share no more than the allocation of rates
    until: float  # nothing after this time happens
