# SPDX-License-Identifier: Apache-2.0
"""Rates of a software switch and its workers, fitted to timed exchanges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from offramp.switchgnn.cost import Rates, loads
from offramp.switchgnn.scheme_plan import SchemePlan
from offramp_base.errors import OfframpError

UNLIMITED = 1e15
"""Packets, or bits, per second that mean no limit: for stages found to take no time, and for memory links."""


def calibrated(timed: Sequence[tuple[SchemePlan, float]]) -> Rates:
    """Rates that best explain the seconds of each exchange, by least squares of relative errors.

    Every exchange takes so long for a packet of a block's busiest worker, for a pass and for a round; none less than
    no time. What hosts send each other is not timed, so that exchanges with such messages do not count.

    Raises:
        OfframpError: fewer than three exchanges through the switch alone.
    """
    usable = [(each, seconds) for each, seconds in timed if not each.hosted.any() and seconds > 0 and each.rounds]
    if len(usable) < 3:
        raise OfframpError(f"calibration: expected at least 3 exchanges through the switch alone, got {len(usable)}")
    work = np.array([_work(each) for each, _ in usable], np.float64)
    seconds = np.array([taken for _, taken in usable])
    (host_s, pass_s, round_s), _ = nnls(work / seconds[:, np.newaxis], np.ones(len(seconds)))
    host_pps, passes_pps = (1 / each if each > 1 / UNLIMITED else UNLIMITED for each in (host_s, pass_s))
    return Rates(UNLIMITED, 0.0, passes_pps, host_pps, float(round_s), overlap=False, free_forwarding=False)


def _work(scheme_plan: SchemePlan) -> tuple[int, int, int]:
    """Packets of each block's busiest worker, summed; passes; rounds."""
    busiest = 0
    for block in scheme_plan.plan.blocks:
        sends, gets = loads(block, scheme_plan.boundary.workers)
        busiest += int((sends + gets).max())
    return scheme_plan.slices * scheme_plan.plan.chunks * busiest, scheme_plan.passes, scheme_plan.rounds
