# SPDX-License-Identifier: Apache-2.0
"""A stage's device: the pipeline's operation and a module of the language model, one beside the other at worst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """Seconds of a device that are left; ``done`` is called at the end."""

    name: str
    left: float
    start: float
    done: Callable[[], None]
    rate: float = 1.0


@dataclass(slots=True)
class Device:
    """Both progress half as fast while both are there.

    Attributes:
        pipeline, model: what runs, if anything.
    """

    pipeline: Work | None = None
    model: Work | None = None

    def works(self) -> list[Work]:
        """What runs now, at its rate."""
        both = [work for work in (self.pipeline, self.model) if work is not None]
        for work in both:
            work.rate = 1 / len(both)
        return both
