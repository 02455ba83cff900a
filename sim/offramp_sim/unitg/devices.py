# SPDX-License-Identifier: Apache-2.0
"""A stage's device: it runs an operation of the pipeline and a module of the language model, at worst side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class DeviceWork:
    """Remaining seconds of work on a device; ``done`` is called at the end."""

    name: str
    left: float
    start: float
    done: Callable[[], None]
    rate: float = 1.0


@dataclass(slots=True)
class TimeSharedDevice:
    """A device on which both run at half speed while both are there.

    Attributes:
        pipeline, model: what runs, if anything.
    """

    pipeline: DeviceWork | None = None
    model: DeviceWork | None = None

    def works(self) -> list[DeviceWork]:
        """Work that runs now, with its rate."""
        running = [work for work in (self.pipeline, self.model) if work is not None]
        for work in running:
            work.rate = 1 / len(running)
        return running
