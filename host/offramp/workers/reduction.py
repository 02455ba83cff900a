# SPDX-License-Identifier: Apache-2.0
"""Sums of weight gradients over workers, layer by layer (g3.md section 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from offramp.workers.accelerator import to_host

if TYPE_CHECKING:
    from offramp.workers.group import Group
    from offramp.workers.mailbox import Mailbox

Reduce = Callable[[Sequence["torch.nn.Parameter"]], None]
"""Called with parameters whose gradients are complete."""


class LayerwiseSum:
    """Sums that run during the backward pass; every worker starts them in the same order.

    Gradients are summed, not averaged: every worker's loss is its share of the mean over the whole graph.
    """

    def __init__(self, group: Group, *, overlapped: bool, mailbox: Mailbox | None = None) -> None:
        """Create the sums of a group.

        Args:
            group: the workers.
            overlapped: whether sums run while their worker does something else.
            mailbox: mailbox of rows, over which sums may be sent, too.
        """
        self._group = group
        self._overlapped = overlapped
        self._mailbox = mailbox
        self._running: list[Callable[[], None]] = []

    def start(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Start summing the gradients of ``parameters``, which change at :meth:`finish`."""
        gradients = [p.grad for p in parameters if p.grad is not None]
        if not gradients:
            return
        flat = torch.cat([gradient.ravel() for gradient in gradients])
        done = self._begin(flat)

        def finish() -> None:
            done()
            for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))

        self._running.append(finish)

    def _begin(self, flat: torch.Tensor) -> Callable[[], object]:
        host = to_host(flat) if self._mailbox is not None else flat
        beside = self._mailbox.start_sum(host) if self._mailbox is not None else None
        if beside is not None:
            return lambda: (beside(), flat.copy_(host))
        return self._group.start_sum(flat) if self._overlapped else lambda: self._group.sum(flat)

    def finish(self) -> None:
        """Wait until all gradients are summed."""
        for finish in self._running:
            finish()
        self._running.clear()
