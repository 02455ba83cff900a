# SPDX-License-Identifier: Apache-2.0
"""Dispatch and combine of a mixture of experts, differentiable: one exchange of counts for all four all-to-alls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from offramp.hermod.endhost.handle import Handle
from offramp.hermod.factors import Factors
from offramp.hermod.operator.all_to_all import AllToAll
from offramp.hermod.operator.exchange import CoflowExchange


class Sent:
    """Rows on their way, and on their way back as gradients.

    Attributes:
        exchange: the exchange; known when :meth:`wait` has returned.
    """

    def __init__(
        self,
        operator: AllToAll,
        rows: torch.Tensor,
        counts: Sequence[int] | None,
        factors: Factors | None,
        gradient_factors: Factors | None,
        like: CoflowExchange | None,
    ) -> None:
        self.operator, self.gradient_factors = operator, gradient_factors
        self.exchange = like
        self.handle = operator.start(rows, counts, factors, like)
        self.back: Handle[tuple[CoflowExchange, torch.Tensor]] | None = None
        self._token: torch.Tensor = _Start.apply(rows, self)  # type: ignore[no-untyped-call]

    def wait(self) -> torch.Tensor:
        """The rows that came, from rank 0 on.

        Raises:
            OfframpError: as :meth:`~offramp.hermod.operator.all_to_all.AllToAll.all_to_all_single`.
        """
        arrived: torch.Tensor = _Arrive.apply(self._token, self)  # type: ignore[no-untyped-call]
        return arrived

    @property
    def received(self) -> list[int]:
        """Number of rows from each rank; waits for them."""
        exchange, _ = self.handle.wait()
        counts: list[int] = exchange.rows[:, self.operator.rank].tolist()
        return counts


def dispatch(
    operator: AllToAll,
    rows: torch.Tensor,
    counts: Sequence[int],
    factors: Factors | None = None,
    gradient_factors: Factors | None = None,
) -> Sent:
    """Start to send ``counts[r]`` rows to each rank r, in rank order; nobody need know what comes.

    The backward pass starts the way back where the rows were waited for, and waits for it where they were sent: what
    autograd has to do in between overlaps. Every rank must let gradients flow, also through no rows at all.

    Args:
        operator: operator of the ranks that hold the experts.
        rows: ``(tokens, …)``.
        counts: by rank.
        factors: the priority.
        gradient_factors: factors of the exchange in the backward pass; the same by default.
    """
    return Sent(operator, rows, counts, factors, gradient_factors or factors, None)


def combine(
    operator: AllToAll,
    rows: torch.Tensor,
    dispatched: Sent,
    factors: Factors | None = None,
    gradient_factors: Factors | None = None,
) -> Sent:
    """Start to send a row back for each row that ``dispatched`` brought, in the same order, of any width and type.

    No counts are exchanged, and the sub-phases are those of the dispatch, transposed.
    """
    exchange, _ = dispatched.handle.wait()
    return Sent(operator, rows, None, factors, gradient_factors or factors, exchange.transposed)


class _Start(torch.autograd.Function):
    """The node of the autograd graph where rows leave, and where in the backward pass their gradients arrive."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, sent: Sent) -> torch.Tensor:
        ctx.sent = sent
        return rows.new_empty(0)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _: torch.Tensor) -> tuple[torch.Tensor, None]:
        assert ctx.sent.back is not None
        return ctx.sent.back.wait()[1], None


class _Arrive(torch.autograd.Function):
    """The node of the autograd graph where rows arrive, and from which in the backward pass their gradients leave."""

    @staticmethod
    def forward(ctx: Any, token: torch.Tensor, sent: Sent) -> torch.Tensor:  # noqa: ARG004
        ctx.sent = sent
        sent.exchange, arrived = sent.handle.wait()
        return arrived

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        sent: Sent = ctx.sent
        assert sent.exchange is not None
        sent.back = sent.operator.start(gradient, None, sent.gradient_factors, sent.exchange.transposed)
        return gradient.new_empty(0), None
