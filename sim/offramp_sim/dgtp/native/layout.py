# SPDX-License-Identifier: Apache-2.0
"""Words of the fast engine's context: numbers, and addresses of arrays."""

from __future__ import annotations

from typing import Annotated, Final

from offramp_base.native.records import Record
from offramp_base.native.subset import Doubles, Words


class PlacementRunState(Record):
    """The whole state of a run: numbers, and addresses of arrays."""

    tasks: int
    edges: int
    machines: int
    iterations: int
    policy: int
    left_to_do: int
    calendar_used: int
    dirty_used: int
    leaves: int
    flows: int
    notes: int
    reserved: Annotated[Words, 5]

    # Arrays: the problem.
    seconds: Doubles
    at: Words
    ingress: Doubles
    egress: Doubles
    source: Words
    target: Words
    lag: Words
    remote: Words
    out_start: Words
    out_edge: Words
    in_start: Words
    in_edge: Words
    bytes: Doubles
    order: Words
    weight: Doubles
    rank: Words

    # Arrays: progress.
    now: Doubles
    missing: Words
    started: Words
    done: Words
    released: Words
    sent: Words
    calendar_time: Doubles
    calendar_task: Words
    task_start: Doubles
    task_end: Doubles
    flow_start: Doubles
    flow_end: Doubles

    # Arrays: flows of equal shares, by pair of machines.
    head: Words
    next: Words
    mark: Doubles
    first: Doubles
    served: Doubles
    since: Doubles
    rate: Doubles
    tree: Doubles
    entering: Words
    leaving: Words
    is_dirty: Words
    dirty: Words
    peak_in: Words
    peak_out: Words

    # Arrays: flows of the other policies, one by one.
    list: Words
    left: Doubles
    speed: Doubles
    key: Doubles
    arrived: Doubles
    free_in: Doubles
    free_out: Doubles
    count_in: Words
    count_out: Words
    finished: Words

    # Arrays: the critical path.
    ended: Doubles
    arrivals: Doubles
    reserved2: Annotated[Words, 2]


NEVER: Final = 1e300
CLOSE: Final = 1.000000000001
"""Difference below which events count as simultaneous."""

DONE_ALL: Final = 0
STALLED: Final = 1
