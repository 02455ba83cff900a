# SPDX-License-Identifier: Apache-2.0
"""Algorithm 3 of the thesis: as published, and with the minimum over the matched entries.

Neither always meets the bound (specification section 7, V1 and V2); :func:`offramp.hermod.matching.decompose` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offramp.hermod.matching.schedule import SubphaseSchedule, check_matrix


def literal(matrix: Any, *, matched_minimum: bool = False) -> SubphaseSchedule:
    """The printed loop; ``matched_minimum`` takes the weight from the matched entries, not from all.

    Raises:
        OfframpError: not a square matrix of integers of at least 0.
    """
    from scipy.optimize import linear_sum_assignment

    left = check_matrix(matrix).copy()
    np.fill_diagonal(left, 0)
    size = len(left)
    rows = np.arange(size)
    peers, weights, sends = [], [], []
    while left.any():
        peer = linear_sum_assignment(-left)[1]
        values = left[rows, peer]
        among = values if matched_minimum else left
        weight = int(among[among > 0].min())
        send = np.minimum(values, weight)
        left[rows, peer] -= send
        peers.append(peer)
        weights.append(weight)
        sends.append(send)
    shape = (len(weights), size)
    return SubphaseSchedule(
        np.array(peers, np.int64).reshape(shape),
        np.array(weights, np.int64),
        np.array(sends, np.int64).reshape(shape),
    )
