# SPDX-License-Identifier: Apache-2.0
"""Rows of vertices that other ranks own: fetched forward, their gradients summed at the owners backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from offramp.gnn.comm import Alone, Comm
    from offramp.gnn.exchanges import HaloExchange


class RankHalo:
    """The rows that one rank and the others exchange; ``n`` own rows, ``h`` rows of others.

    Attributes:
        comm: the ranks.
        owned: n.
        rows: h.
        ids: ``(h,)`` vertices of the whole graph whose rows come, by owner.
        send_rows: ``(s,)`` own rows that leave, by receiver.
        send_counts, receive_counts: rows for, and from, each rank.
        degree: ``(n + h,)`` in-degrees, where codecs give some rows more bits than others; None: all alike.
    """

    def __init__(
        self,
        comm: Comm | Alone,
        owned: int,
        ids: torch.Tensor,
        send_rows: torch.Tensor,
        send_counts: Sequence[int],
        receive_counts: Sequence[int],
    ) -> None:
        self.comm = comm
        self.owned, self.rows = owned, len(ids)
        self.ids, self.send_rows = ids, send_rows
        self.send_counts, self.receive_counts = list(send_counts), list(receive_counts)
        self.degree: torch.Tensor | None = None

    @classmethod
    def agree(cls, comm: Comm | Alone, own: torch.Tensor, ids: torch.Tensor, counts: Sequence[int]) -> RankHalo:
        """Ask the owners for rows; every rank calls this together.

        Args:
            comm: the ranks.
            own: ``(n,)`` ids of the own vertices, ascending.
            ids: ``(h,)`` ids of the vertices that are needed, by owner.
            counts: number of them for each rank.
        """
        asked = torch.tensor(counts, dtype=torch.int64)
        wanted = comm.all_to_all(asked, [1] * comm.size, [1] * comm.size).tolist()
        requests = comm.all_to_all(ids, counts, wanted)
        return cls(comm, len(own), ids, torch.searchsorted(own, requests), wanted, counts)

    def to(self, device: torch.device) -> None:
        """Keep the row numbers where the features are."""
        self.send_rows = self.send_rows.to(device)

    def start(self, x: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Send ``x[send_rows]``; what this returns waits for the ``(h, …)`` rows of others."""
        return self.comm.start_all_to_all(x[self.send_rows], self.send_counts, self.receive_counts)

    def start_back(self, gradient: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Send ``(h, …)`` gradients to the owners; what this returns waits for the sums ``(n, …)``."""
        wait = self.comm.start_all_to_all(gradient, self.receive_counts, self.send_counts)
        zeros = gradient.new_zeros((self.owned, *gradient.shape[1:]))
        return lambda: zeros.index_add_(0, self.send_rows, wait())


class ExchangeKey(NamedTuple):
    """The key of an exchange: the step of the training, and the exchange's number in the forward pass."""

    step: int
    number: int


class _HaloRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, halo: RankHalo, exchange: HaloExchange, key: ExchangeKey) -> torch.Tensor:
        ctx.halo, ctx.exchange, ctx.key = halo, exchange, key
        return exchange.fetch(x.detach(), halo, key)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return ctx.exchange.give_back(gradient, ctx.halo, ctx.key), None, None, None


def extend(x: torch.Tensor, halo: RankHalo, exchange: HaloExchange, key: ExchangeKey) -> torch.Tensor:
    """``(n, …)`` own rows to ``(n + h, …)``, with the gradient of both."""
    return torch.cat([x, _HaloRows.apply(x, halo, exchange, key)])  # type: ignore[no-untyped-call]


class _HaloSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, halo: RankHalo) -> torch.Tensor:
        ctx.halo = halo
        return halo.start_back(values)()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.halo.start(gradient)(), None


def collect(values: torch.Tensor, halo: RankHalo) -> torch.Tensor:
    """``(n + h, …)`` sums at own vertices and the halo to the ``(n, …)`` sums of all ranks, with their gradient."""
    came: torch.Tensor = _HaloSums.apply(values[halo.owned :], halo)  # type: ignore[no-untyped-call]
    return values[: halo.owned] + came
