# SPDX-License-Identifier: Apache-2.0
"""Losses that are means over the whole graph, and gradients that are sums over ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from offramp.gnn.comm import open_comm

if TYPE_CHECKING:
    import torch.distributed as dist
    from torch import nn


class _Shared(torch.autograd.Function):
    """The sum over ranks, whose gradient stays with each rank's own share, times a factor."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, comm: Any, factor: float) -> torch.Tensor:
        ctx.factor = factor
        total: torch.Tensor = comm.sum(values.clone())
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return gradient * ctx.factor, None, None


def global_mean(
    values: torch.Tensor,
    group: dist.ProcessGroup | None = None,
    *,
    weight: torch.Tensor | None = None,
    averaged: bool = False,
) -> torch.Tensor:
    """The mean of ``values`` over all ranks, the same on each: a loss to go backward from.

    Gradients are each rank's share of the whole gradient: :func:`sum_gradients` adds them up. Ranks may have no values.

    Args:
        values: values of this rank's vertices, edges or pairs that count.
        group: the ranks.
        weight: weight of each value; the mean is weighted.
        averaged: gradients will be averaged over ranks, not summed, as ``DistributedDataParallel`` does.
    """
    comm = open_comm(group)
    if comm.size == 1 and weight is None:
        return values.sum() / values.numel()
    count = (
        torch.tensor(float(values.numel()), dtype=torch.float64) if weight is None else weight.detach().double().sum()
    )
    total = (values if weight is None else values * weight).sum()
    count = comm.sum(count.to(values.device))
    shared: torch.Tensor = _Shared.apply(total, comm, float(comm.size) if averaged else 1.0)  # type: ignore[no-untyped-call]
    return shared / count.to(values.dtype)


def sum_gradients(module: nn.Module, group: dist.ProcessGroup | None = None) -> None:
    """Sum the gradients of a module's parameters over ranks, in one message for each type.

    A parameter without a gradient on this rank counts as zero where another rank has one.
    """
    comm = open_comm(group)
    if comm.size == 1:
        return
    parameters = [p for p in module.parameters() if p.requires_grad]
    has = torch.tensor([float(p.grad is not None) for p in parameters])
    used = [p for p, count in zip(parameters, comm.sum(has).tolist(), strict=True) if count]
    for dtype in dict.fromkeys(p.dtype for p in used):
        group_of = [p for p in used if p.dtype == dtype]
        for p in group_of:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        gradients = [p.grad for p in group_of if p.grad is not None]
        flat = comm.sum(torch.cat([g.reshape(-1) for g in gradients]))
        for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))
