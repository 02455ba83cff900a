# SPDX-License-Identifier: Apache-2.0
"""Messages between all workers at once, with what they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.dgs.ledger import TrafficLedger, ring_bytes
from offramp.dgs.wire import DGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.dgs.records import SamplingRecord
    from offramp.workers.group import Group

_LENGTH_BYTES = 8


class Messenger:
    """One worker's messages; all workers call it in the same order.

    Attributes:
        ledger: bytes sent.
    """

    def __init__(self, group: Group) -> None:
        self.ledger = TrafficLedger()
        self._group = group

    def all_to_all(self, records: Sequence[Sequence[SamplingRecord]]) -> list[bytes]:
        """Records for each worker in rank order, against those from each; those for itself are not sent."""
        rank, size = self._group.rank, self._group.size
        messages = [b"".join(record.encode() for record in mine) for mine in records]
        messages[rank] = b""
        sent = sum(len(mine) for peer, mine in enumerate(records) if peer != rank)
        self.ledger.headers += sent * DGS.size + (size - 1) * _LENGTH_BYTES
        lengths = torch.tensor([len(message) for message in messages])
        coming = self._group.all_to_all(lengths, [1] * size, [1] * size).tolist()
        whole = torch.from_numpy(np.frombuffer(bytearray(b"".join(messages)), np.uint8))
        received = self._group.all_to_all(whole, lengths.tolist(), coming).numpy().tobytes()
        ends = np.cumsum(coming).tolist()
        return [received[end - length : end] for end, length in zip(ends, coming, strict=True)]

    def sum(self, values: torch.Tensor, kind: str) -> torch.Tensor:
        """Element-wise sum over workers, in place; counted as ``kind``, for a ring."""
        size = values.numel() * values.element_size()
        setattr(self.ledger, kind, getattr(self.ledger, kind) + ring_bytes(size, self._group.size))
        return self._group.sum(values)
