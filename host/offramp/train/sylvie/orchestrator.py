"""Base width and mode of the next epoch, from losses and epoch times (specification 0.3, 1.5, 1.6).

Everything here is a pure function of what was observed: ranks that observe the same numbers decide the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from offramp.errors import OfframpError
from offramp.train.sylvie.kernel import BITS
from offramp.train.sylvie.widths import BASES

SYNC: Final = "sync"
ASYNC: Final = "async"
ADAPTIVE: Final = "adaptive"
MODES: Final = (ADAPTIVE, SYNC, ASYNC)
RULES: Final = ("lag", "monotone")
SIGNS: Final = ("prose", "literal", "abs")


class Decision(NamedTuple):
    """What an epoch runs with.

    Attributes:
        base: base width in bits.
        mode: :data:`SYNC`, or :data:`ASYNC`: remote rows are those of the epoch before.
    """

    base: int
    mode: str


@dataclass(frozen=True)
class Control:
    """How the controller decides.

    Attributes:
        base: :data:`ADAPTIVE`, or one width for all epochs (32 for float32).
        mode: :data:`ADAPTIVE`, or one mode for all epochs.
        rule: ``lag``: the rate of descent against that ``lag`` epochs ago (eq. 3.4); ``monotone``: whether it has only
            fallen or only risen over ``window`` epochs.
        sign: of the rate: ``prose`` has it positive while the loss falls, as the thesis' words need it, ``literal`` as
            its formula is printed, ``abs`` without a sign.
        lag: δ, epochs; 5 for accuracy, 20 for speed.
        window: epochs of the rule ``monotone``.
        warmup: epochs before the first that the rule ``monotone`` looks at.
        smoothing: λ of the running mean of the loss.

    Raises:
        OfframpError: a value that is none of these.
    """

    base: int | str = ADAPTIVE
    mode: str = ADAPTIVE
    rule: str = "lag"
    sign: str = "prose"
    lag: int = 5
    window: int = 5
    warmup: int = 5
    smoothing: float = 0.9

    def __post_init__(self) -> None:
        for name, choices in (
            ("base", (ADAPTIVE, *BASES)),
            ("mode", MODES),
            ("rule", RULES),
            ("sign", SIGNS),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise OfframpError(f"{name} {value}: expected one of {', '.join(map(str, choices))}")
        for name, least in (("lag", 1), ("window", 2), ("warmup", 1)):
            if getattr(self, name) < least:
                raise OfframpError(f"{name} {getattr(self, name)}: expected at least {least} epochs")
        if not 0 <= self.smoothing < 1:
            raise OfframpError(f"smoothing {self.smoothing:g}: expected at least 0 and below 1")


class Orchestrator:
    """The controller: one call of :meth:`observe` an epoch, on every rank with the same numbers.

    Attributes:
        decision: what the next epoch runs with.
        rates: the rate of descent of each epoch from the second on.

    An adaptive run starts with the fewest bits and synchronously, and keeps both until the rule has enough epochs.
    A checkpoint may hold the controller as it is: it pickles, and goes on where it was.
    """

    def __init__(self, control: Control | None = None) -> None:
        self.control = Control() if control is None else control
        self.rates: list[float] = []
        self._mean: float | None = None
        self._digest = b""
        base = BITS[0] if isinstance(self.control.base, str) else self.control.base
        self.decision = Decision(base, SYNC if self.control.mode == ADAPTIVE else self.control.mode)

    def observe(self, losses: Sequence[float], seconds: Sequence[float]) -> Decision:
        """Take in an epoch: each rank's loss and time; returns what the next one runs with.

        The loss counts as the ranks' mean, the time as the slowest rank's.

        Raises:
            OfframpError: no rank, a loss that is no finite number, or a time that is not positive; nothing changes.
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
        self._mean = loss if before is None else self.control.smoothing * before + (1 - self.control.smoothing) * loss
        if before is not None:
            self.rates.append(self._signed((before - self._mean) / time_s))
            self._decide(_trend(self.rates, self.control))
        self._digest = hashlib.sha256(self._digest + repr((self.rates[-1:], self.decision)).encode()).digest()
        return self.decision

    def digest(self) -> bytes:
        """32 bytes that ranks compare, none before the first epoch: the same for the same history (S13)."""
        return self._digest

    def _signed(self, descent: float) -> float:
        match self.control.sign:
            case "prose":
                return descent
            case "literal":
                return -descent
            case _:
                return abs(descent)

    def _decide(self, trend: int) -> None:
        if trend == 0:
            return
        base, mode = self.decision
        if self.control.base == ADAPTIVE:
            level = BITS.index(base) - trend
            base = BITS[min(max(level, 0), len(BITS) - 1)]
        if self.control.mode == ADAPTIVE:
            mode = ASYNC if trend > 0 else SYNC
        self.decision = Decision(base, mode)


def replay(control: Control, epochs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> list[Decision]:
    """What each epoch of a history ran with, and last what the next one would: a scripted trace (S12)."""
    orchestrator = Orchestrator(control)
    return [orchestrator.decision, *(orchestrator.observe(losses, seconds) for losses, seconds in epochs)]


def _trend(rates: Sequence[float], control: Control) -> int:
    """1 toward speed, -1 toward accuracy, 0 where the rule says nothing; ``rates[i]`` is of epoch i + 1."""
    if control.rule == "lag":
        if len(rates) <= control.lag:
            return 0
        return 1 if rates[-1] >= rates[-1 - control.lag] else -1
    seen = rates[control.warmup - 1 :][-control.window :]
    if len(seen) < control.window:
        return 0
    pairs = list(pairwise(seen))
    if all(new >= old for old, new in pairs):
        return 1
    return -1 if all(new <= old for old, new in pairs) else 0
