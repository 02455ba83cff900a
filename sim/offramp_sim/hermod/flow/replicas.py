# SPDX-License-Identifier: Apache-2.0
"""A job of many replicas as the engine's arrays, made from arrays; equal to what ``network.load`` makes of objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from offramp.hermod.dag import Flows
from offramp.hermod.factors import CType
from offramp.hermod.replicas.dag import ReplicaDag
from offramp.hermod.traffic import all_pairs
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import Array, Loaded, loads_of, together

_NONE = -1
"""Number of a load that puts nothing on the network."""


def load_replicas(dag: ReplicaDag, fabric: BisectionFabric) -> Loaded:
    """Route every load once; all-to-alls are fluid, and a coflow's flows keep their proportions."""
    table = _LoadTable()
    _all_to_alls(table, dag, fabric)
    _boundaries(table, dag, fabric)
    _rings(table, dag, fabric)
    coflow = dag.code >= 0
    load = np.concatenate(table.numbers)[dag.load[coflow]]
    travels = load != _NONE
    sends = coflow.copy()
    sends[coflow] = travels
    flow_row = np.zeros(len(coflow) + 1, np.int32)
    np.cumsum(sends, out=flow_row[1:])
    return Loaded(
        dag=dag,
        fabric=fabric,
        reload=partial(load_replicas, dag),
        delay=dag.seconds,
        flow_row=flow_row,
        coflow_of_flow=np.flatnonzero(travels).astype(np.int32),
        load=load[travels],
        use_row=np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, np.int64), *table.uses]))]),
        use=np.concatenate([np.empty(0, np.int32), *table.resources]),
        amount=np.concatenate([np.empty(0), *table.amounts]),
        weight=np.concatenate([np.empty(0), *table.weights]),
        after_row=dag.row,
        after=dag.followers,
        waits=dag.waits,
    )


@dataclass(slots=True)
class _LoadTable:
    """The engine's loads, in sequence.

    Attributes:
        numbers: numbers of the engine's load, by the DAG's number.
        uses, resources, amounts, weights: how many resources each load has, these, bytes on them, and its weight.
    """

    count: int = 0
    numbers: list[Array] = field(default_factory=list)
    uses: list[Array] = field(default_factory=list)
    resources: list[Array] = field(default_factory=list)
    amounts: list[Array] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)

    def put(self, resource: Array, amount: Array, weight: Array) -> Array:
        """Add loads of ``amount``, ``(v, r)``, on common or individual resources; returns their numbers."""
        rows = np.arange(self.count, self.count + len(amount), dtype=np.int32)
        self.count += len(amount)
        self.uses.append(np.full(len(amount), amount.shape[1]))
        self.resources.append(np.broadcast_to(resource, amount.shape).astype(np.int32).ravel())
        self.amounts.append(amount.ravel())
        self.weights.append(weight)
        return rows


def _all_to_alls(table: _LoadTable, dag: ReplicaDag, fabric: BisectionFabric) -> None:
    """All-to-alls of each group: each dispatch before its reverse."""
    loads = dag.loads
    for k, group in enumerate(loads.groups):
        variants = loads.variants[k * dag.stages // len(loads.groups)]
        row, column = all_pairs(len(group))
        size = loads.traffic.expert_bytes(group, variants)[:, row, column]
        numbers = np.full((len(variants), 2), _NONE, np.int32)
        for back, (source, sink) in enumerate(((group[row], group[column]), (group[column], group[row]))):
            flow, resource, _ = fabric.route(Flows(source, sink, size[0]), CType.EP)
            if len(flow):
                numbers[:, back] = table.put(*together(resource, size[:, flow] * fabric.share, fabric))
        table.numbers.append(numbers.ravel())


def _boundaries(table: _LoadTable, dag: ReplicaDag, fabric: BisectionFabric) -> None:
    """Transfers of each worker to the next stage, then to the previous one."""
    sender = np.arange(dag.workers)
    size = np.full(dag.workers, dag.loads.traffic.job.pp_bytes())
    for step in (1, -1):
        sink = (sender + step * dag.workers // dag.stages) % dag.workers
        flow, resource, amount = fabric.route(Flows(sender, sink, size), CType.PP)
        by = np.lexsort((resource, flow))
        uses = np.bincount(flow, minlength=dag.workers)
        numbers = np.full(dag.workers, _NONE, np.int32)
        for count in np.unique(uses[uses > 0]).tolist():
            mine = by[uses[flow[by]] == count].reshape(-1, count)
            numbers[flow[mine[:, 0]]] = table.put(resource[mine], amount[mine], 1 / amount[mine[:, 0]])
        table.numbers.append(numbers)


def _rings(table: _LoadTable, dag: ReplicaDag, fabric: BisectionFabric) -> None:
    """ReduceScatter and AllGather of each ring."""
    for scatter, gather, _ in dag.loads.rings:
        for flows in (scatter, gather):
            numbers = np.full(1, _NONE, np.int32)
            for each in loads_of(flows, CType.DP, fabric)[0]:
                numbers = table.put(each.resource, each.amount[None], np.array([each.weight]))
            table.numbers.append(numbers)
