# SPDX-License-Identifier: Apache-2.0
"""Where the engine keeps what: words of its context. Addresses point into NumPy arrays that Python owns."""

from __future__ import annotations

from typing import Final

TASKS: Final = 0
RESOURCES: Final = 1
PORTS: Final = 2  # the first resources are the sending sides of NICs
DELAY: Final = 3  # seconds before a task's flows start; the task's own time if it has none
WAITS: Final = 4  # tasks that a task still waits for
AFTER_ROW: Final = 5  # tasks that wait for it
AFTER: Final = 6
FLOW_ROW: Final = 7  # flows of a task
OPEN: Final = 8  # of them not finished
USE_ROW: Final = 9  # resources of a flow
USE: Final = 10
AMOUNT: Final = 11  # bytes that the whole flow puts on the resource
WEIGHT: Final = 12  # of a flow in fair sharing, in whole flows a second
CLASS: Final = 13  # lower goes first; FIFO fills it in
SIDE: Final = 14  # 1: holds flows of side 2 of the same sender back
OWNER: Final = 15  # task of a flow
LEFT: Final = 16  # share of the flow that has not arrived
RATE: Final = 17  # shares a second
ACTIVE: Final = 18  # flows under way, by class
ACTIVE_COUNT: Final = 19
CAPACITY: Final = 20  # bytes a second
ROOM: Final = 21  # capacity left in this allocation
DEMAND: Final = 22
LOWEST: Final = 23
LEVEL: Final = 24  # of a flow
FIXED: Final = 25
START: Final = 26
END: Final = 27
HEAP_TIME: Final = 28
HEAP_TASK: Final = 29
HEAP_COUNT: Final = 30
FIFO: Final = 31  # by order of arrival, at one time equal: 1 CLASS, 2 HOST
HOST: Final = 32  # of a flow, its place at its senders within its class; lower goes first
EVENTS: Final = 33
DONE: Final = 34
CLOCK: Final = 35  # one double
HELD: Final = 36  # by port: whether a flow of side 1 sends there
SLACK: Final = 37  # seconds within which ends count as one event; one double
STACK: Final = 38
TOP: Final = 39  # by port: the lowest HOST among flows without a rate
ORDERED: Final = 40  # 1: senders keep the order of HOST
CONTEXT_WORDS: Final = 41
