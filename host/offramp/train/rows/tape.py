"""What a bin's computation keeps for the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

T = TypeVar("T")


class Inputs(NamedTuple, Generic[T]):
    """What goes into a stage: messages of sources, own parts and first states of targets."""

    message: T
    own: T
    first: T


class Outputs(NamedTuple, Generic[T]):
    """What comes out for the targets: the state, and what the next layer prepares."""

    state: T
    message: T
    own: T


Tensors = torch.Tensor | None


@dataclass(frozen=True)
class Tape:
    """The graph of one bin's stage, from leaves that are its own."""

    inputs: Inputs[Tensors]
    outputs: Outputs[Tensors]

    def gradients(
        self, gradients: Outputs[Tensors], parameters: Sequence[nn.Parameter]
    ) -> tuple[Inputs[Tensors], tuple[torch.Tensor, ...]]:
        """Of the inputs and the parameters, from those of the outputs."""
        leaves = [tensor for tensor in self.inputs if tensor is not None and tensor.requires_grad]
        pairs = [(o, g) for o, g in zip(self.outputs, gradients, strict=True) if o is not None and g is not None]
        wanted = [*leaves, *parameters]
        if not wanted or not pairs:
            return Inputs(None, None, None), tuple(torch.zeros_like(parameter) for parameter in parameters)
        outputs, given = zip(*pairs, strict=True)
        found = list(torch.autograd.grad(outputs, wanted, given, materialize_grads=True))
        of_inputs = [found.pop(0) if i is not None and i.requires_grad else None for i in self.inputs]
        return Inputs(*of_inputs), tuple(found)


def leaf(rows: torch.Tensor, *, trained: bool) -> torch.Tensor:
    """Rows as the start of a graph of their own."""
    return rows.detach().requires_grad_(trained)
