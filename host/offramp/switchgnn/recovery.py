# SPDX-License-Identifier: Apache-2.0
"""Times at which a worker retransmits what may have been lost (specification section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from offramp.backoff import Backoff
from offramp_base.errors import OfframpError

_SOFT = 4
"""Repeats that cost the switch little, DONE and uploads, come this many times earlier than FETCH."""

_ASKS = 32
"""FETCHes before a worker gives up, at least: where a fifth of all frames is lost, six in ten are in vain."""


@dataclass(frozen=True)
class Recovery:
    """Settings for a worker's recovery from loss.

    Attributes:
        timeout_s: time without anything new after which missing features are fetched from their owners. It must
            exceed the time by which workers run apart: FETCH gives up the sums in the switch.
        cap_s: the time-out doubles while nothing comes, up to this.
        acks: tell the owners of a vertex's neighbours when its sum is complete; the switch must serve ACKs.
        reupload: repeat uploads of which no neighbour's sum is complete before anything is fetched; needs ``acks``.
    """

    timeout_s: float = 1.0
    cap_s: float = 8.0
    acks: bool = False
    reupload: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s <= self.cap_s:
            raise OfframpError(
                f"recovery: time-out {self.timeout_s:g} s: expected more than 0 and at most the cap, {self.cap_s:g} s"
            )
        if self.reupload and not self.acks:
            raise OfframpError("recovery: reupload needs acks, which tell what has arrived")

    @classmethod
    def within(cls, limit_s: float, timeout_s: float, *, acks: bool = False) -> Self:
        """The settings of a worker that gives up ``limit_s`` seconds after the last news, and asks often until then.

        Args:
            limit_s: seconds without anything new after which the worker gives up.
            timeout_s: seconds after which it first asks.
            acks: what is complete is told, and uploads are repeated before anything is fetched.
        """
        return cls(timeout_s, max(timeout_s, limit_s / _ASKS), acks, acks)


class RetryTimer:
    """Both time-outs of a worker: for repeats, which are harmless if nothing was lost, and for FETCH."""

    def __init__(self, recovery: Recovery) -> None:
        self._soft = Backoff(recovery.timeout_s / _SOFT, recovery.cap_s / _SOFT)
        self._hard = Backoff(recovery.timeout_s, recovery.cap_s)

    @property
    def due_s(self) -> float | None:
        """The time at which the earlier of the two time-outs expires; None before the first look at the clock."""
        soft, hard = self._soft.due_s, self._hard.due_s
        return None if soft is None or hard is None else min(soft, hard)

    def restart(self) -> None:
        """Restart the time-outs, since something new has arrived."""
        self._soft.restart()
        self._hard.restart()

    def fires(self, now_s: float) -> tuple[bool, bool]:
        """Whether to repeat, and whether to fetch."""
        return self._soft.fires(now_s), self._hard.fires(now_s)
