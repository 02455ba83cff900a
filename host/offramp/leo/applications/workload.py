# SPDX-License-Identifier: Apache-2.0
"""Workloads of a load generator: requests by number, made in batches, and a check of every answer."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from offramp.leo.native.batch import Completions, RequestBatch, Words


class Workload(Protocol):
    """Requests numbered from 0; a number always stands for the same request."""

    def batch(self, start: int, count: int) -> RequestBatch:
        """Requests ``start`` to ``start + count``, the latter excluded."""

    def wrong(self, done: Completions) -> int:
        """Number of these completions, whose user words are the requests' numbers, with wrong answers."""


class Zipf:
    """Draws ranks from 0 by Zipf's law, as YCSB does."""

    def __init__(self, count: int, exponent: float = 0.99) -> None:
        """A distribution over ``count`` ranks."""
        weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
        self._below = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator, count: int) -> Words:
        """``(count,)`` ranks."""
        ranks = np.searchsorted(self._below, rng.random(count), side="right")
        return np.minimum(ranks, len(self._below) - 1).astype(np.int64)
