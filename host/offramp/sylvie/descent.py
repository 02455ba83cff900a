# SPDX-License-Identifier: Apache-2.0
"""The rate of loss descent, which steers settings of Sylvie and TorchGT (Zhang, specification 0.3).

A pure function of the observations: ranks that observe the same numbers compute the same trend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from offramp_base.errors import OfframpError

RULES: Final = ("lag", "monotone")
SIGNS: Final = ("prose", "literal", "abs")


@dataclass(frozen=True, kw_only=True)
class DescentRule:
    """Rule that turns the rate of descent into a trend.

    Attributes:
        rule: ``lag``: compare the rate of descent with that ``lag`` epochs ago (eq. 3.4); ``monotone``: whether it has
            only fallen or only risen over ``window`` epochs.
        sign: sign of the rate: ``prose`` makes it positive while the loss falls, as the thesis' text requires,
            ``literal`` follows the published formula, ``abs`` drops the sign.
        lag: δ in epochs; Sylvie uses 5 for accuracy, 20 for speed, TorchGT 10.
        window: epochs of the rule ``monotone``.
        warmup: epochs that the rule ``monotone`` ignores at the beginning.
        smoothing: λ of the running mean of the loss.

    Raises:
        OfframpError: a value is not one of these.
    """

    rule: str = "lag"
    sign: str = "prose"
    lag: int = 5
    window: int = 5
    warmup: int = 5
    smoothing: float = 0.9

    def __post_init__(self) -> None:
        for name, choices in (("rule", RULES), ("sign", SIGNS)):
            value = getattr(self, name)
            if value not in choices:
                raise OfframpError(f"{name} {value}: expected one of {', '.join(choices)}")
        for name, least in (("lag", 1), ("window", 2), ("warmup", 1)):
            if getattr(self, name) < least:
                raise OfframpError(f"{name} {getattr(self, name)}: expected at least {least} epochs")
        if not 0 <= self.smoothing < 1:
            raise OfframpError(f"smoothing {self.smoothing:g}: expected at least 0 and below 1")


class Descent:
    """The running mean of the loss and its rate of descent.

    Attributes:
        rates: rate of each epoch from the second on.
    """

    def __init__(self, rule: DescentRule) -> None:
        self.rule = rule
        self.rates: list[float] = []
        self._mean: float | None = None

    def observe(self, losses: Sequence[float], seconds: Sequence[float]) -> int:
        """Record an epoch, each rank's loss and time; returns the trend: 1 toward speed, -1 toward accuracy, 0 neither.

        The epoch's loss is the ranks' mean, its time the slowest rank's.

        Raises:
            OfframpError: there is no rank, a loss is not finite, or a time is not positive; nothing changes.
        """
        if not losses or len(losses) != len(seconds):
            raise OfframpError(f"expected a loss and a time of each rank, got {len(losses)} and {len(seconds)}")
        if not all(map(math.isfinite, losses)):
            raise OfframpError(f"loss {next(x for x in losses if not math.isfinite(x))}: expected a finite number")
        time_s = max(seconds)
        if not (all(s > 0 for s in seconds) and math.isfinite(time_s)):
            raise OfframpError(f"epoch time {min(seconds)}: expected a positive number of seconds")
        loss = math.fsum(losses) / len(losses)
        before = self._mean
        self._mean = loss if before is None else self.rule.smoothing * before + (1 - self.rule.smoothing) * loss
        if before is None:
            return 0
        self.rates.append(self._signed((before - self._mean) / time_s))
        return self._trend()

    def _signed(self, descent: float) -> float:
        match self.rule.sign:
            case "prose":
                return descent
            case "literal":
                return -descent
            case _:
                return abs(descent)

    def _trend(self) -> int:
        """The trend of ``rates``; entry i is the rate of epoch i + 1."""
        rates, rule = self.rates, self.rule
        if rule.rule == "lag":
            if len(rates) <= rule.lag:
                return 0
            return 1 if rates[-1] >= rates[-1 - rule.lag] else -1
        seen = rates[rule.warmup - 1 :][-rule.window :]
        if len(seen) < rule.window:
            return 0
        pairs = list(pairwise(seen))
        if all(new >= old for old, new in pairs):
            return 1
        return -1 if all(new <= old for old, new in pairs) else 0
