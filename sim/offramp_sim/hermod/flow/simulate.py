# SPDX-License-Identifier: Apache-2.0
"""One run: a loaded DAG under a policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Dag
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays
from offramp_sim.hermod.flow.layout import NOBODY, FlowRunState
from offramp_sim.hermod.flow.network import Loaded, PlainLoad
from offramp_sim.hermod.flow.policies import Order, order_of

_SLICE: Final = 20_000
"""Events between two progress reports."""
SLACK_S: Final = 1e-6
"""Difference in seconds below which ends count as one: a link's propagation delay."""


@dataclass(frozen=True)
class FlowResult:
    """Times of everything that happened.

    Attributes:
        start, end: start and end of each task of the DAG, in seconds.
        iteration_ends: end of each iteration (:func:`iteration_ends`).
        events: that the engine worked through.
    """

    loaded: Loaded
    start: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    iteration_ends: tuple[float, ...]
    events: int

    @property
    def iteration_s(self) -> float:
        """Seconds of the last iteration, in which the pipeline is warm."""
        ends = self.iteration_ends
        return ends[-1] - ends[-2] if len(ends) > 1 else ends[-1]


@cache
def engine() -> Callable[..., int]:
    """The main loop in machine code, called with a context and a number of events."""
    from offramp_base.native.library import compiled
    from offramp_sim.hermod.flow.engine import run

    return compiled(run)


def simulate(
    loaded: Loaded,
    policy: str,
    *,
    queues: int | None = None,
    scheme: str = "split",
    hosts: str = "queues",
    slack_s: float = SLACK_S,
    progress: Callable[[float], None] | None = None,
) -> FlowResult:
    """Run a policy (:func:`offramp_sim.hermod.flow.policies.order_of`); ``progress`` gets the share of tasks done.

    Raises:
        OfframpError: an unknown policy, or a DAG in which nothing can proceed.
    """
    order = order_of(loaded.dag, policy, queues, scheme, hosts)
    kept = memory(loaded, order, slack_s)
    changes = list(loaded.fabric.changes)
    kept.fields.until = changes[0][0] if changes else math.inf
    run = engine()
    while True:
        state = run(kept.address, _SLICE)
        if state == 2:
            raise OfframpError("the DAG cannot proceed: a cycle, or a flow without capacity")
        if progress is not None:
            progress(kept.fields.done / max(1, kept.fields.tasks))
        if state == 1:
            break
        if state == 3:
            time_s, fabric = changes.pop(0)
            kept = rerouted(kept, loaded.reload(fabric), order, time_s)
            kept.fields.until = changes[0][0] if changes else math.inf
    end = kept[FlowRunState.end]
    return FlowResult(loaded, kept[FlowRunState.start], end, iteration_ends(loaded.dag, end), kept.fields.events)


