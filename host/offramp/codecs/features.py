# SPDX-License-Identifier: Apache-2.0
"""What messages become on their way from worker to worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.splitmix import GOLDEN, mix, mix_word

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.halo_plan import Message
    from offramp.workers.mailbox import Key


class FeatureCodec(ABC):
    """Rows to bytes and back, on behalf of one worker.

    Both ends know a message's rows and key, so bytes need not tell them; they may be read a training step later.
    """

    @abstractmethod
    def encode(self, x: torch.Tensor, message: Message, key: Key) -> torch.Tensor:
        """``x[message.rows]``, layers' messages or their gradients, to uint8."""

    @abstractmethod
    def decode(self, payload: torch.Tensor, message: Message, key: Key, width: int) -> torch.Tensor:
        """uint8 to ``(r, width)``.

        Raises:
            OfframpError: not what :meth:`encode` makes.
        """


class PlainCodec(FeatureCodec):
    """The values as they are: 4 or 8 bytes each."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def encode(self, x: torch.Tensor, message: Message, key: Key) -> torch.Tensor:  # noqa: ARG002
        """Their bytes."""
        return x[message.rows].contiguous().view(torch.uint8).view(-1)

    def decode(self, payload: torch.Tensor, message: Message, key: Key, width: int) -> torch.Tensor:  # noqa: ARG002
        """The same values."""
        return payload.view(self._dtype).view(len(message.rows), width)


class SampledCodec(FeatureCodec):
    """BNS-GCN: each row travels with a probability, scaled by its inverse; others count as zeros.

    (Wan et al. 2022, algorithm 1.) A vertex that one worker needs of another is drawn anew in each training step, for
    all layers and both directions; both ends draw the same, so no index travels.
    """

    def __init__(self, inner: FeatureCodec, rank: int, probability: float, seed: int) -> None:
        self._inner, self._rank = inner, rank
        self._probability, self._seed = probability, seed

    def encode(self, x: torch.Tensor, message: Message, key: Key) -> torch.Tensor:
        """The rows that are drawn."""
        user = self._rank if key.backward else message.peer
        drawn = self._drawn(message, key, user)
        rows = x[message.rows[drawn]] / self._probability
        part = replace(message, rows=np.arange(len(rows)), ids=message.ids[drawn], weights=message.weights[drawn])
        return self._inner.encode(rows, part, key)

    def decode(self, payload: torch.Tensor, message: Message, key: Key, width: int) -> torch.Tensor:
        """The same, and zeros."""
        user = message.peer if key.backward else self._rank
        drawn = self._drawn(message, key, user)
        part = replace(message, rows=message.rows[drawn], ids=message.ids[drawn], weights=message.weights[drawn])
        values = self._inner.decode(payload, part, key, width)
        rows = values.new_zeros(len(message.rows), width)
        rows[drawn] = values
        return rows

    def _drawn(self, message: Message, key: Key, user: int) -> npt.NDArray[np.bool_]:
        step = mix_word(mix_word(self._seed + GOLDEN * key.step) + user)
        words = mix(message.ids.astype(np.uint64) ^ np.uint64(step))
        return words >> np.uint64(11) < np.uint64(self._probability * 2**53)
