# SPDX-License-Identifier: Apache-2.0
"""Whether full attention fits in memory: it grows with the square of a sequence's length."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offramp.torchgt.settings import AUTO, ELEMENT, TorchGtSettings
from offramp.workers.place import ranks_here
from offramp_base.errors import OfframpError
from offramp_base.memory import available_bytes

LONG: Final = 4096
"""Most vertices with full steps under ``--interleave auto``: some seconds of a core, a few GB with bias."""

_BUCKET: Final = 8
_NUMBERS: Final = 3.5
"""Numbers per pair and head at the peak of a step: bias, scores, weights and their gradients (measured: 3.3)."""


def resolved(settings: TorchGtSettings, vertices: int) -> TorchGtSettings:
    """The settings with ``interleave`` decided for sequences of ``vertices``."""
    if settings.interleave != AUTO:
        return settings
    return replace(settings, interleave="periodic" if vertices <= LONG else "constructed")


def full_bytes(settings: TorchGtSettings, tokens: int) -> int:
    """Peak bytes of full attention of a sequence on a rank; without bias it is computed piecewise.

    With bias a rank keeps an entry of the table for each pair, and scores for each pair and head.
    """
    heads = settings.size.heads // settings.workers
    return int(tokens**2 * (_BUCKET + _NUMBERS * heads * ELEMENT[settings.dtype])) if settings.biased else 0


def check_full(settings: TorchGtSettings, tokens: int, available: int | None = None) -> None:
    """Refuse full attention that does not fit in memory, before hours are spent on what comes first.

    Args:
        settings: the resolved settings.
        tokens: tokens of the longest sequence.
        available: available bytes; None: those of this machine.

    Raises:
        OfframpError: it does not fit; the message says how much it takes, and what would fit.
    """
    comes = settings.interleaves and settings.interleave in ("periodic", "conditions")
    if not (comes or settings.attention == "full" or settings.evaluate == "full"):
        return
    ranks = ranks_here(settings.workers)
    needed, there = ranks * full_bytes(settings, tokens), available_bytes() if available is None else available
    if there is not None and needed > there:
        raise OfframpError(
            f"full attention of {tokens:,} tokens takes {needed / 1e9:.1f} GB, {there / 1e9:.1f} GB are free; expected "
            f"a shorter sequence, or attention topology, or interleave constructed or never"
        )
