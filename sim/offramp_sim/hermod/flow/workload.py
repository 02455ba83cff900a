# SPDX-License-Identifier: Apache-2.0
"""A workload of layers, such as ASTRA-sim 1's and SimAI's, as a DAG of NPUs' computation and groups' coflows.

Dependencies are as in :mod:`offramp_sim.themis.iteration`. A collective of activations counts as PP, an
all-to-all as EP, one of weights' gradients as DP, so that the policies of one microbatch apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from offramp.hermod import dag as kinds
from offramp.hermod.dag import Coflow, Compute, Dag, Flows, Task
from offramp.hermod.factors import CType, Factors
from offramp.themis.network import Collective, Network
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.dimensions import Dimensions
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload

_ROLES = {
    Collective.ALL_REDUCE: kinds.REDUCE_SCATTER,
    Collective.REDUCE_SCATTER: kinds.REDUCE_SCATTER,
    Collective.ALL_GATHER: kinds.ALL_GATHER,
    Collective.ALL_TO_ALL: kinds.DISPATCH,
}


def workload_dag(workload: TrainingWorkload, network: Network) -> tuple[Dag, Dimensions]:
    """One training iteration, and its network, with dimensions divided where groups end inside them.

    Raises:
        OfframpError: groups that do not fit the network, or an iteration without anything to do.
    """
    fabric = Dimensions.over(workload.fitted(network))
    iteration = _GroupIteration(workload, fabric)
    iteration.run()
    if not iteration.tasks:
        raise OfframpError(f"workload {workload.name}: expected computation or communication")
    dag = Dag(iteration.tasks, network.npus, 1, 1, len(workload.layers), 1, interleaved=False, captured=True)
    return dag, fabric


class _GroupIteration:
    """All NPUs act alike: what each waits for is a task of its own or of its group."""

    def __init__(self, workload: TrainingWorkload, fabric: Dimensions) -> None:
        self.workload, self.fabric = workload, fabric
        self.tasks: list[Task] = []
        self.dims = workload.dims(fabric.network)
        npus = fabric.network.npus
        self.before: list[set[int]] = [set() for _ in range(npus)]  # what each NPU's next task waits for
        self.open: list[list[int]] = []  # coflows of an exchange, by NPU
        self.by_layer: dict[str, list[list[int]]] = {}
        self.groups: dict[CommunicationScope, list[list[int]]] = {}
        self.flows: dict[tuple[Collective, int, CommunicationScope], list[tuple[Flows, float]]] = {}

    def run(self) -> None:
        layers = self.workload.layers
        for k, layer in enumerate(layers):
            if layer.awaits is not None:
                self.wait(self.by_layer.get(layer.awaits, []))
            self.compute(layer.forward_ps, k, backward=False)
            self.by_layer[layer.name] = self.communicate(layer.forward, k, weights=False)
        self.wait(list(self.open))
        late: list[tuple[LayerCollective, int]] = []
        for k, layer in reversed(list(enumerate(layers))):
            if layer.recompute:
                self.compute(layer.forward_ps, k, backward=False)
                self.communicate(layer.forward, k, weights=False)
            self.compute(layer.input_ps, k, backward=True)
            gradients = self.communicate(layer.input, k, weights=False)
            self.compute(layer.weight_ps, k, backward=True)
            if self.workload.fuse_gradients:
                late += [(each, k) for each in layer.weight]
            else:
                self.communicate(layer.weight, k, weights=True)
            if layer.await_input:
                self.wait(gradients)
        sizes: dict[tuple[Collective, CommunicationScope], int] = {}
        for each, _ in late:
            sizes[each.collective, each.scope] = sizes.get((each.collective, each.scope), 0) + each.size
        for (collective, scope), size in sizes.items():
            self.communicate([LayerCollective(collective, size, scope)], 0, weights=True)
        self.wait(list(self.open))

    def compute(self, ps: int, layer: int, *, backward: bool) -> None:
        if ps == 0:
            return
        for npu, waits in enumerate(self.before):
            self.before[npu] = {len(self.tasks)}
            task = Compute(npu, ps / 1e12, 0, 0, (layer, layer + 1), backward, sorted(waits))
            self.tasks.append(task)

    def communicate(self, exchanges: Iterable[LayerCollective], layer: int, *, weights: bool) -> list[list[int]]:
        """Coflows of each exchange, by NPU."""
        numbers = []
        for exchange in exchanges:
            of = [-1] * len(self.before)
            for group, (flows, latency_s) in zip(self._groups(exchange.scope), self._flows(exchange), strict=True):
                if not len(flows.size):
                    continue
                waits = set().union(*(self.before[npu] for npu in group))
                for npu in group:
                    of[npu] = len(self.tasks)
                ctype = CType.EP if exchange.collective is Collective.ALL_TO_ALL else CType.PP
                factors = Factors(0, CType.DP if weights else ctype, layer)
                role = _ROLES[exchange.collective]
                self.tasks.append(Coflow(role, factors, 0, 0, flows, sorted(waits), latency_s))
            self.open.append(of)
            numbers.append(of)
            if exchange.blocking:
                self.wait([of])
        return numbers

    def wait(self, exchanges: Iterable[list[int]]) -> None:
        for of in exchanges:
            for npu, coflow in enumerate(of):
                if coflow >= 0:
                    self.before[npu].add(coflow)
            self.open = [other for other in self.open if other is not of]

    def _groups(self, scope: CommunicationScope) -> list[list[int]]:
        """The NPUs of each group along a scope's dimensions."""
        if scope not in self.groups:
            sizes = [d.size for d in self.fabric.network.dimensions]
            units = np.concatenate([[1], np.cumprod(sizes)]).tolist()
            dims = self.dims[scope]
            others = [k for k in range(len(sizes)) if k not in dims]

            def numbers(along: Iterable[int]) -> list[int]:
                ranges = [[c * units[k] for c in range(sizes[k])] for k in along]
                return sorted(map(sum, product(*ranges)))

            mine = numbers(dims)
            self.groups[scope] = [[first + each for each in mine] for first in numbers(others)]
        return self.groups[scope]

    def _flows(self, exchange: LayerCollective) -> list[tuple[Flows, float]]:
        name = exchange.collective, exchange.size, exchange.scope
        if name not in self.flows:
            groups = self._groups(exchange.scope)
            first = self.fabric.collective(exchange.collective, exchange.size, groups[0])
            assert first is not None, "groups along dimensions are grids"
            flows, latency_s = first
            self.flows[name] = [  # alike, but for where they are
                (
                    Flows(flows.source + group[0] - groups[0][0], flows.sink + group[0] - groups[0][0], flows.size),
                    latency_s,
                )
                for group in groups
            ]
        return self.flows[name]
