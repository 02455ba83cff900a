# SPDX-License-Identifier: Apache-2.0
"""The autograd graphs of bins' computations, kept for the backward pass, or made again on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from offramp.models.base import Inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from offramp.g3.block import BipartiteBlock
    from offramp.g3.store import TensorStore
    from offramp.models.base import Model, PreparedTensors


class StageOutputs(NamedTuple):
    """Outputs of a bin's stage, or their gradients: the targets' state, and message and own part for the next layer."""

    state: torch.Tensor | None
    message: torch.Tensor | None
    own: torch.Tensor | None


@dataclass(frozen=True)
class Tape:
    """The graph of one bin's stage, from leaves that are its own."""

    inputs: Inputs
    outputs: StageOutputs

    def gradients(
        self, gradients: StageOutputs, parameters: Sequence[nn.Parameter]
    ) -> tuple[list[torch.Tensor | None], tuple[torch.Tensor, ...]]:
        """Gradients of the inputs (as in :class:`Inputs`) and of the parameters, from those of the outputs."""
        leaves = [tensor for tensor in self.inputs if tensor is not None and tensor.requires_grad]
        pairs = [(o, g) for o, g in zip(self.outputs, gradients, strict=True) if o is not None and g is not None]
        wanted = [*leaves, *parameters]
        if not wanted or not pairs:
            return [None, None, None], tuple(torch.zeros_like(parameter) for parameter in parameters)
        outputs, upstream = zip(*pairs, strict=True)
        grads = list(torch.autograd.grad(outputs, wanted, upstream, materialize_grads=True))
        of_inputs = [grads.pop(0) if i is not None and i.requires_grad else None for i in self.inputs]
        return of_inputs, tuple(grads)


def leaf(rows: torch.Tensor, *, trained: bool) -> torch.Tensor:
    """Rows as the start of a graph of their own."""
    return rows.detach().requires_grad_(trained)


class StageTapes:
    """A stage of all bins: its inputs, and the graph of each bin where the store does not stream."""

    def __init__(
        self,
        model: Model,
        number: int,
        prepared: PreparedTensors,
        first: torch.Tensor | None,
        trained: tuple[bool, bool],
        *,
        streams: bool,
    ) -> None:
        """Args: as they are named.

        model: the model.
        number: number of the stage.
        prepared: messages of all rows, and the own parts.
        first: the own vertices' ``h^0``, if the model uses it.
        trained: whether messages and own parts have gradients.
        streams: whether graphs are made again on the way back.
        """
        self._model, self._number, self._prepared, self._first = model, number, prepared, first
        self._trained, self._streams = trained, streams
        self._tapes: dict[int, Tape] = {}

    def forward(self, index: int, block: BipartiteBlock, *, training: bool) -> StageOutputs:
        """Outputs of a bin."""
        tape = self._tape(block, graph=training and not self._streams)
        if training and not self._streams:
            self._tapes[index] = tape
        return tape.outputs

    def backward(
        self, index: int, block: BipartiteBlock, upstream: StageOutputs, parameters: Sequence[nn.Parameter]
    ) -> tuple[list[torch.Tensor | None], tuple[torch.Tensor, ...]]:
        """Gradients as :meth:`Tape.gradients`; the bin's activations end here."""
        tape = self._tapes.pop(index, None) or self._tape(block, graph=True)
        return tape.gradients(upstream, parameters)

    def _tape(self, block: BipartiteBlock, *, graph: bool) -> Tape:
        (message, own), model, number = self._prepared, self._model, self._number
        inputs = Inputs(
            leaf(block.gathered(message), trained=graph and self._trained[0]),
            None if own is None else leaf(own[block.targets], trained=graph and self._trained[1]),
            None if self._first is None else leaf(self._first[block.targets], trained=graph),
        )
        with torch.set_grad_enabled(graph):
            state = model.combine(number, block, inputs)
            following = model.prepare(number + 1, state) if number < model.layers else (None, None)
        return Tape(inputs, StageOutputs(state, *following))


class Rows:
    """Own rows that bins compute part by part; false before the first."""

    def __init__(self, count: int, bins: int, store: TensorStore) -> None:
        """Args: count: number of rows; bins: number of parts; store: of the whole."""
        self._count, self._bins, self._store = count, bins, store
        self._whole: torch.Tensor | None = None

    def __bool__(self) -> bool:
        return self._whole is not None

    def put(self, targets: torch.Tensor, part: torch.Tensor) -> None:
        """Enter the rows of ``targets``; the part itself if it is all."""
        if self._bins == 1:
            self._whole = self._store.kept(part)
            return
        if self._whole is None:
            self._whole = self._store.empty(self._count, *part.shape[1:])
        self._whole[targets] = part
        self._store.wrote(part)

    def whole(self) -> torch.Tensor:
        """``(count, …)`` all rows; without any, of width 0."""
        return self._store.empty(self._count, 0) if self._whole is None else self._whole
