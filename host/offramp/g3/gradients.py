# SPDX-License-Identifier: Apache-2.0
"""Gradients of a stage's messages: bins compute them in any order, and they add up in the order of the bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from offramp.g3.bins import Bins
    from offramp.g3.block import BipartiteBlock
    from offramp.g3.store import TensorStore
    from offramp.graph.halo_plan import HaloMessage


class MessageGradients:
    """Gradients of the messages of a layer, kept bin by bin until all bins are computed.

    Attributes:
        total: ``(n + h, w)`` their sums, of own rows and of received ones.
    """

    def __init__(self, bins: Bins, total: torch.Tensor, own: int, *, received: bool) -> None:
        """Args: as they are named.

        bins: the layer's bins.
        total: zeros.
        own: number of own rows.
        received: whether gradients of received rows go back to their senders, message by message.
        """
        self.total = total
        self._bins, self._own, self._received = bins, own, received
        self._of_bins: list[torch.Tensor | None] = [None] * len(bins.blocks)
        self._left = [len(users) for users in bins.consumers]

    @classmethod
    def of(cls, store: TensorStore, bins: Bins, rows: int, width: int, own: int, *, received: bool) -> MessageGradients:
        """Gradients ``(rows, width)`` as the store keeps them."""
        total = store.zeros(rows, width)
        if store.streams:
            return StreamedGradients(store, bins, total, own, received=received)
        return cls(bins, total, own, received=received)

    def add(self, index: int, block: BipartiteBlock, gradient: torch.Tensor | None) -> list[HaloMessage]:  # noqa: ARG002
        """Take the gradient of a bin's sources; returns the received messages that are now complete in ``total``."""
        self._of_bins[index] = gradient
        complete = self._complete(index)
        for number in complete:
            rows = self._bins.incoming[number].rows
            self.total[rows] = self._bins.gathered(number, self._of_bins, self.total.shape[1])
        return [self._bins.incoming[number] for number in complete]

    def finish(self) -> None:
        """Complete the sums; every bin has been added."""
        into = self.total[: self._own] if self._received else self.total
        for index, gradient in enumerate(self._of_bins):
            if gradient is not None:
                self._bins.blocks[index].scatter(gradient, into)

    def _complete(self, index: int) -> list[int]:
        """Received messages of which bin ``index`` was the last consumer to come."""
        needs = self._bins.needs[index] if self._received else []
        for number in needs:
            self._left[number] -= 1
        return [number for number in needs if not self._left[number]]


class StreamedGradients(MessageGradients):
    """Gradients that join the sums in their bin's turn, so that none is kept once all earlier bins are computed.

    A message is complete when its last consumer has joined. Sums have the same bits as those of the base class.
    """

    def __init__(self, store: TensorStore, bins: Bins, total: torch.Tensor, own: int, *, received: bool) -> None:
        """Args: store: of bins that come before their turn; others as for the base class."""
        super().__init__(bins, total, own, received=received)
        self._store = store
        self._waiting: dict[int, torch.Tensor | None] = {}
        self._next = 0

    def add(self, index: int, block: BipartiteBlock, gradient: torch.Tensor | None) -> list[HaloMessage]:
        """Take the gradient of a bin's sources; returns the received messages that are now complete in ``total``."""
        early = index != self._next
        self._waiting[index] = self._store.kept(gradient) if early and gradient is not None else gradient
        complete: list[int] = []
        while self._next in self._waiting:
            joining, turn = self._waiting.pop(self._next), self._next
            if joining is not None:
                (block if turn == index else self._bins.blocks[turn]).scatter(joining, self.total)
                self._store.wrote(joining)
            complete += self._complete(turn)
            self._next += 1
        return [self._bins.incoming[number] for number in complete]

    def finish(self) -> None:
        """Every bin has joined."""
        assert not self._waiting, "every bin has been added"
