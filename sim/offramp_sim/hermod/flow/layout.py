# SPDX-License-Identifier: Apache-2.0
"""Where the engine keeps what: words of its context. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from offramp_base.native.records import Record
from offramp_base.native.subset import Doubles, Words


class Context(Record):
    """The whole state of a run. Addresses point into NumPy arrays that Python owns."""

    tasks: int
    resources: int
    ports: int  # the first resources are the sending sides of NICs
    delay: Doubles  # seconds before a task's flows start; the task's own time if it has none
    waits: Words  # tasks that a task still waits for
    after_row: Words  # tasks that wait for it
    after: Words
    flow_row: Words  # flows of a task
    open_flows: Words  # of them not finished
    use_row: Words  # resources of a flow
    use: Words
    amount: Doubles  # bytes that the whole flow puts on the resource
    weight: Doubles  # of a flow in fair sharing, in whole flows a second
    classes: Words  # lower goes first; FIFO fills it in
    side: Words  # 1: holds flows of side 2 of the same sender back
    owner: Words  # task of a flow
    left: Doubles  # share of the flow that has not arrived
    rate: Doubles  # shares a second
    active: Words  # flows under way, by class
    active_count: int
    capacity: Doubles  # bytes per second
    room: Doubles  # capacity left in this allocation
    demand: Doubles
    lowest: Doubles
    level: Doubles  # of a flow
    fixed: Words
    start: Doubles
    end: Doubles
    heap_time: Doubles
    heap_task: Words
    heap_count: int
    fifo: int  # by order of arrival, at one time equal: 1 CLASS, 2 HOST
    host: Words  # of a flow, its place at its senders within its class; lower goes first
    events: int
    done: int
    clock: Doubles  # one double
    held: Words  # by port: whether a flow of side 1 sends there
    slack: Doubles  # seconds within which ends count as one event; one double
    stack: Words
    top: Words  # by port: the lowest HOST among flows without a rate
    ordered: int  # 1: senders keep the order of HOST
