# SPDX-License-Identifier: Apache-2.0
"""A layout says which rows of a whole tensor one rank has; with it the rows of all ranks become that tensor."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from offramp.gnn.comm import Alone, Comm


class RowLayout:
    """The rows of one rank, and by their keys the order of all ranks' rows.

    What has to be agreed on (counts, order) is asked for once, when it is first needed, by all ranks together.

    Attributes:
        comm: the ranks.
        keys: ``(m,)`` int64 key of each own row, different from those of all other rows; rows of the whole tensor
            ascend by them.
        loops: whether they are edges from vertices to themselves, whose sources are own vertices.
        bound: a number above all keys of all ranks, the same on each.
    """

    def __init__(self, comm: Comm | Alone, keys: torch.Tensor, bound: int) -> None:
        self.comm, self.keys, self.bound = comm, keys, bound
        self.loops = False
        self._children: dict[Hashable, tuple[RowLayout, Any]] = {}

    @cached_property
    def counts(self) -> list[int]:
        """Rows of each rank."""
        ones = [1] * self.comm.size
        every = self.comm.all_to_all(torch.full((self.comm.size,), len(self.keys)), ones, ones)
        return [int(each) for each in every]

    @property
    def total(self) -> int:
        """Rows of all ranks."""
        return sum(self.counts)

    @cached_property
    def order(self) -> torch.Tensor:
        """``(total,)``: for each row of the whole tensor, its place among the rows of all ranks in rank order."""
        return torch.argsort(self.of_all(self.keys))

    @cached_property
    def positions(self) -> torch.Tensor:
        """``(m,)``: the row of the whole tensor that each own row is."""
        places = torch.empty_like(self.order)
        places[self.order] = torch.arange(len(self.order))
        first = sum(self.counts[: self.comm.rank])
        return places[first : first + len(self.keys)]

    def of_all(self, rows: torch.Tensor) -> torch.Tensor:
        """``(m, …)`` own rows to the ``(total, …)`` rows of all ranks, in rank order; all ranks call it together."""
        if self.comm.size == 1:
            return rows
        if not math.prod(rows.shape[1:]):
            return rows.new_empty((self.total, *rows.shape[1:]))
        flat = rows.resolve_conj().reshape(len(rows), math.prod(rows.shape[1:]))
        octets = flat.clone(memory_format=torch.contiguous_format).view(torch.uint8)
        size = self.comm.size
        every = self.comm.all_to_all(octets.repeat(size, 1), [len(rows)] * size, self.counts)
        return every.view(rows.dtype).reshape(len(every), *rows.shape[1:])

    def subset(self, mask: torch.Tensor, key: Any = None) -> RowLayout:
        """The rows of a mask ``(m,)``; with a key, the layout that was made for the key before."""
        if key is None:
            return RowLayout(self.comm, self.keys[mask.cpu()], self.bound)
        if key not in self._children:
            child = RowLayout(self.comm, self.keys[mask.cpu()], self.bound)
            child.loops = key[:2] == ("loops", "eq") or (key[0] == "not" and key[1][:2] == ("loops", "ne"))
            self._children[key] = child, None
        return self._children[key][0]

    def joined(self, others: Sequence[RowLayout]) -> RowLayout:
        """These rows, those of the second layout behind them, and so on."""
        key = tuple(id(each) for each in others)
        if key not in self._children:
            keys, bound = [self.keys], self.bound
            for each in others:
                keys.append(each.keys + bound)
                bound += each.bound
            self._children[key] = RowLayout(self.comm, torch.cat(keys), bound), list(others)
        return self._children[key][0]


class VertexLayout(RowLayout):
    """All vertices of a type, whose order every rank knows.

    Args:
        comm: the ranks.
        ids: ``(n,)`` own vertices.
        owner: ``(N,)`` rank of each vertex.
    """

    def __init__(self, comm: Comm | Alone, ids: torch.Tensor, owner: torch.Tensor) -> None:
        super().__init__(comm, ids, len(owner))
        self._owner = owner

    @cached_property
    def counts(self) -> list[int]:
        """Like :attr:`RowLayout.counts`, without a message."""
        return [int(each) for each in torch.bincount(self._owner, minlength=self.comm.size)]

    @cached_property
    def order(self) -> torch.Tensor:
        """Like :attr:`RowLayout.order`, without a message."""
        places = torch.empty_like(self._owner, dtype=torch.int64)
        places[torch.argsort(self._owner, stable=True)] = torch.arange(len(self._owner))
        return places

    @property
    def positions(self) -> torch.Tensor:
        """The ids."""
        return self.keys


class _WholeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, layout: RowLayout) -> torch.Tensor:
        ctx.layout = layout
        return layout.of_all(rows)[layout.order.to(rows.device)]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        layout, wide = ctx.layout, gradient
        if gradient.dtype in (torch.float16, torch.bfloat16):
            wide = gradient.float()
        summed = torch.view_as_real(wide) if wide.is_complex() else wide
        summed = layout.comm.sum(summed.clone(memory_format=torch.contiguous_format))
        total = torch.view_as_complex(summed) if wide.is_complex() else summed
        return total[layout.positions.to(gradient.device)].to(gradient.dtype), None


def whole_rows(x: torch.Tensor, layout: RowLayout, dim: int = 0) -> torch.Tensor:
    """The whole tensor of which each rank has some rows; gradients of all ranks' copies are summed at the owners."""
    rows = x.movedim(dim, 0) if dim else x
    whole: torch.Tensor = _WholeRows.apply(rows, layout)  # type: ignore[no-untyped-call]
    return whole.movedim(0, dim).contiguous() if dim else whole


def own_rows(whole: torch.Tensor, layout: RowLayout, dim: int = 0) -> torch.Tensor:
    """This rank's rows of a tensor that all ranks have whole."""
    return whole.index_select(dim, layout.positions.to(whole.device))
