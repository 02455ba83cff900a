# SPDX-License-Identifier: Apache-2.0
"""Dropout whose masks belong to vertices, so that no partition or order of computation changes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from offramp.splitmix import GOLDEN, mix


class VertexDropout:
    """Zeroes elements with a probability; the mask is a function of seed, step, layer, vertex and column.

    Attributes:
        probability: of a zero; 0 switches it off.
        step: of the training: set by the trainer before each.
    """

    def __init__(self, probability: float, seed: int) -> None:
        self.probability = probability
        self.step = 0
        self._seed = seed

    def __call__(self, x: torch.Tensor, ids: npt.NDArray[np.int64], layer: int) -> torch.Tensor:
        """``(t, F)`` features of the vertices ``ids``, scaled by 1 / (1 - probability) where they stay."""
        if not self.probability:
            return x
        keep = torch.from_numpy(self.mask(ids, x.shape[1], layer))
        return x * keep / (1 - self.probability)

    def mask(self, ids: npt.NDArray[np.int64], width: int, layer: int) -> npt.NDArray[np.bool_]:
        """``(t, width)``: which elements stay."""
        stream = mix(np.array([self._seed, self.step, layer], np.uint64))
        key = mix(stream[:1] ^ mix(stream[1:2] + stream[2:]))
        rows = mix(ids.astype(np.uint64) ^ key)[:, np.newaxis]
        columns = np.arange(width, dtype=np.uint64) * np.uint64(GOLDEN)
        return mix(rows + columns) >> np.uint64(11) >= np.uint64(self.probability * 2**53)
