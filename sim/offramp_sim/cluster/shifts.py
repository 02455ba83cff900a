# SPDX-License-Identifier: Apache-2.0
"""CASSINI's time shifts: jobs that share links communicate while the others compute (NSDI 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_sim.cluster.orders import SharingJob

Floats = npt.NDArray[np.float64]
_ANGLES: Final = 72
"""Shifts that are tried, evenly over an iteration."""
_ROUNDS: Final = 6
_POINTS: Final = 1440


def shifts(jobs: Sequence[SharingJob], until_s: Sequence[float], capacity: Floats) -> list[float]:
    """Seconds by which each job's next iteration is put off so that links carry the least more than they can.

    One job after the other, in order of their iterations' length, takes the shift that adds least to what the links
    of those before it carry beyond their rates, over some iterations of the longest.

    Args:
        jobs: jobs that share links.
        until_s: seconds until each begins to communicate.
        capacity: bytes per second of the resources that the loads name.
    """
    longest = max(each.iteration_s for each in jobs)
    time = np.linspace(0.0, _ROUNDS * longest, _POINTS, endpoint=False)
    demand = np.zeros((len(capacity), len(time)))
    chosen = [0.0] * len(jobs)
    for k in sorted(range(len(jobs)), key=lambda k: (-jobs[k].iteration_s, jobs[k].started_s)):
        each = jobs[k]
        if not each.load.seconds:
            continue
        used, rate = each.load.resource, each.load.amount / each.load.seconds
        room = capacity[used, None] - demand[used]
        best = None
        for angle in range(_ANGLES):
            shift = each.iteration_s * angle / _ANGLES
            phase = (time - until_s[k] - shift) % each.iteration_s
            sends = (phase < each.load.seconds) & (time >= until_s[k] + shift - 1e-12)
            excess = float(np.maximum(rate[:, None] * sends - np.maximum(room, 0), 0).sum())
            if best is None or excess < best[0] * (1 - 1e-9):
                best = (excess, shift, sends)
            if excess == 0:
                break
        assert best is not None
        chosen[k] = best[1]
        demand[used] += rate[:, None] * best[2]
    return chosen
