# SPDX-License-Identifier: Apache-2.0
"""One run: a loaded DAG under a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Compute, Dag
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays
from offramp_sim.hermod.flow.layout import Context
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.flow.policies import Order, order_of

_SLICE: Final = 20_000
"""Events between two reports of progress."""
SLACK_S: Final = 1e-6
"""Ends within a link's propagation delay count as one."""


@dataclass(frozen=True)
class FlowResult:
    """When everything happened.

    Attributes:
        start, end: of each task of the DAG, in seconds.
        iteration_ends: of each iteration (:func:`iteration_ends`).
        events: that the engine worked through.
    """

    loaded: Loaded
    start: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    iteration_ends: tuple[float, ...]
    events: int

    @property
    def iteration_s(self) -> float:
        """The time of an iteration once the pipeline is warm: the last one's."""
        ends = self.iteration_ends
        return ends[-1] - ends[-2] if len(ends) > 1 else ends[-1]


@cache
def engine() -> Callable[..., int]:
    """The main loop in machine code, of a context and a number of events."""
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
    """Run a policy (:func:`offramp_sim.hermod.flow.policies.order_of`); ``progress`` hears the share of the tasks done.

    Raises:
        OfframpError: an unknown policy, or a DAG in which nothing can go on.
    """
    order = order_of(loaded.dag, policy, queues, scheme, hosts)
    kept = memory(loaded, order, slack_s)
    context = kept.fields
    run = engine()
    while True:
        state = run(kept.address, _SLICE)
        if state == 2:
            raise OfframpError("the DAG cannot go on: a cycle, or a flow without capacity")
        if progress is not None:
            progress(context.done / max(1, context.tasks))
        if state == 1:
            break
    end = kept[Context.end]
    return FlowResult(loaded, kept[Context.start], end, iteration_ends(loaded.dag, end), context.events)


def iteration_ends(dag: Dag, end: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """The end of each iteration, from those of all tasks: that of its last task or computation, as the DAG has it."""
    ends = np.zeros(dag.iterations)
    for k, task in enumerate(dag.tasks) if dag.captured else dag.computations():
        if dag.captured or (isinstance(task, Compute) and task.worker >= 0):
            ends[task.iteration] = max(ends[task.iteration], end[k])
    return tuple(ends.tolist())


def memory(loaded: Loaded, order: Order, slack_s: float) -> RecordArrays[Context]:
    """The engine's context for a run, and the arrays that it points to."""
    tasks, flows = len(loaded.delay), len(loaded.weight)
    resources, ports = loaded.fabric.resources, loaded.fabric.count
    word, real = np.int64, np.float64
    arrays: dict[object, Any] = {
        Context.delay: loaded.delay,
        Context.waits: loaded.waits.copy(),
        Context.after_row: loaded.after_row,
        Context.after: loaded.after,
        Context.flow_row: loaded.flow_row,
        Context.open_flows: np.diff(loaded.flow_row),
        Context.use_row: loaded.use_row,
        Context.use: loaded.use,
        Context.amount: loaded.amount,
        Context.weight: loaded.weight,
        Context.classes: order.level[loaded.coflow_of_flow].copy(),
        Context.host: (order.level if order.host is None else order.host)[loaded.coflow_of_flow].copy(),
        Context.side: order.side[loaded.coflow_of_flow].copy(),
        Context.owner: np.repeat(np.arange(tasks), np.diff(loaded.flow_row)),
        Context.left: np.ones(flows),
        Context.capacity: loaded.fabric.capacity.copy(),
        Context.clock: np.zeros(1),
        Context.slack: np.array([slack_s]),
        Context.held: np.zeros(ports, word),
        Context.top: np.zeros(ports, word),
    }
    for field, size, kind in (
        (Context.rate, flows, real),
        (Context.active, flows, word),
        (Context.room, resources, real),
        (Context.demand, resources, real),
        (Context.lowest, resources, real),
        (Context.level, flows, real),
        (Context.fixed, flows, word),
        (Context.start, tasks, real),
        (Context.end, tasks, real),
        (Context.heap_time, tasks, real),
        (Context.heap_task, tasks, word),
        (Context.stack, flows, word),
    ):
        arrays[field] = np.zeros(max(1, size), kind)
    made = RecordArrays(Context)
    context = made.fields
    context.tasks, context.resources, context.ports = tasks, resources, ports
    context.fifo, context.ordered = order.fifo, order.host is not None
    for given, array in arrays.items():
        made.give(given, array)
    ready = np.flatnonzero(loaded.waits == 0)
    by = ready[np.argsort(loaded.delay[ready], kind="stable")]  # a sorted list is a heap
    made[Context.heap_time][: len(by)] = loaded.delay[by]
    made[Context.heap_task][: len(by)] = by
    context.heap_count = len(by)
    return made
