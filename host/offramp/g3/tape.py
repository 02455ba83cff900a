# SPDX-License-Identifier: Apache-2.0
"""The autograd graph of a bin's computation, kept for the backward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from offramp.models.base import Inputs


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
