# SPDX-License-Identifier: Apache-2.0
"""The ranks that share a graph: an existing process group of ``torch.distributed``, or one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

from offramp.workers import messages
from offramp.workers.accelerator import to_host
from offramp.workers.group import Group, ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Comm(ProcessGroup):
    """A process group as a :class:`~offramp.workers.group.Group`; it is not closed here.

    Tensors go to main memory for gloo, which has no exchange of others, to the GPU for NCCL, and stay where they are
    for other backends.
    """

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self._group = group
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)

    @property
    def ranks(self) -> list[int]:
        """The group's ranks in the default group."""
        return dist.get_process_group_ranks(self._group or dist.group.WORLD)

    def _way(self, values: torch.Tensor) -> tuple[torch.Tensor, dist.ProcessGroup | None]:
        carrier = dist.get_backend(self._group)
        travels = to_host(values) if carrier == "gloo" else values.cuda() if carrier == "nccl" else values
        return travels, self._group

    def introduce(self, row: bytes) -> list[bytes]:
        """All-gather of small messages of any length: those of all ranks, in rank order."""
        return messages.introduce(row, self._group)

    def broadcast(self, values: torch.Tensor) -> torch.Tensor:
        """The values of the group's first rank, in place."""
        root = 0 if self._group is None else dist.get_global_rank(self._group, 0)
        travels, group = self._way(values)
        dist.broadcast(travels, root, group=group)
        return values if travels is values else values.copy_(travels)


class Alone(Group):
    """One process that owns the whole graph."""

    def broadcast(self, values: torch.Tensor) -> torch.Tensor:
        """Return the values, as there is one rank."""
        return values

    def start_all_to_all(
        self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]
    ) -> Callable[[], torch.Tensor]:
        """Return the rows, as there is one rank."""
        return lambda: self.all_to_all(rows, send, receive)


def open_comm(group: dist.ProcessGroup | None = None) -> Comm | Alone:
    """The ranks of ``group``, by default of the default group; one process where there is none."""
    if group is None and not (dist.is_available() and dist.is_initialized()):
        return Alone()
    return Comm(group)


class _AllSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, values: torch.Tensor, comm: Group) -> torch.Tensor:
        ctx.comm = comm  # type: ignore[attr-defined]
        return comm.sum(values.clone(memory_format=torch.contiguous_format))

    @staticmethod
    @once_differentiable
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.comm.sum(gradient.clone(memory_format=torch.contiguous_format)), None  # type: ignore[attr-defined]


def all_sum(values: torch.Tensor, comm: Group) -> torch.Tensor:
    """Element-wise sum over ranks, with its gradient: every rank calls it, and goes backward through it."""
    summed: torch.Tensor = _AllSum.apply(values, comm)  # type: ignore[no-untyped-call]
    return summed
