# SPDX-License-Identifier: Apache-2.0
"""Layout of the simulator's memory. The calendar is the packet simulator's."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words
from offramp_sim.packets.layout import Calendar


class LeoRunState(Calendar):
    """The whole state of a simulation; times are picoseconds."""

    requests: int
    window: int  # requests there at a time; 0: they come when they come
    steps_ahead: int  # 0: the selectors choose; k: the best of k steps, with the queues and the future known
    resources: int
    tenants: int
    paths: int
    issued: int  # requests so far
    ended: int
    seen: int  # when BACKLOG was right
    most_steps: int  # of a path

    # Addresses of arrays: what is given.
    arrivals: Words  # requests
    kinds: Words
    keys: Words
    owners: Words  # tenant of each request
    networks: Words  # time on the network
    factors: Words  # requests x most steps: UNIT for as long as the step says
    memories: Words  # tenants: address of the selector
    first: Words  # types x paths + 1: place of the first step
    places: Words  # steps: resource, DELAY or NETWORK
    times: Words  # steps: ps; of the network UNIT for all of a request's time there
    capacity: Words  # resources
    weights: Words  # tenants: UNIT over the weight
    slow_from: Words  # resources: between these times a step takes this many times as long
    slow_until: Words
    slow_by: Words

    # What changes.
    chosen: Words  # requests: path
    step: Words
    came: Words  # when a request was there
    began: Words  # when it was under way
    finished: Words
    away: Words  # how long it was on the network
    tags: Words  # start tag in the queue where it is
    next: Words
    busy: Words  # resources: servers at work
    virtual: Words  # resources: start tag of the last in service
    worked: Words  # resources: time of servers at work
    heads: Words  # resources x tenants
    tails: Words
    ends: Words  # resources x tenants: finish tag of the last that came
    backlog: Words  # resources: equations 6.1 and 6.2
    gaps: Words  # steps ahead
    scratch: Words
    choice: Words


ARRIVAL: Final = 0
STEP_ENDS: Final = 1
UNIT_SHIFT: Final = 16
UNIT: Final = 1 << UNIT_SHIFT
NOBODY: Final = -1
