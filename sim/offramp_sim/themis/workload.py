# SPDX-License-Identifier: Apache-2.0
"""Training workloads layer by layer: computation and communication of each pass (paper sections 5.2, 6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from offramp.themis.network import Collective, Network
from offramp_base.errors import OfframpError


class CommunicationScope(StrEnum):
    """NPUs that take part in a layer's communication."""

    ALL = "all"
    MODEL = "model"
    """NPUs that share one copy of the model: the first dimensions."""
    DATA = "data"
    """NPUs that hold the same part of different copies: the next dimensions, up to those of the pipeline."""
    EXPERT = "expert"
    """NPUs of the DATA scope that hold different experts: the inner ones."""
    EXPERT_DATA = "expert-data"
    """NPUs of the DATA scope that hold the same experts: the outer ones."""
    FIRST = "first"
    """NPUs along the first dimension."""
    REST = "rest"
    """NPUs along all other dimensions."""


@dataclass(frozen=True, slots=True)
class LayerCollective:
    """A collective of a layer.

    Attributes:
        collective: which.
        size: bytes, as :class:`~offramp.themis.demand.Demand` counts them.
        scope: who takes part.
        blocking: whether training waits for it at once, rather than where its result is needed.
    """

    collective: Collective
    size: int
    scope: CommunicationScope = CommunicationScope.ALL
    blocking: bool = False


@dataclass(frozen=True, slots=True)
class WorkloadLayer:
    """One layer of a model on one NPU; times in picoseconds.

    Attributes:
        name: name for messages.
        forward_ps, input_ps, weight_ps: forward pass, gradients of inputs and of weights.
        forward, input, weight: communication of these passes.
        recompute: whether the forward pass, with its communication, runs again in the backward pass.
        awaits: the layer whose forward exchange must end before this one begins (DLRM's top MLP).
        await_input: whether the exchange of input gradients must end before the next layer's backward pass begins.
    """

    name: str
    forward_ps: int = 0
    input_ps: int = 0
    weight_ps: int = 0
    forward: tuple[LayerCollective, ...] = ()
    input: tuple[LayerCollective, ...] = ()
    weight: tuple[LayerCollective, ...] = ()
    recompute: bool = False
    awaits: str | None = None
    await_input: bool = False


@dataclass(frozen=True, slots=True)
class TrainingWorkload:
    """A model as it is trained.

    Attributes:
        name: name of the workload.
        layers: layers from input to output.
        model_parallel: NPUs that share one copy of the model.
        expert_parallel: copies that share one set of experts.
        pipeline: stages, each on as many NPUs; the layers are those of one.
        fuse_gradients: whether gradients of all layers go in one collective at the end of the backward pass, as in the
            paper, rather than each layer's as soon as it is ready.
        facts: where the numbers come from.
    """

    name: str
    layers: tuple[WorkloadLayer, ...]
    model_parallel: int = 1
    fuse_gradients: bool = True
    facts: tuple[str, ...] = field(default=())
    expert_parallel: int = 1
    pipeline: int = 1

    def __post_init__(self) -> None:
        names = [layer.name for layer in self.layers]
        if not names:
            raise OfframpError(f"workload {self.name}: expected at least one layer")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise OfframpError(f"workload {self.name}: two layers are called {twice}")
        for i, layer in enumerate(self.layers):
            if layer.awaits is not None and layer.awaits not in names[:i]:
                raise OfframpError(
                    f"workload {self.name}: layer {layer.name} awaits {layer.awaits}, expected one before it"
                )
            times = layer.forward_ps, layer.input_ps, layer.weight_ps
            if min(times) < 0:
                raise OfframpError(f"workload {self.name}: layer {layer.name}: times {times} ps: expected at least 0")

    def scaled(self, factor: float) -> TrainingWorkload:
        """The workload with all computation times multiplied."""
        if not (math.isfinite(factor) and factor >= 0):
            raise OfframpError(f"workload {self.name}: compute scale {factor}: expected at least 0")

        def times(layer: WorkloadLayer) -> WorkloadLayer:
            scale: Callable[[int], int] = lambda t: round(t * factor)  # noqa: E731
            return replace(
                layer,
                forward_ps=scale(layer.forward_ps),
                input_ps=scale(layer.input_ps),
                weight_ps=scale(layer.weight_ps),
            )

        return replace(self, layers=tuple(map(times, self.layers)))

    def fitted(self, network: Network) -> Network:
        """The network with dimensions divided where a group ends inside one.

        Raises:
            OfframpError: a group whose size divides no dimension.
        """
        for group in self._groups(network):
            network = network.divided(group)
        return network

    def dims(self, network: Network) -> dict[CommunicationScope, tuple[int, ...]]:
        """The dimensions of a fitted network along which each scope communicates.

        Raises:
            OfframpError: a copy of the model, its experts, or a stage do not fill a number of first dimensions.
        """
        model, experts, stage = map(network.up_to, self._groups(network))
        everything = tuple(range(len(network.dimensions)))
        return {
            CommunicationScope.ALL: everything,
            CommunicationScope.MODEL: model,
            CommunicationScope.DATA: stage[len(model) :],
            CommunicationScope.EXPERT: experts[len(model) :],
            CommunicationScope.EXPERT_DATA: stage[len(experts) :],
            CommunicationScope.FIRST: everything[:1],
            CommunicationScope.REST: everything[1:],
        }

    def group_sizes(self, network: Network) -> dict[CommunicationScope, int]:
        """NPUs in a group of each scope.

        Raises:
            OfframpError: as for :meth:`fitted`.
        """
        fitted = self.fitted(network)
        return {k: math.prod(fitted.dimensions[d].size for d in dims) for k, dims in self.dims(fitted).items()}

    def _groups(self, network: Network) -> tuple[int, int, int]:
        """NPUs of a copy of the model, of a set of experts, and of a stage."""
        stage, rest = divmod(network.npus, self.pipeline)
        experts = self.model_parallel * self.expert_parallel
        if rest or stage % experts:
            raise OfframpError(
                f"workload {self.name}: {self.pipeline} stages of groups of {experts} NPUs: they do not divide the "
                f"{network.npus} NPUs of {network.name}"
            )
        return self.model_parallel, experts, stage

    @property
    def gradient_bytes(self) -> int:
        """Bytes of weight gradients in collectives in one iteration."""
        return sum(exchange.size for layer in self.layers for exchange in layer.weight)
