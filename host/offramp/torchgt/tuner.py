# SPDX-License-Identifier: Apache-2.0
"""The Auto Tuner: the next epoch's threshold from the rate of loss descent (specification 2.5, 0.3; G10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offramp.sylvie.descent import Descent, DescentRule

FACTORS: Final = (0.0, 1.0, 1.5, 5.0, 7.0, 10.0)
"""Multiples of the whole graph's density; the last step of the ladder is 1: everything."""
START: Final = 1
LAG: Final = 10


def ladder(density: float) -> tuple[float, ...]:
    """Ascending thresholds from 0 (nothing transferred) to 1 (everything)."""
    return (*(min(1.0, factor * density) for factor in FACTORS), 1.0)


class AutoTuner:
    """Climbs the ladder while the loss descends well, and moves back towards accuracy when descent slows.

    Attributes:
        step: index on the ladder.
    """

    def __init__(self, rule: DescentRule | None = None) -> None:
        self._descent = Descent(DescentRule(lag=LAG) if rule is None else rule)
        self.step = START

    def observe(self, losses: Sequence[float], seconds: Sequence[float]) -> int:
        """Record an epoch, each rank's loss and time; returns the step for the next one.

        Raises:
            OfframpError: as :meth:`offramp.sylvie.descent.Descent.observe`.
        """
        self.step = min(max(self.step + self._descent.observe(losses, seconds), 0), len(FACTORS))
        return self.step
