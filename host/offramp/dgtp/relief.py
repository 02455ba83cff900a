# SPDX-License-Identifier: Apache-2.0
"""An extension of the paper's search: simulated annealing that takes load off the busiest network cards.

On a cluster that is nearly full online execution ends within a few per cent of what its busiest card takes to pass all
bytes, a lower bound of any schedule. It costs microseconds to know where a simulation costs milliseconds, so many more
placements can be compared.
"""

from __future__ import annotations

import math
import time
from typing import Final

import numpy as np

from offramp.dgtp.bounds import card_seconds, leaving
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.refinement import neighbour
from offramp.dgtp.volume import FloatArray

_POWER: Final = 8
"""Exponent of the norm over cards: high enough to see the busiest, low enough to see those just below it."""
_HOT: Final = 0.03
_COLD: Final = 0.0005
"""Relative growth of the load that is accepted with probability 1/e, in the beginning and in the end."""


def relieve(
    problem: Problem, start: IntArray, drawn: FloatArray, trials: int, seed: int, until: float = math.inf
) -> IntArray:
    """Try that many feasible changes, at random, from a feasible placement; the one with the least load on cards.

    With a time of the monotonic clock, ``until``, it cools down by then.
    """
    rng = np.random.default_rng(seed)
    sent = leaving(problem, drawn)
    here = best = start
    load = least = _load(problem, start, sent)
    begun = time.monotonic()
    for trial in range(trials if load else 0):
        spent = max(trial / trials, (time.monotonic() - begun) / (until - begun) if until > begun else 1.0)
        if spent >= 1:
            break
        changed = neighbour(problem, here, rng)
        if changed is None or not problem.feasible(changed):
            continue
        changed_load = _load(problem, changed, sent)
        heat = _HOT * (_COLD / _HOT) ** spent
        if changed_load < load or rng.random() < math.exp((1 - changed_load / load) / heat):
            here, load = changed, changed_load
            if load < least:
                best, least = here, load
            if not load:
                break
    return best.copy()


def _load(problem: Problem, machine: IntArray, sent: FloatArray) -> float:
    cards = card_seconds(problem, machine, sent)
    busiest = float(cards.max())
    return busiest * float(((cards / busiest) ** _POWER).sum()) ** (1 / _POWER) if busiest else 0.0
