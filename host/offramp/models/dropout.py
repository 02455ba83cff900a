# SPDX-License-Identifier: Apache-2.0
"""Dropout whose masks belong to vertices, so that no partition or order of computation changes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from offramp import splitmix_tensor
from offramp.splitmix import GOLDEN, mix

_BITS = 53
"""Bits of a random word that decide; a float64 holds that many."""
_UNUSED = 64 - _BITS


class VertexDropout:
    """Zeroes elements with a probability; the mask is a function of seed, step, layer, vertex and column.

    Attributes:
        probability: probability of a zero; 0 switches dropout off.
        step: training step, which the trainer sets before each.
    """

    def __init__(self, probability: float, seed: int) -> None:
        self.probability = probability
        self.step = 0
        self._seed = seed

    def __call__(self, x: torch.Tensor, ids: npt.NDArray[np.int64], layer: int) -> torch.Tensor:
        """Apply dropout to ``(t, F)`` features of the vertices ``ids``; kept ones are scaled by 1/(1 - probability)."""
        if not self.probability:
            return x
        if x.is_cuda:
            keep = self._mask_on(x.device, ids, x.shape[1], layer)
        else:
            keep = torch.from_numpy(self.mask(ids, x.shape[1], layer))
        return x * keep / (1 - self.probability)

    def mask(self, ids: npt.NDArray[np.int64], width: int, layer: int) -> npt.NDArray[np.bool_]:
        """``(t, width)`` mask of the elements that are kept."""
        rows = mix(ids.astype(np.uint64) ^ self._key(layer))[:, np.newaxis]
        columns = np.arange(width, dtype=np.uint64) * np.uint64(GOLDEN)
        return mix(rows + columns) >> np.uint64(_UNUSED) >= np.uint64(self.probability * 2**_BITS)

    def _mask_on(self, device: torch.device, ids: npt.NDArray[np.int64], width: int, layer: int) -> torch.Tensor:
        """The same mask, computed on the features' device."""
        key = int(self._key(layer)[0].astype(np.int64))
        rows = splitmix_tensor.mix(torch.from_numpy(ids).to(device) ^ key)[:, None]
        columns = torch.arange(width, device=device) * splitmix_tensor.signed(GOLDEN)
        words = splitmix_tensor.mix(rows + columns)
        return splitmix_tensor.shifted(words, _UNUSED) >= int(self.probability * 2**_BITS)

    def _key(self, layer: int) -> npt.NDArray[np.uint64]:
        stream = mix(np.array([self._seed, self.step, layer], np.uint64))
        key: npt.NDArray[np.uint64] = mix(stream[:1] ^ mix(stream[1:2] + stream[2:]))
        return key
