# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a sub-phase here: the same bytes in few sub-phases and in many."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from offramp.hermod.matching import SubphaseSchedule
from offramp.hermod.matching.decompose import decompose
from offramp.hermod.operator.choice import OperatorCost
from offramp.hermod.operator.exchange import CoflowExchange

if TYPE_CHECKING:
    from offramp.hermod.operator.movers import ByteMover

_BYTES: Final = 1 << 19
_TIMES: Final = 16
_REPEATS: Final = 3
_ROUNDS: Final = 1 << 31
"""A bit that no number of an exchange has."""


def measure(mover: ByteMover, sequence: int) -> OperatorCost:
    """A collective: every rank takes part, and all get the slowest rank's numbers.

    Each peer gets half a megabyte, in one sub-phase and in sixteen; the fastest of three counts.
    """
    size = mover.size
    rows = np.full((size, size), _BYTES, np.int64)
    np.fill_diagonal(rows, 0)
    coarse = decompose(rows)
    fine = SubphaseSchedule(*(np.repeat(part, _TIMES, axis=0) for part in (coarse.peer, coarse.weight, coarse.send)))
    fine = SubphaseSchedule(fine.peer, fine.weight // _TIMES, fine.send // _TIMES)
    given, taken = torch.zeros(_BYTES * size, dtype=torch.uint8), torch.empty(_BYTES * size, dtype=torch.uint8)
    seconds = []
    numbers = count(_ROUNDS | (sequence << 4) % _ROUNDS)
    for schedule in (coarse, fine):
        exchange = CoflowExchange(rows, 1, schedule)
        best = float("inf")
        for _ in range(_REPEATS):
            start = time.perf_counter()
            mover.move(next(numbers), exchange, given, taken, None).result()
            best = min(best, time.perf_counter() - start)
            mover.gather(next(numbers), np.zeros(1, np.int64))  # start together
        seconds.append(best)
    table = mover.gather(next(numbers), np.array([round(s * 1e12) for s in seconds], np.int64))
    slowest = table.max(axis=0) / 1e12
    phases = len(fine) - len(coarse)
    overhead = max(0.0, float(slowest[1] - slowest[0]) / phases)
    moved = _BYTES * (size - 1)
    return OperatorCost(overhead, max(1e-12, float(slowest[0] - overhead * len(coarse)) / moved))
