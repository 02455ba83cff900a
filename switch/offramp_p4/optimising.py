# SPDX-License-Identifier: Apache-2.0
"""When the native engine optimises a program's machine code."""

from __future__ import annotations

from enum import Enum
from typing import Final


class OptimiseWhen(Enum):
    """When a switch gets optimised machine code; what an earlier process has kept, it gets at once.

    Attributes:
        AT_ONCE: before its first packet.
        WHEN_BUSY: when its packets have made :data:`BUSY_PASSES` passes, in this process, which waits.
        ASIDE: when they have made :data:`ASIDE_PASSES` passes, in another process; packets go on meanwhile.
    """

    AT_ONCE = "at once"
    WHEN_BUSY = "when busy"
    ASIDE = "aside"


BUSY_PASSES: Final = 1_000_000
"""Passes that without optimisation take as much longer, about, as optimising a program does."""
ASIDE_PASSES: Final = 1_000
