# SPDX-License-Identifier: Apache-2.0
"""Base width and mode of the next epoch, from losses and epoch times (specification 0.3, 1.5, 1.6).

Everything here is a pure function of the observations: ranks that observe the same numbers make the same decisions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from offramp.sylvie.descent import Descent, DescentRule
from offramp.sylvie.kernel import BITS
from offramp.sylvie.widths import BASES
from offramp_base.errors import OfframpError

SYNC: Final = "sync"
ASYNC: Final = "async"
ADAPTIVE: Final = "adaptive"
MODES: Final = (ADAPTIVE, SYNC, ASYNC)


class Decision(NamedTuple):
    """Settings of an epoch.

    Attributes:
        base: base width in bits.
        mode: :data:`SYNC`, or :data:`ASYNC`: remote rows are those of the previous epoch.
    """

    base: int
    mode: str


@dataclass(frozen=True, kw_only=True)
class OrchestratorSettings(DescentRule):
    """Settings of the controller, which follows a rule on the rate of descent.

    Attributes:
        base: :data:`ADAPTIVE`, or one width for all epochs (32 for float32).
        mode: :data:`ADAPTIVE`, or one mode for all epochs.

    Raises:
        OfframpError: a value is not one of these.
    """

    base: int | str = ADAPTIVE
    mode: str = ADAPTIVE

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("base", (ADAPTIVE, *BASES)), ("mode", MODES)):
            value = getattr(self, name)
            if value not in choices:
                raise OfframpError(f"{name} {value}: expected one of {', '.join(map(str, choices))}")


class Orchestrator:
    """The controller: every rank calls :meth:`observe` once per epoch with the same numbers.

    Attributes:
        decision: settings of the next epoch.

    An adaptive run starts with the fewest bits and synchronously, and keeps both until the rule has enough epochs. A
    checkpoint may contain the pickled controller, which resumes where it was.
    """

    def __init__(self, control: OrchestratorSettings | None = None) -> None:
        self.control = OrchestratorSettings() if control is None else control
        self._descent = Descent(self.control)
        self._digest = b""
        base = BITS[0] if isinstance(self.control.base, str) else self.control.base
        self.decision = Decision(base, SYNC if self.control.mode == ADAPTIVE else self.control.mode)

    def observe(self, losses: Sequence[float], seconds: Sequence[float]) -> Decision:
        """Record an epoch, each rank's loss and time; returns the settings of the next one.

        The epoch's loss is the ranks' mean, its time the slowest rank's.

        Raises:
            OfframpError: there is no rank, a loss is not finite, or a time is not positive; nothing changes.
        """
        self._decide(self._descent.observe(losses, seconds))
        self._digest = hashlib.sha256(self._digest + repr((self.rates[-1:], self.decision)).encode()).digest()
        return self.decision

    @property
    def rates(self) -> list[float]:
        """Rate of descent of each epoch from the second on."""
        return self._descent.rates

    def digest(self) -> bytes:
        """Digest of 32 bytes for ranks to compare, empty before the first epoch; equal for equal histories (S13)."""
        return self._digest

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


def replay(control: OrchestratorSettings, epochs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> list[Decision]:
    """Settings of each epoch of a history, and of the next one: a scripted trace (S12)."""
    orchestrator = Orchestrator(control)
    return [orchestrator.decision, *(orchestrator.observe(losses, seconds) for losses, seconds in epochs)]
