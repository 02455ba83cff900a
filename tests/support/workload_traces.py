# SPDX-License-Identifier: Apache-2.0
"""A workload of layers as Chakra traces, the same for every NPU: what waits for what is as in the simulation of it."""

from __future__ import annotations

from collections.abc import Iterable

from astra_sim_program import TYPES
from offramp.hermod.chakra import schema
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp.themis.kinds import Collective
from offramp.themis.network import Network
from offramp_sim.themis.workload import LayerCollective, TrainingWorkload


class WorkloadTrace:
    """One iteration of a workload on a fitted network, in nodes of whole microseconds."""

    def __init__(self, workload: TrainingWorkload, network: Network) -> None:
        self.workload, self.sizes = workload, workload.group_sizes(network)
        self.dims, self.count = workload.dims(network), len(network.dimensions)
        self.nodes: list[ChakraNode] = []
        self.before: set[int] = set()
        self.open: set[int] = set()
        self.by_layer: dict[str, set[int]] = {}

    def trace(self) -> ChakraTrace:
        layers = self.workload.layers
        for layer in layers:
            if layer.awaits is not None:
                self._wait(self.by_layer[layer.awaits])
            self._compute(layer.forward_ps)
            self.by_layer[layer.name] = self._communicate(layer.forward)
        self._wait(set(self.open))
        for layer in reversed(layers):
            if layer.recompute:
                self._compute(layer.forward_ps)
                self._communicate(layer.forward)
            self._compute(layer.input_ps)
            gradients = self._communicate(layer.input)
            self._compute(layer.weight_ps)
            self._communicate(layer.weight)
            if layer.await_input:
                self._wait(gradients)
        return ChakraTrace(self.nodes)

    def _compute(self, ps: int) -> None:
        if ps:
            assert ps % 1_000_000 == 0, "traces have whole microseconds"
            self._node("compute", schema.COMPUTE, ps // 1_000_000, {"is_cpu_op": False})
            self.before = {self.nodes[-1].id}

    def _communicate(self, exchanges: Iterable[LayerCollective]) -> set[int]:
        numbers = set()
        for each in exchanges:
            dims, size = self.dims[each.scope], each.size
            if not size or self.sizes[each.scope] == 1:
                continue
            if each.collective is Collective.ALL_GATHER:
                size //= self.sizes[each.scope]
            facts = {"is_cpu_op": False, "comm_type": TYPES[each.collective], "comm_size": size}
            along = [k in dims for k in range(self.count)]
            self._node(each.collective.value, schema.COLLECTIVE, 0, {**facts, "involved_dim": along})
            numbers.add(self.nodes[-1].id)
            self.open |= numbers
            if each.blocking:
                self._wait({self.nodes[-1].id})
        return numbers

    def _wait(self, numbers: set[int]) -> None:
        self.before |= numbers & self.open
        self.open -= numbers

    def _node(self, name: str, kind: int, micros: int, facts: dict[str, object]) -> None:
        self.nodes.append(ChakraNode(len(self.nodes) + 1, name, kind, sorted(self.before), micros, facts))  # type: ignore[arg-type]
