# SPDX-License-Identifier: Apache-2.0
"""Durations of loops in machine code, and of the rests in which they leave the rings alone.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

from offramp.leo.native.clock import ClockedState, now_ns
from offramp_base.native.subset import native

ROUNDS_NS: Final = 500_000
"""Nanoseconds that rounds go on without Python while there is work."""
IDLE_NS: Final = 20_000
"""Nanoseconds that rounds go on without any work."""
_FULL_ROUND: Final = 32  # requests
_REST_NS: Final = 4000  # after smaller rounds


@native
def after_round(state: ClockedState, lasts: int, count: int) -> int:
    """The time in ns, after a short pause if the round was small and more are to follow.

    Each look at a ring takes its words from the other side's cache: a few large rounds cost both sides less than many
    small ones.
    """
    begun = now_ns(state)
    now = begun
    if lasts > 0 and count < _FULL_ROUND:
        while now - begun < _REST_NS:
            now = now_ns(state)
    return now
