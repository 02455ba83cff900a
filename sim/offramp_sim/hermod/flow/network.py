# SPDX-License-Identifier: Apache-2.0
"""A DAG on a fabric as the engine's arrays; the policies are applied to it later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Compute, Dag, Flows
from offramp.hermod.factors import CType
from offramp_sim.hermod.flow import alltoall
from offramp_sim.hermod.flow.fabric import BisectionFabric

Array = npt.NDArray[Any]
PROPORTIONAL: Final = "coflow"
SEPARATE: Final = "flow"


@dataclass(frozen=True, slots=True)
class FlowLoad:
    """A flow of the engine: a coflow as a whole, or one of its flows.

    Attributes:
        resource, amount: bytes that it puts where.
        weight: its weight in fair sharing.
    """

    resource: Array
    amount: Array
    weight: float


@dataclass(frozen=True, kw_only=True)
class EngineLoad:
    """Tasks with their flows, as arrays.

    Attributes:
        delay: seconds of each task before its flows.
        waits, after_row, after: how many tasks each waits for, and which wait for it.
        flow_row: flows of each task.
        coflow_of_flow: position of each flow's coflow among the coflows.
        load: what each flow puts on resources; coflows that are alike share it.
        use_row, use, amount, weight: resources of each load, and its weight.
    """

    delay: Array
    flow_row: Array
    coflow_of_flow: Array
    load: Array
    use_row: Array
    use: Array
    amount: Array
    weight: Array
    after_row: Array
    after: Array
    waits: Array


@dataclass(frozen=True, kw_only=True)
class Loaded(EngineLoad):
    """A DAG and its fabric as the engine's arrays."""

    dag: Dag
    fabric: BisectionFabric
    reload: Callable[[BisectionFabric], Loaded] = field(repr=False, compare=False)
    """The same DAG on another state of the fabric."""

    @property
    def capacity(self) -> Array:
        """Bytes per second of each resource."""
        return self.fabric.capacity

    @property
    def ports(self) -> int:
        """How many of the first resources are sending sides of NICs."""
        return self.fabric.count


@dataclass(frozen=True, kw_only=True)
class PlainLoad(EngineLoad):
    """Tasks and flows on resources of any kind.

    Attributes:
        capacity: amount per second of each resource.
        ports: how many of the first ones are sending sides of NICs.
    """

    capacity: Array
    ports: int = 0


def load(
    dag: Dag,
    fabric: BisectionFabric,
    *,
    granularity: str = PROPORTIONAL,
    all_to_all: str = "fluid",
    overhead_s: float = 0.0,
    tensor_bytes_per_s: float = 300e9,
) -> Loaded:
    """Route every coflow.

    An all-to-all is one load whose flows keep their proportions (``coflow``) or many loads (``flow``); a ring moves in
    step and is always one. In fair sharing a load weighs as many flows as meet at its busiest NIC.
    """
    delay = np.zeros(len(dag.tasks))
    loads: list[FlowLoad] = []
    row, owner = [0], []
    known: dict[tuple[int, int], tuple[range, float]] = {}
    load_of: list[int] = []
    position = 0
    for k, task in enumerate(dag.tasks):
        if isinstance(task, Compute):
            delay[k] = task.seconds
        elif task.ctype is CType.TP:
            delay[k] = task.flows.size.sum() / tensor_bytes_per_s
            position += 1
        else:
            name = id(task.flows), int(task.ctype)
            if name not in known:
                task_loads, seconds = loads_of(task.flows, task.ctype, fabric, granularity, all_to_all, overhead_s)
                known[name] = range(len(loads), len(loads) + len(task_loads)), seconds
                loads += task_loads
            numbers, delay[k] = known[name]
            delay[k] += task.latency_s
            load_of += numbers
            owner += [position] * len(numbers)
            position += 1
        row.append(len(load_of))
    after_row, after, waits = _followers(dag)
    return Loaded(
        dag=dag,
        fabric=fabric,
        reload=partial(
            load,
            dag,
            granularity=granularity,
            all_to_all=all_to_all,
            overhead_s=overhead_s,
            tensor_bytes_per_s=tensor_bytes_per_s,
        ),
        delay=delay,
        flow_row=np.array(row, np.int32),
        coflow_of_flow=np.array(owner, np.int32),
        load=np.array(load_of, np.int32),
        **_load_table(loads),
        after_row=after_row,
        after=after,
        waits=waits,
    )


def _load_table(loads: list[FlowLoad]) -> dict[str, Array]:
    counts, empty = np.array([len(each.resource) for each in loads], np.int64), [np.empty(0)]
    return {
        "use_row": np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        "use": np.concatenate([each.resource for each in loads] or empty).astype(np.int32),
        "amount": np.concatenate([each.amount for each in loads] or empty),
        "weight": np.array([each.weight for each in loads], np.float64),
    }


def _followers(dag: Dag) -> tuple[Array, Array, Array]:
    waits = np.array([len(task.waits) for task in dag.tasks], np.int32)
    task = np.repeat(np.arange(len(dag.tasks)), waits)
    before = np.array([b for t in dag.tasks for b in t.waits], np.int64)
    by = np.argsort(before, kind="stable")
    row = np.searchsorted(before[by], np.arange(len(dag.tasks) + 1))
    return row.astype(np.int32), task[by].astype(np.int32), waits


def loads_of(
    flows: Flows,
    ctype: CType,
    fabric: BisectionFabric,
    granularity: str = PROPORTIONAL,
    all_to_all: str = "fluid",
    overhead_s: float = 0.0,
) -> tuple[list[FlowLoad], float]:
    """Loads of a coflow, and seconds of overhead before it."""
    flow, resource, amount = fabric.route(flows, ctype)
    if not len(flow):
        return [], 0.0
    seconds = 0.0
    if ctype is CType.EP and len(flows.size) > 1:
        factor, seconds = alltoall.cost(flows, all_to_all, overhead_s, fabric.bytes_per_s / fabric.share)
        amount = amount * factor
    if granularity == SEPARATE and ctype is CType.EP:
        by = np.argsort(flow, kind="stable")
        cuts = np.flatnonzero(np.diff(flow[by])) + 1
        parts = zip(np.split(resource[by], cuts), np.split(amount[by], cuts), strict=True)
        return [FlowLoad(r, a, 1 / a[0]) for r, a in parts], seconds
    places, total, weight = together(resource, amount[None], fabric)
    return [FlowLoad(places, total[0], float(weight[0]))], seconds


def together(resource: Array, amounts: Array, fabric: BisectionFabric) -> tuple[Array, Array, Array]:
    """Combine flows that keep their proportions into one load: resources, ``(v, r)`` bytes and ``(v,)`` weights.

    ``resource`` is each flow's, ``amounts`` what it puts there, ``(v, rows)``, in ``v`` coflows on the same paths.
    """
    places, inverse, meeting = np.unique(resource, return_inverse=True, return_counts=True)
    times, count = len(amounts), len(places)
    where = inverse + count * np.arange(times)[:, None]
    total = np.bincount(where.ravel(), amounts.ravel(), times * count).reshape(times, count)
    busiest = np.argmax(total / fabric.capacity[places], axis=1)
    most = total[np.arange(times), busiest]
    return places, total, meeting[busiest] / most
