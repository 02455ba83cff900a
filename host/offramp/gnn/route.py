# SPDX-License-Identifier: Apache-2.0
"""One halo's rows through a switch: which rows of an exchange are own vertices, and which are copies of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
import torch

from offramp.switchgnn.copies import RowCopies
from offramp.switchgnn.pairwise import partial_ids
from offramp.switchgnn.sum_codec import ExchangeId, FixedPointCodec

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from offramp.gnn.halo import ExchangeKey, RankHalo
    from offramp.switchgnn.exchange import Exchange


@dataclass(eq=False)
class ExchangeRoute:
    """The rows of an exchange, there and back, are ``s`` own vertices that leave and ``h`` copies, ascending by id.

    Attributes:
        halo: the halo whose rows they are.
        copies: number of copies on all ranks; vertices are numbered by rank and row.
        own: ``(s,)`` own rows that leave.
        place: ``(h,)`` row of the exchange of each row of the halo.
        fetches: exchanges of own rows for others, by ascending width.
        returns: exchanges of gradients of others' rows for their sums, as many.
    """

    halo: RankHalo
    copies: RowCopies
    own: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    fetches: list[Exchange] = field(default_factory=list)
    returns: list[Exchange] = field(default_factory=list)

    @classmethod
    def agree(cls, halo: RankHalo) -> Self:
        """Tell each other what every rank sends; all ranks call this together."""
        comm = halo.comm
        owned = torch.cat(_of_all(halo, torch.tensor([halo.owned]), [1] * comm.size))
        counts = _of_all(halo, torch.tensor(halo.send_counts), [comm.size] * comm.size)
        rows = _of_all(halo, halo.send_rows.cpu(), [int(each.sum()) for each in counts])
        first = torch.cumsum(owned, 0) - owned
        vertex = torch.cat([each + start for each, start in zip(rows, first, strict=True)]).numpy()
        receiver = torch.cat([torch.repeat_interleave(torch.arange(comm.size), each) for each in counts]).numpy()
        pairs = vertex * comm.size + receiver
        order = np.argsort(pairs)
        owner = np.repeat(np.arange(comm.size, dtype=np.int32), owned.numpy())
        copies = RowCopies(comm.size, owner, np.stack([vertex, receiver], axis=1)[order])
        # Senders come by rank, and each one's rows for a receiver in the order of the receiver's halo.
        mine = partial_ids(copies)[np.searchsorted(pairs[order], pairs[receiver == comm.rank])]
        own = np.unique(halo.send_rows.cpu().numpy())
        return cls(halo, copies, own, len(own) + np.searchsorted(np.sort(mine), mine))

    def fetch(self, x: torch.Tensor) -> torch.Tensor:
        """``(n, F)`` float32 own rows to the ``(h, F)`` rows of others, bit by bit."""
        values = self._rows(x.shape[1])
        values[: len(self.own)] = x.numpy()[self.own].view(np.int32)
        sums = _suitable(self.fetches, values).sum(values)[self.place]
        return torch.from_numpy(sums.astype(np.int32).view(np.float32))

    def give_back(self, gradient: torch.Tensor, key: ExchangeKey) -> torch.Tensor:
        """``(h, F)`` float32 gradients of others' rows to ``(n, F)`` sums of what ranks have for own rows.

        Raises:
            OfframpError: a gradient is not finite.
        """

        def add(quantised: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
            values = self._rows(quantised.shape[1])
            values[self.place] = quantised
            return _suitable(self.returns, values).sum(values)[: len(self.own)]

        codec = FixedPointCodec(self.halo.comm, self.copies.fan_out)
        sums = codec.sums(gradient, ExchangeId(key.number + 1, backward=True), add, lambda *_: None)
        out = gradient.new_zeros((self.halo.owned, gradient.shape[1]))
        out[torch.from_numpy(self.own)] = sums
        return out

    def _rows(self, features: int) -> npt.NDArray[np.int32]:
        return np.zeros((len(self.own) + len(self.place), features), np.int32)


def _suitable(exchanges: Sequence[Exchange], values: npt.NDArray[np.int32]) -> Exchange:
    """The narrowest exchange that takes the values at once, or the widest, which takes them in pieces."""
    return next((each for each in exchanges if each.plan.width >= values.shape[1]), exchanges[-1])


def _of_all(halo: RankHalo, values: torch.Tensor, counts: Sequence[int]) -> list[torch.Tensor]:
    """Every rank's values, of which there are ``counts``."""
    comm = halo.comm
    every = comm.all_to_all(values.repeat(comm.size), [len(values)] * comm.size, counts)
    return list(torch.split(every, list(counts)))
