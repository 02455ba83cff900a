# SPDX-License-Identifier: Apache-2.0
"""A worker's bins in a layer, and how they hang on its messages."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, overload

import numpy as np
import torch

from offramp.g3.block import BipartiteBlock
from offramp.g3.store import TensorStore

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.halo_plan import HaloMessage, HaloPlan


class Bins:
    """The bins of layer ``number``; messages are numbered as in ``outgoing`` and ``incoming``.

    Attributes:
        outgoing: messages of this layer's states.
        incoming: messages of the states of the layer before.
        blocks: one for each bin.
        sends: messages that leave when a bin is computed.
        awaits: numbers of the same messages: their gradients must be back before the bin's turn on the way back.
        needs: numbers of the received messages that each bin needs.
        consumers: bins that need each received message.
    """

    def __init__(
        self,
        plan: HaloPlan,
        dtype: torch.dtype,
        device: torch.device | None = None,
        store: TensorStore | None = None,
        number: int = 1,
    ) -> None:
        self._store = store or TensorStore(dtype, device)
        layer = plan.layer(number)
        self.outgoing, self.incoming = layer.sends, plan.layer(max(1, number - 1)).receives
        streamed = Streamed(plan, layer.bins, dtype, device)
        self.blocks: Sequence[BipartiteBlock] = streamed if self._store.streams else streamed.all()
        self.awaits: list[list[int]] = [[] for _ in layer.bins]
        for index, message in enumerate(self.outgoing):
            self.awaits[message.bin].append(index)
        self.sends: list[list[HaloMessage]] = [[self.outgoing[index] for index in of] for of in self.awaits]
        message_of = np.full(len(plan.ids), -1, np.int32)
        place = np.zeros(len(plan.ids), np.int32)
        for index, message in enumerate(self.incoming):
            message_of[message.rows] = index
            place[message.rows] = np.arange(len(message.rows))
        self._sizes = [len(message.rows) for message in self.incoming]
        self._rows: list[dict[int, tuple[torch.Tensor, torch.Tensor]]] = [{} for _ in self.incoming]
        self.needs: list[list[int]] = []
        for index, block in enumerate(self.blocks):
            of = message_of[block.rows]
            rows = np.flatnonzero(of >= 0)
            rows = rows[np.argsort(of[rows], kind="stable")]
            each, starts = np.unique(of[rows], return_index=True)
            self.needs.append(each.tolist())
            ends = self._store.kept(torch.from_numpy(np.stack([place[block.rows[rows]], rows])).to(device))
            for message_number, part in zip(self.needs[-1], ends.tensor_split(starts[1:].tolist(), 1), strict=False):
                self._rows[message_number][index] = part[0], part[1]
        self.consumers = [sorted(users) for users in self._rows]

    @classmethod
    def of_layers(
        cls, plan: HaloPlan, layers: int, dtype: torch.dtype, device: torch.device | None, store: TensorStore | None
    ) -> list[Bins]:
        """The bins of each layer; the same object for all where the plan has one set."""
        if not plan.later:
            return [cls(plan, dtype, device, store)] * layers
        return [cls(plan, dtype, device, store, number) for number in range(1, layers + 1)]

    def gathered(self, number: int, gradients: Sequence[torch.Tensor | None], width: int) -> torch.Tensor:
        """``(r, width)`` gradient of the rows of received message ``number``: what its bins have found, in order."""
        total = self._store.zeros(self._sizes[number], width)
        for index in self.consumers[number]:
            gradient = gradients[index]
            assert gradient is not None, "a message is complete when all of its bins are computed"
            place, rows = self._rows[number][index]
            total.index_add_(0, place, gradient[rows])
        return total


class Streamed(Sequence[BipartiteBlock]):
    """The blocks of bins, made when they are taken; the next one is made meanwhile, in a thread.

    Two blocks at most are in memory: the one that was taken and its follower in the direction of the last step.
    """

    def __init__(
        self, plan: HaloPlan, bins: Sequence[npt.NDArray[np.int64]], dtype: torch.dtype, device: torch.device | None
    ) -> None:
        self._plan, self._bins, self._kind = plan, bins, (dtype, device)
        self._thread = ThreadPoolExecutor(1, "bins")
        self._next: tuple[int, Future[BipartiteBlock]] | None = None

    def __len__(self) -> int:
        return len(self._bins)

    @overload
    def __getitem__(self, index: int) -> BipartiteBlock: ...
    @overload
    def __getitem__(self, index: slice) -> list[BipartiteBlock]: ...
    def __getitem__(self, index: int | slice) -> BipartiteBlock | list[BipartiteBlock]:
        """The block of a bin."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        if not 0 <= index < len(self):
            raise IndexError(index)
        ahead, self._next = self._next, None
        block = ahead[1].result() if ahead is not None and ahead[0] == index else None
        if ahead is not None and block is None:
            ahead[1].cancel()
        following = (index + 1) % len(self)
        block = block or self._block(index)
        if len(self) > 1:
            self._next = following, self._thread.submit(self._block, following)
        return block

    def all(self) -> list[BipartiteBlock]:
        """All blocks at once."""
        return [self._block(index) for index in range(len(self))]

    def _block(self, index: int) -> BipartiteBlock:
        plan = self._plan
        return BipartiteBlock(plan.adjacency, self._bins[index], plan.ids, plan.degree, *self._kind)
