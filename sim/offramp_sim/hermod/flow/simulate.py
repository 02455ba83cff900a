# SPDX-License-Identifier: Apache-2.0
"""One run: a loaded DAG under a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Dag
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow import layout as at
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.flow.policies import Order, order_of

_SLICE: Final = 20_000
"""Events between two reports of progress."""
SLACK_S: Final = 1e-6
"""Ends within a link's propagation delay count as one."""


@dataclass(frozen=True)
class Outcome:
    """When everything happened.

    Attributes:
        start, end: of each task of the DAG, in seconds.
        iteration_ends: end of the last computation of each iteration.
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
) -> Outcome:
    """Run a policy (:func:`offramp_sim.hermod.flow.policies.order_of`); ``progress`` hears the share of the tasks done.

    Raises:
        OfframpError: an unknown policy, or a DAG in which nothing can go on.
    """
    order = order_of(loaded.dag, policy, queues, scheme, hosts)
    context, kept = memory(loaded, order, slack_s)
    run = engine()
    while True:
        state = run(context, _SLICE)
        if state == 2:
            raise OfframpError("the DAG cannot go on: a cycle, or a flow without capacity")
        if progress is not None:
            progress(context[at.DONE] / max(1, context[at.TASKS]))
        if state == 1:
            break
    end = kept[at.END]
    return Outcome(loaded, kept[at.START], end, iteration_ends(loaded.dag, end), int(context[at.EVENTS]))


def iteration_ends(dag: Dag, end: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """The end of the last computation of each iteration, from those of all tasks."""
    ends = np.zeros(dag.iterations)
    for k, task in dag.computations():
        if task.worker >= 0:
            ends[task.iteration] = max(ends[task.iteration], end[k])
    return tuple(ends.tolist())


def memory(loaded: Loaded, order: Order, slack_s: float) -> tuple[npt.NDArray[np.int64], dict[int, Any]]:
    """The engine's context for a run, and the arrays that it points to."""
    tasks, flows = len(loaded.delay), len(loaded.weight)
    resources, ports = loaded.fabric.resources, loaded.fabric.count
    word, real = np.int64, np.float64
    arrays: dict[int, Any] = {
        at.DELAY: loaded.delay,
        at.WAITS: loaded.waits.copy(),
        at.AFTER_ROW: loaded.after_row,
        at.AFTER: loaded.after,
        at.FLOW_ROW: loaded.flow_row,
        at.OPEN: np.diff(loaded.flow_row),
        at.USE_ROW: loaded.use_row,
        at.USE: loaded.use,
        at.AMOUNT: loaded.amount,
        at.WEIGHT: loaded.weight,
        at.CLASS: order.level[loaded.coflow_of_flow].copy(),
        at.HOST: (order.level if order.host is None else order.host)[loaded.coflow_of_flow].copy(),
        at.SIDE: order.side[loaded.coflow_of_flow].copy(),
        at.OWNER: np.repeat(np.arange(tasks), np.diff(loaded.flow_row)),
        at.LEFT: np.ones(flows),
        at.CAPACITY: np.full(resources, loaded.fabric.bytes_per_s),
        at.CLOCK: np.zeros(1),
        at.SLACK: np.array([slack_s]),
        at.HELD: np.zeros(ports, word),
        at.TOP: np.zeros(ports, word),
    }
    for place, size, kind in (
        (at.RATE, flows, real),
        (at.ACTIVE, flows, word),
        (at.ROOM, resources, real),
        (at.DEMAND, resources, real),
        (at.LOWEST, resources, real),
        (at.LEVEL, flows, real),
        (at.FIXED, flows, word),
        (at.START, tasks, real),
        (at.END, tasks, real),
        (at.HEAP_TIME, tasks, real),
        (at.HEAP_TASK, tasks, word),
        (at.STACK, flows, word),
    ):
        arrays[place] = np.zeros(max(1, size), kind)
    context = np.zeros(at.CONTEXT_WORDS, word)
    context[at.ORDERED] = order.host is not None
    for place, array in arrays.items():
        arrays[place] = np.ascontiguousarray(array)
        context[place] = arrays[place].ctypes.data
    for place, value in ((at.TASKS, tasks), (at.RESOURCES, resources), (at.PORTS, ports), (at.FIFO, order.fifo)):
        context[place] = value
    ready = np.flatnonzero(loaded.waits == 0)
    by = ready[np.argsort(loaded.delay[ready], kind="stable")]  # a sorted list is a heap
    arrays[at.HEAP_TIME][: len(by)] = loaded.delay[by]
    arrays[at.HEAP_TASK][: len(by)] = by
    context[at.HEAP_COUNT] = len(by)
    return context, arrays