def iteration_ends(dag: Dag, end: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """The end of each iteration, from those of all tasks: that of its last task or computation, as the DAG has it."""
    of = dag.iteration_of_ends()
    return tuple(float(end.max(initial=0.0, where=of == iteration)) for iteration in range(dag.iterations))


def memory(
    loaded: Loaded | PlainLoad, order: Order, slack_s: float, *, punctual: bool = False
) -> RecordArrays[FlowRunState]:
    """The engine's context for a run, and the arrays that it points to; pages that are never written take no memory.

    With ``punctual``, starts and ends within ``slack_s`` share an allocation of rates and keep their own times.
    """
    run = FlowRunState
    tasks, flows = len(loaded.delay), len(loaded.load)
    resources, ports = len(loaded.capacity), loaded.ports
    uses = np.diff(loaded.use_row)
    nodes = int(np.bincount(loaded.load, minlength=len(uses)) @ uses)
    short, real, byte = np.int32, np.float64, np.uint8
    coflow = loaded.coflow_of_flow
    arrays: dict[object, Any] = {
        run.delay: loaded.delay,
        run.waits: loaded.waits.copy(),
        run.after_row: loaded.after_row,
        run.after: loaded.after,
        run.flow_row: loaded.flow_row,
        run.open_flows: np.diff(loaded.flow_row),
        run.loads: loaded.load,
        run.use_row: loaded.use_row,
        run.use: loaded.use,
        run.amount: loaded.amount,
        run.weight: loaded.weight,
        run.levels: order.level.astype(short)[coflow],
        run.hosts: (order.level if order.host is None else order.host).astype(short)[coflow],
        run.sides: order.side.astype(byte)[coflow],
        run.capacity: loaded.capacity.copy(),
    }
    for size, kind, fill, fields in (
        (resources, real, 0, (run.room, run.demand, run.lowest)),
        (resources, np.int64, 0, (run.reached,)),
        (resources, short, NOBODY, (run.first, run.last)),
        (ports, short, 0, (run.held, run.top)),
        (tasks, real, 0, (run.start, run.end, run.heap_time)),
        (tasks, np.int64, 0, (run.heap_task,)),
        (flows, real, 0, (run.left, run.rate, run.since, run.due, run.was, run.level)),
        (flows, np.int64, 0, (run.queue,)),
        (flows, short, 0, (run.spare, run.gone, run.task, run.load, run.classes, run.host)),
        (flows, short, 0, (run.ends, run.place, run.first_node, run.members, run.witness)),
        (flows, byte, 0, (run.side, run.queued, run.member, run.fixed)),
        (nodes, short, 0, (run.after_node, run.before_node, run.node_flow, run.node_class)),
        (nodes, real, 0, (run.node_amount,)),
        (int(uses.max(initial=0)) + 1, short, NOBODY, (run.free_nodes,)),
    ):
        for field in fields:
            arrays[field] = np.full(size, fill, kind) if fill else np.zeros(max(1, size), kind)
    records = RecordArrays(FlowRunState)
    context = records.fields
    context.tasks, context.ports, context.slack, context.until = tasks, ports, slack_s, math.inf
    context.punctual = punctual
    context.fifo, context.ordered = order.fifo, order.host is not None
    for place, array in arrays.items():
        records.give(place, array)
    _begin(loaded, records)
    return records


def rerouted(
    before: RecordArrays[FlowRunState], loaded: Loaded, order: Order, time_s: float
) -> RecordArrays[FlowRunState]:
    """The same run from a time on, on other links: what has arrived has arrived, the rest takes its new way at once."""
    run, was = FlowRunState, before.fields
    after = memory(loaded, order, was.slack)
    now = after.fields
    kept: tuple[Any, ...] = (run.waits, run.open_flows, run.start, run.end, run.heap_time, run.heap_task)
    for place in kept:
        after[place][:] = before[place]
    now.heap_count, now.events, now.done, now.clock = was.heap_count, was.events, was.done, time_s
    idle = before[run.spare][: was.spare_count]
    flows = np.setdiff1d(np.arange(was.fresh_slot), idle)
    flows = flows[np.lexsort((before[run.since][flows], before[run.classes][flows]))]
    count = len(flows)
    kept = (run.task, run.load, run.classes, run.host, run.side)
    for place in kept:
        after[place][:count] = before[place][flows]
    sent = before[run.rate][flows] * (time_s - before[run.since][flows])
    after[run.left][:count] = np.maximum(before[run.left][flows] - sent, 0.0)
    after[run.since][:count] = time_s
    after[run.place][:count] = after[run.witness][:count] = NOBODY
    now.fresh_slot = now.rejoining = count
    return after


def _begin(loaded: Loaded | PlainLoad, records: RecordArrays[FlowRunState]) -> None:
    """Start the delays of tasks that wait for nothing."""
    ready = np.flatnonzero(loaded.waits == 0)
    by = ready[np.argsort(loaded.delay[ready], kind="stable")]  # a sorted list is a heap
    records[FlowRunState.heap_time][: len(by)] = loaded.delay[by]
    records[FlowRunState.heap_task][: len(by)] = by
    records.fields.heap_count = len(by)
