# SPDX-License-Identifier: Apache-2.0
"""Cluster-aware graph parallelism: some tokens on a rank become some heads on a rank, and back (specification 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from offramp.workers.traffic import Timers
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.workers.group import Group


@sendable
@dataclass(frozen=True, slots=True)
class RankAllToAll:
    """One all-to-all of a rank.

    Attributes:
        heads: whether heads were scattered and the sequence gathered, or vice versa.
        backward: whether gradients were sent.
        sent: bytes sent to other ranks.
    """

    heads: bool
    backward: bool
    sent: int


class SequenceParallel:
    """The all-to-alls of a rank, with counts.

    Attributes:
        exchanges: all-to-alls of the step, in order.
        timers: seconds under ``communication``.
    """

    def __init__(self, group: Group, wire: torch.dtype | None = None) -> None:
        """``wire``: type of the numbers sent; those that a rank keeps are rounded too, so that ranks do not matter."""
        self.group = group
        self._wire = wire
        self.exchanges: list[RankAllToAll] = []
        self.timers = Timers()

    def begin_step(self) -> None:
        """Clear the exchanges and times of the previous step."""
        self.exchanges.clear()
        self.timers.reset()

    def to_heads(self, x: torch.Tensor) -> torch.Tensor:
        """Map ``(tokens/P, kinds, heads, d)`` to ``(kinds, heads/P, tokens, d)``; differentiable."""
        result: torch.Tensor = _ToHeads.apply(x, self)  # type: ignore[no-untyped-call]
        return result

    def to_tokens(self, x: torch.Tensor) -> torch.Tensor:
        """Map ``(kinds, heads/P, tokens, d)`` to ``(tokens/P, kinds, heads, d)``; differentiable."""
        result: torch.Tensor = _ToTokens.apply(x, self)  # type: ignore[no-untyped-call]
        return result

    def scatter_heads(self, x: torch.Tensor, *, backward: bool) -> torch.Tensor:
        """The exchange of :meth:`to_heads`, without a gradient."""
        ranks, (tokens, kinds, heads, d) = self.group.size, x.shape
        parts = x.reshape(tokens, kinds, ranks, heads // ranks, d).permute(2, 1, 3, 0, 4)
        received = self._all_to_all(parts, heads=True, backward=backward)
        return received.permute(1, 2, 0, 3, 4).reshape(kinds, heads // ranks, ranks * tokens, d)

    def gather_heads(self, x: torch.Tensor, *, backward: bool) -> torch.Tensor:
        """The exchange of :meth:`to_tokens`, without a gradient."""
        ranks, (kinds, heads, tokens, d) = self.group.size, x.shape
        parts = x.reshape(kinds, heads, ranks, tokens // ranks, d).permute(2, 0, 1, 3, 4)
        received = self._all_to_all(parts, heads=False, backward=backward)
        return received.permute(3, 1, 0, 2, 4).reshape(tokens // ranks, kinds, ranks * heads, d)

    def _all_to_all(self, parts: torch.Tensor, *, heads: bool, backward: bool) -> torch.Tensor:
        """Exchange ``parts[r]`` for rank r against each rank's part for this one."""
        group, dtype = self.group, parts.dtype
        parts = parts.to(self._wire or dtype).contiguous()
        sent = sum(part.nbytes for rank, part in enumerate(parts) if rank != group.rank)
        self.exchanges.append(RankAllToAll(heads, backward, sent))
        with self.timers("communication"):
            rows = parts.flatten(0, 1)
            each = [parts.shape[1]] * group.size
            return group.all_to_all(rows, each, each).view(parts.shape).to(dtype)


class _ToHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, parallel: SequenceParallel) -> torch.Tensor:
        ctx.parallel = parallel
        return parallel.scatter_heads(x, backward=False)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.parallel.gather_heads(gradients[0], backward=True), None


class _ToTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, parallel: SequenceParallel) -> torch.Tensor:
        ctx.parallel = parallel
        return parallel.gather_heads(x, backward=False)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.parallel.scatter_heads(gradients[0], backward=True), None


def layer_bytes(tokens: int, hidden: int, ranks: int, element: int = 4) -> int:
    """Bytes that a rank sends in one layer's forward all-to-alls, 4·S·d·(P-1)/P² elements; backward as much again.

    Raises:
        OfframpError: the number of ranks does not divide the tokens or the hidden width.
    """
    for name, whole in (("tokens", tokens), ("hidden", hidden)):
        if whole % ranks:
            raise OfframpError(f"{name} {whole}: expected a multiple of {ranks} ranks")
    return 4 * (tokens // ranks) * (hidden // ranks) * (ranks - 1) * element
