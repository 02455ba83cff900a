# SPDX-License-Identifier: Apache-2.0
"""Volumes of flows in bytes: distributions, as profiling gives them, and draws from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FlowVolume:
    """Bytes of a flow: normal around ``mean``, never below 0, or one of ``samples``, each as likely.

    ``spread`` is the standard deviation over the mean.
    """

    mean: float
    spread: float = 0.0
    samples: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that mean, spread and samples are finite and not negative.

        Raises:
            OfframpError: a negative number of bytes.
        """
        for value in (self.mean, self.spread, *self.samples):
            if not 0 <= value < float("inf"):
                raise OfframpError(f"volume: {value}: expected at least 0")

    @classmethod
    def measured(cls, samples: Sequence[float]) -> FlowVolume:
        """The volume that profiling has measured: the mean of the samples, and the samples.

        Raises:
            OfframpError: no sample.
        """
        if not len(samples):
            raise OfframpError("volume: expected at least one sample")
        return cls(mean=sum(samples) / len(samples), samples=tuple(samples))


def peak_to_mean(drawn: FloatArray, edges: npt.NDArray[np.bool_]) -> float:
    """The largest volume of any of the chosen edges in any iteration over the mean (section VI-B)."""
    chosen = drawn[:, edges]
    return float(chosen.max() / chosen.mean())


def with_peak_to_mean(drawn: FloatArray, edges: npt.NDArray[np.bool_], wanted: float) -> FloatArray:
    """The volumes, those of the chosen edges spread about their mean until the ratio is ``wanted``.

    Raises:
        OfframpError: the ratio is below 1, or the volumes are all equal.
    """
    chosen = drawn[:, edges]
    mean = chosen.mean()
    if wanted < 1 or chosen.max() <= mean:
        raise OfframpError(f"peak to mean {wanted:g}: expected at least 1, over volumes that differ")

    def spread(factor: float) -> FloatArray:
        stretched = np.maximum(mean + factor * (chosen - mean), 1e-6 * mean)
        result: FloatArray = stretched * (mean / stretched.mean())
        return result

    low, high = 0.0, 1.0
    while spread(high).max() < wanted * mean and high < 2.0**40:
        high *= 2
    if spread(high).max() < wanted * mean:
        raise OfframpError(f"peak to mean {wanted:g}: out of reach for {chosen.size} volumes")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if spread(middle).max() < wanted * mean else (low, middle)
    result = drawn.copy()
    result[:, edges] = spread(high)
    return result
