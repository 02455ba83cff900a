# SPDX-License-Identifier: Apache-2.0
"""Reversible layers that keep the state after the last one only, and recompute the others backward.

Grouped reversible networks (Li et al. 2021, section 3.2): a layer adds a function of one half of the channels to the
other half, so its input is its output less that function. Memory does not grow with the number of layers; time grows
by one more forward pass. A state that is recomputed differs from the stored one by rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models.deep import Reversible
    from offramp.models.view import View


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        state: torch.Tensor,
        model: Reversible,
        numbers: Sequence[int],
        view: View,
        *parameters: torch.Tensor,  # noqa: ARG004 - autograd sees by them what has gradients
    ) -> torch.Tensor:
        kind = state.device.type
        ctx.model, ctx.numbers, ctx.view, ctx.step = model, numbers, view, model.dropout.step
        ctx.autocast = kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
        halves = [half.clone() for half in model.halves(state)]
        for number in numbers:
            changed, other = model.roles(number)
            halves[changed] += model.change(number, view, halves[other])
        out = torch.cat(halves, dim=1)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        model, (out,) = ctx.model, ctx.saved_tensors
        halves = [half.clone() for half in model.halves(out)]
        gradients = [half.clone() for half in model.halves(gradient)]
        sums: dict[int, torch.Tensor] = {}
        step, model.dropout.step = model.dropout.step, ctx.step
        kind, dtype, enabled = ctx.autocast
        try:
            for number in reversed(ctx.numbers):
                changed, other = model.roles(number)
                own = model.of_layer(number)
                with torch.enable_grad(), torch.autocast(kind, dtype, enabled):
                    read = halves[other].detach().requires_grad_()
                    added = model.change(number, ctx.view, read)
                parts = torch.autograd.grad(added, [read, *own], gradients[changed].to(added.dtype))
                halves[changed] -= added.detach()
                gradients[other] += parts[0]
                sums |= {id(each): part for each, part in zip(own, parts[1:], strict=True)}
        finally:
            model.dropout.step = step
        of = [sums.get(id(each)) for number in ctx.numbers for each in model.of_layer(number)]
        return torch.cat(gradients, dim=1), None, None, None, *of


def recomputed(model: Reversible, numbers: Sequence[int], view: View, state: torch.Tensor) -> torch.Tensor:
    """``(n, w)`` state after layers ``numbers``; backward needs memory for one layer."""
    parameters = [each for number in numbers for each in model.of_layer(number)]
    out: torch.Tensor = _Recomputed.apply(state, model, list(numbers), view, *parameters)  # type: ignore[no-untyped-call]
    return out
