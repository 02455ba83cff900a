# SPDX-License-Identifier: Apache-2.0
"""Whether the language model kept to the bubbles (U5)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from offramp.unitg.gate import Interval

Opening = tuple[float, float]


def opening_of(module: Interval, openings: Sequence[Opening]) -> Opening | None:
    """The opening of the gate in which a module began, if any; openings are in order."""
    at = bisect_right(openings, (module.start, float("inf"))) - 1
    return openings[at] if at >= 0 and module.start <= openings[at][1] else None


def outside(modules: Iterable[Interval], openings: Sequence[Opening]) -> list[Interval]:
    """Modules that began while the gate was closed: there should be none."""
    return [module for module in modules if opening_of(module, openings) is None]


def overruns(modules: Iterable[Interval], openings: Sequence[Opening]) -> list[float]:
    """Seconds by which modules ended behind their opening: one module for each pause, at most."""
    opened = ((module, opening_of(module, openings)) for module in modules)
    return [module.end - o[1] for module, o in opened if o is not None and module.end > o[1]]
