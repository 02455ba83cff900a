# SPDX-License-Identifier: Apache-2.0
"""A worker's bins, and how they hang on its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.g3.block import BipartiteBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.graph.halo_plan import HaloMessage, HaloPlan


class Bins:
    """Messages are numbered as in ``plan.sends`` and ``plan.receives``.

    Attributes:
        blocks: one for each bin.
        sends: messages that leave when a bin is computed.
        awaits: numbers of the same messages: their gradients must be back before the bin's turn on the way back.
        needs: numbers of the received messages that each bin needs.
        consumers: bins that need each received message.
    """

    def __init__(self, plan: HaloPlan, dtype: torch.dtype, device: torch.device | None = None) -> None:
        self._device = device
        self.blocks = [BipartiteBlock(plan.adjacency, rows, plan.ids, plan.degree, dtype, device) for rows in plan.bins]
        self.awaits: list[list[int]] = [[] for _ in plan.bins]
        for number, message in enumerate(plan.sends):
            self.awaits[message.bin].append(number)
        self.sends: list[list[HaloMessage]] = [[plan.sends[number] for number in of] for of in self.awaits]
        message_of = np.full(len(plan.ids), -1)
        place = np.zeros(len(plan.ids), np.int64)
        for number, message in enumerate(plan.receives):
            message_of[message.rows] = number
            place[message.rows] = np.arange(len(message.rows))
        self._sizes = [len(message.rows) for message in plan.receives]
        self._rows: list[dict[int, tuple[torch.Tensor, torch.Tensor]]] = [{} for _ in plan.receives]
        self.needs: list[list[int]] = []
        for index, block in enumerate(self.blocks):
            of = message_of[block.rows]
            self.needs.append(np.unique(of[of >= 0]).tolist())
            for number in self.needs[-1]:
                rows = np.flatnonzero(of == number)
                places = place[block.rows[rows]]
                self._rows[number][index] = torch.from_numpy(places).to(device), torch.from_numpy(rows).to(device)
        self.consumers = [sorted(users) for users in self._rows]

    def gathered(
        self, number: int, gradients: Sequence[torch.Tensor | None], width: int, dtype: torch.dtype
    ) -> torch.Tensor:
        """``(r, width)`` gradient of the rows of received message ``number``: what its bins have found, in order."""
        total = torch.zeros(self._sizes[number], width, dtype=dtype, device=self._device)
        for index in self.consumers[number]:
            gradient = gradients[index]
            assert gradient is not None, "a message is complete when all of its bins are computed"
            place, rows = self._rows[number][index]
            total.index_add_(0, place, gradient[rows])
        return total
