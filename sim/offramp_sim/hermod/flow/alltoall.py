# SPDX-License-Identifier: Apache-2.0
"""The time that an all-to-all keeps the network busy, by algorithm (specification section 7)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Flows
from offramp_base.errors import OfframpError

MODES: Final = ("fluid", "matched", "shifted")
"""``fluid``: all flows at once, shared ideally. ``matched``: sub-phases of the decomposition, each with an overhead.
``shifted``: rounds to the k-th next rank with a barrier after each, as long as its largest message."""
_UNITS: Final = 1 << 20


def matrix_of(flows: Flows) -> npt.NDArray[np.float64]:
    """Bytes from rank to rank; the ranks are the workers in ascending order."""
    ranks = np.unique(np.concatenate((flows.source, flows.sink)))
    matrix = np.zeros((len(ranks), len(ranks)))
    np.add.at(matrix, (np.searchsorted(ranks, flows.source), np.searchsorted(ranks, flows.sink)), flows.size)
    return matrix


def rounds_bytes(matrix: npt.NDArray[np.float64]) -> float:
    """The sum over the shifted rounds of the largest message."""
    ranks = np.arange(len(matrix))
    return float(sum(matrix[ranks, (ranks + k) % len(ranks)].max() for k in range(1, len(ranks))))


def cost(flows: Flows, mode: str, overhead_s: float, bytes_per_s: float) -> tuple[float, float]:
    """Factor by which the busiest port is busy for longer than its bytes take, and seconds of overhead.

    ``matched`` takes the exact or the quantised sub-phases, whichever end sooner at ``bytes_per_s``.

    Raises:
        OfframpError: an unknown mode.
    """
    if mode not in MODES:
        raise OfframpError(f"all-to-all {mode}: expected one of {', '.join(MODES)}")
    if mode == "fluid" or not len(flows.size):
        return 1.0, 0.0
    matrix = matrix_of(flows)
    most = max(matrix.sum(axis=0).max(), matrix.sum(axis=1).max())
    if mode == "shifted":
        return max(1.0, rounds_bytes(matrix) / most), (len(matrix) - 1) * overhead_s
    from offramp.hermod.matching import bound
    from offramp.hermod.matching.decompose import QUANTUM, decompose

    units = np.rint(matrix / most * _UNITS).astype(np.int64)
    exact = decompose(units)
    quantised = decompose(units, quantum=QUANTUM)
    unit_s = most / bytes_per_s / bound(units)
    chosen = min((exact, quantised), key=lambda s: s.seconds(unit_s, overhead_s))
    return chosen.total / bound(units), len(chosen) * overhead_s
