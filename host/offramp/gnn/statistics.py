# SPDX-License-Identifier: Apache-2.0
"""Sums, means and variances over the vertices or edges of all ranks, with their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.comm import all_sum
from offramp.gnn.tags import mark, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


def total(mode: Distribution, values: torch.Tensor) -> torch.Tensor:
    """The sum over ranks."""
    return all_sum(values, mode.comm)


def extreme(mode: Distribution, name: str, x: torch.Tensor) -> torch.Tensor:
    """The largest or the least value of all ranks, without a gradient."""
    values = x.long() if x.dtype == torch.bool else x
    least: Any = -math.inf if x.is_floating_point() else torch.iinfo(values.dtype).min
    mine = values.amax() if name == "max" and x.numel() else values.amin() if x.numel() else None
    if name == "min" and mine is not None:
        mine = -mine if x.is_floating_point() else ~mine
    largest = mode.comm.max(values.new_tensor(least) if mine is None else mine)
    if name == "min":
        largest = -largest if x.is_floating_point() else ~largest
    return largest.to(x.dtype)


def reduce(
    mode: Distribution, name: str, x: torch.Tensor, dim: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> torch.Tensor:
    """``sum``, ``mean``, ``std`` or ``var`` over dimensions of which the first is one."""
    dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    keep = kwargs.get("keepdim", next((a for a in args[2:] if isinstance(a, bool)), False))
    if name == "sum":
        return total(mode, x.sum(dims, keepdim=keep))
    tag = tag_of(x)
    assert tag is not None
    each = math.prod(x.shape[d] for d in dims if d % x.dim() != tag.dim)
    count = tag.layout.total * each
    mean = total(mode, x.sum(dims, keepdim=True)) / count
    if name == "mean":
        return mean if keep else mean.sum(dims)
    correction = kwargs.get("correction", 1 if kwargs.get("unbiased", True) else 0)
    variance: torch.Tensor = total(mode, (x - mean).square().sum(dims, keepdim=keep)) / (count - correction)
    return variance if name == "var" else torch.sqrt(variance)


def batch_norm(
    mode: Distribution,
    input: torch.Tensor,  # noqa: A002
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,  # noqa: ARG001
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """``torch.nn.functional.batch_norm`` in training, over the rows of all ranks."""
    shape = [1, -1] + [1] * (input.dim() - 2)
    dims = [0, *range(2, input.dim())]
    tag = tag_of(input)
    assert tag is not None
    count = tag.layout.total * math.prod(input.shape[2:])
    mean = total(mode, input.sum(dims)) / count
    centred = input - mean.view(shape)
    variance = total(mode, centred.square().sum(dims)) / count
    if running_mean is not None and running_var is not None:
        with torch.no_grad():
            running_mean.lerp_(mean.to(running_mean), momentum)
            running_var.lerp_((variance * count / (count - 1)).to(running_var), momentum)
    out = centred * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        out = out * weight.view(shape)
    if bias is not None:
        out = out + bias.view(shape)
    return mark(out, tag)
