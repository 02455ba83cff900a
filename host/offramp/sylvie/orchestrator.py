# SPDX-License-Identifier: Apache-2.0
"""Base width and mode of the next epoch, from losses and epoch times (specification 0.3, 1.5, 1.6).

Everything here is a pure function of what was observed: ranks that observe the same numbers decide the same.
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
    """What an epoch runs with.

    Attributes:
        base: base width in bits.
        mode: :data:`SYNC`, or :data:`ASYNC`: remote rows are those of the epoch before.
    """

    base: int
    mode: str


@dataclass(frozen=True, kw_only=True)
class Control(DescentRule):
    """How the controller decides: by a rule of the rate of descent.

    Attributes:
        base: :data:`ADAPTIVE`, or one width for all epochs (32 for float32).
        mode: :data:`ADAPTIVE`, or one mode for all epochs.

    Raises:
        OfframpError: a value that is not one of these.
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
    """The controller: one call of :meth:`observe` an epoch, on every rank with the same numbers.

    Attributes:
        decision: what the next epoch runs with.

    An adaptive run starts with the fewest bits and synchronously, and keeps both until the rule has enough epochs.
    A checkpoint may hold the controller as it is: it pickles, and resumes where it was.
    """

    def __init__(self, control: Control | None = None) -> None:
        self.control = Control() if control is None else control
        self._descent = Descent(self.control)
        self._digest = b""
        base = BITS[0] if isinstance(self.control.base, str) else self.control.base
        self.decision = Decision(base, SYNC if self.control.mode == ADAPTIVE else self.control.mode)

    def observe(self, losses: Sequence[float], seconds: Sequence[float]) -> Decision:
        """Take in an epoch: each rank's loss and time; returns what the next one runs with.

        The loss counts as the ranks' mean, the time as the slowest rank's.

        Raises:
            OfframpError: no rank, a loss that is not a finite number, or a time that is not positive; nothing changes.
        """
        self._decide(self._descent.observe(losses, seconds))
        self._digest = hashlib.sha256(self._digest + repr((self.rates[-1:], self.decision)).encode()).digest()
        return self.decision

    @property
    def rates(self) -> list[float]:
        """The rate of descent of each epoch from the second on."""
        return self._descent.rates

    def digest(self) -> bytes:
        """32 bytes that ranks compare, none before the first epoch: the same for the same history (S13)."""
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


def replay(control: Control, epochs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> list[Decision]:
    """What each epoch of a history ran with, and last what the next one would: a scripted trace (S12)."""
    orchestrator = Orchestrator(control)
    return [orchestrator.decision, *(orchestrator.observe(losses, seconds) for losses, seconds in epochs)]
