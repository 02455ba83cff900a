# SPDX-License-Identifier: Apache-2.0
"""A pipeline's view of the device around it: the time, which links are up, how values are translated."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from offramp_p4.runtime.translation import Translations


def monotonic_ns() -> int:
    """A clock for pipelines outside of any device."""
    return time.monotonic_ns()


class PortLinks:
    """The ports that exist, and whether their links are up.

    Until the ports are declared, every port exists and is up.
    """

    def __init__(self) -> None:
        self._up: dict[int, bool] | None = None

    def set(self, up: Mapping[int, bool]) -> bool:
        """Take in the state of all ports; whether anything has changed."""
        if self._up == up:
            return False
        self._up = dict(up)
        return True

    def exists(self, port: int) -> bool:
        """Whether there is such a port."""
        return self._up is None or port in self._up

    def up(self, port: int) -> bool:
        """Whether the link of a port is up."""
        return self._up is None or self._up.get(port, False)


@dataclass(frozen=True)
class Environment:
    """Shared by the pipelines that follow each other on a device.

    Attributes:
        clock: nanoseconds since some moment.
    """

    clock: Callable[[], int] = monotonic_ns
    links: PortLinks = field(default_factory=PortLinks)
    translations: Translations = field(default_factory=Translations)
