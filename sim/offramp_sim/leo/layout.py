# SPDX-License-Identifier: Apache-2.0
"""Words of the simulator's context; times are picoseconds. The calendar is the packet simulator's."""

from __future__ import annotations

from typing import Final

from offramp_sim.packets.layout import EVENT_KINDS, HEAP, HEAP_USED, NOW, SEQUENCE

__all__ = ["EVENT_KINDS", "HEAP", "HEAP_USED", "NOW", "SEQUENCE"]

REQUESTS: Final = 8
WINDOW: Final = 9  # requests there at a time; 0: they come when they come
STEPS_AHEAD: Final = 10  # 0: the selectors choose; k: the best of k steps, with the queues and the future known
RESOURCES: Final = 11
TENANTS: Final = 12
PATHS: Final = 13
ISSUED: Final = 14  # requests so far
ENDED: Final = 15
SEEN: Final = 16  # when BACKLOG was right
MOST_STEPS: Final = 17  # of a path

# Addresses of arrays: what is given.
ARRIVALS: Final = 20  # requests
KINDS: Final = 21
KEYS: Final = 22
OWNERS: Final = 23  # tenant of each request
NETWORKS: Final = 24  # time on the network
FACTORS: Final = 25  # requests x most steps: UNIT for as long as the step says
MEMORIES: Final = 26  # tenants: address of the selector
FIRST: Final = 27  # types x paths + 1: place of the first step
PLACES: Final = 28  # steps: resource, DELAY or NETWORK
TIMES: Final = 29  # steps: ps; of the network UNIT for all of a request's time there
CAPACITY: Final = 30  # resources
WEIGHTS: Final = 31  # tenants: UNIT over the weight

# What changes.
CHOSEN: Final = 32  # requests: path
STEP: Final = 33
CAME: Final = 34  # when a request was there
BEGAN: Final = 35  # when it was under way
FINISHED: Final = 36
AWAY: Final = 37  # how long it was on the network
TAGS: Final = 38  # start tag in the queue where it is
NEXT: Final = 39
BUSY: Final = 40  # resources: servers at work
VIRTUAL: Final = 41  # resources: start tag of the last in service
WORKED: Final = 42  # resources: time of servers at work
HEADS: Final = 43  # resources x tenants
TAILS: Final = 44
ENDS: Final = 45  # resources x tenants: finish tag of the last that came
BACKLOG: Final = 46  # resources: equations 6.1 and 6.2
GAPS: Final = 47  # steps ahead
SCRATCH: Final = 48
CHOICE: Final = 49
CONTEXT: Final = 50

ARRIVAL: Final = 0
STEP_ENDS: Final = 1
UNIT_SHIFT: Final = 16
UNIT: Final = 1 << UNIT_SHIFT
NOBODY: Final = -1
