# SPDX-License-Identifier: Apache-2.0
"""The paper's slot model, equations 3 to 6: one output queue, ``k`` packets in and out a slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError


@dataclass(frozen=True, eq=False)
class SlotTrace:
    """One block through the slot model.

    Attributes:
        k: packets a slot.
        completed: ``(T,)`` aggregations f(t) that the t-th group of uploads completes, T = ceil(n/k).
        queue: ``(T,)`` results Q(t) still waiting after slot t.
        open: ``(T,)`` aggregators that hold a partial sum after slot t.
    """

    k: int
    completed: IntArray
    queue: IntArray
    open: IntArray

    @property
    def slots(self) -> int:
        """z: slots until the last result has left (equation 6)."""
        return len(self.queue) + -(-int(self.queue[-1]) // self.k) if len(self.queue) else 0

    @property
    def peak_queue(self) -> int:
        """Longest queue of results."""
        return int(self.queue.max(initial=0))

    @property
    def peak_open(self) -> int:
        """Most aggregators open at once."""
        return int(self.open.max(initial=0))


def slot_trace(indptr: IntArray, neighbours: IntArray, order: IntArray, k: int = 1) -> SlotTrace:
    """Upload the vertices of a block graph (CSR over ranks) in ``order``, ``k`` in each slot.

    A result may leave in the slot in which its last contribution arrives.

    Raises:
        OfframpError: ``k`` below 1, an isolated vertex, or an ``order`` that is not a permutation.
    """
    n = len(indptr) - 1
    if k < 1:
        raise OfframpError(f"k {k}: expected at least 1 packet a slot")
    if (np.diff(indptr) < 1).any():
        raise OfframpError("block: expected at least one neighbour for each vertex")
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise OfframpError(f"order: expected a permutation of {n} ranks")
    slots = -(-n // k)
    slot = np.empty(n, np.int64)
    slot[order] = np.arange(n) // k
    arrivals = slot[neighbours]
    done = np.maximum.reduceat(arrivals, indptr[:-1]) if n else arrivals
    first = np.minimum.reduceat(arrivals, indptr[:-1]) if n else arrivals
    completed = np.bincount(done, minlength=slots)
    opened = np.bincount(first, minlength=slots)
    return SlotTrace(k, completed, _queue(completed, k), np.cumsum(opened - completed))


def _queue(completed: IntArray, k: int) -> IntArray:
    """Q(t) = max(f(t) + Q(t-1) - k, 0), as the height of a walk above its running minimum."""
    walk = np.cumsum(completed - k)
    return np.asarray(walk - np.minimum(np.minimum.accumulate(walk), 0), np.int64)
