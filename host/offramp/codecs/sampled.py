# SPDX-License-Identifier: Apache-2.0
"""BNS-GCN: a sample of the features travels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from offramp.codecs.base import Coding
from offramp.splitmix import GOLDEN, mix, mix_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import torch

    from offramp.graph.halo_plan import HaloMessage
    from offramp.graph.step_messages import StepMessage
    from offramp.workers.mailbox import Key
    from offramp_base.archive import Arrays


class SampledCodec(Coding):
    """BNS-GCN: each row travels with a probability, scaled by its inverse; others count as zeros.

    (Wan et al. 2022, algorithm 1.) A vertex that one worker needs of another is drawn anew in each training step, for
    all layers and both directions; both ends draw the same, so no index travels.
    """

    def __init__(self, inner: Coding, rank: int, probability: float, seed: int) -> None:
        self._inner, self._rank = inner, rank
        self._probability, self._seed = probability, seed

    def encode(self, x: torch.Tensor, message: HaloMessage, key: Key) -> torch.Tensor:
        """The rows that are drawn."""
        user = self._rank if key.backward else message.peer
        drawn = self._drawn(message, key, user)
        vectors = x[message.rows[drawn]].div_(self._probability)
        part = replace(message, rows=np.arange(len(vectors)), ids=message.ids[drawn], weights=message.weights[drawn])
        return self._inner.encode(vectors, part, key)

    def decode(
        self, payload: torch.Tensor, message: HaloMessage, key: Key, out: torch.Tensor, *, add: bool = False
    ) -> None:
        """The vectors that were drawn; the others are zeros."""
        user = message.peer if key.backward else self._rank
        drawn = self._drawn(message, key, user)
        part = replace(message, rows=message.rows[drawn], ids=message.ids[drawn], weights=message.weights[drawn])
        if not add:
            out[message.rows[~drawn]] = 0
        self._inner.decode(payload, part, key, out, add=add)

    def arrays(self, sent: Sequence[StepMessage]) -> Arrays:
        """State of the inner codec."""
        return self._inner.arrays(sent)

    def restore(self, sent: Sequence[StepMessage], arrays: Arrays) -> None:
        """Take over the state of the inner codec."""
        self._inner.restore(sent, arrays)

    def set_bits(self, bits: int) -> None:
        """Set the bits of the rows that are drawn."""
        self._inner.set_bits(bits)

    def _drawn(self, message: HaloMessage, key: Key, user: int) -> npt.NDArray[np.bool_]:
        step = mix_word(mix_word(self._seed + GOLDEN * key.step) + user)
        words = mix(message.ids.astype(np.uint64) ^ np.uint64(step))
        return words >> np.uint64(11) < np.uint64(self._probability * 2**53)
