# SPDX-License-Identifier: Apache-2.0
"""What a load generator sends: requests by number, made in batches, and a check of every answer."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from offramp.leo.native.batch import Batch, Completions, Words


class Workload(Protocol):
    """Requests numbered from 0; the same number is the same request."""

    def batch(self, start: int, count: int) -> Batch:
        """Requests ``start`` to ``start + count``."""

    def wrong(self, done: Completions) -> int:
        """How many of these, whose user words are the requests' numbers, were not answered as they should."""


class Zipf:
    """Ranks from 0 by Zipf's law, as YCSB draws them."""

    def __init__(self, count: int, exponent: float = 0.99) -> None:
        """A distribution over ``count`` ranks."""
        weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
        self._below = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator, count: int) -> Words:
        """``(count,)`` ranks."""
        found = np.searchsorted(self._below, rng.random(count), side="right")
        return np.minimum(found, len(self._below) - 1).astype(np.int64)
