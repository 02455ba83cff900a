# SPDX-License-Identifier: Apache-2.0
"""State of the selector in plain Python: requests, paths, resources and keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from offramp.leo.selection import learning
from offramp.leo.selection.layout import UNIT


@dataclass
class Request:
    """A request that the selector knows; ``path`` None: it is held."""

    kind: int
    key: tuple[int, int] | None
    order: int
    path: int | None = None
    wait: int = 0
    counted: int = 0
    time: int = 0
    sent: int = 0


@dataclass
class Path:
    """Knowledge of a path."""

    outstanding: int = 0
    khat: int = 0
    intra: int | None = None
    e2e: int | None = None
    offset: int = 0
    used: int = 0
    away: int = 0
    excess: int = 0
    surplus: int = 0
    under_way: list[int] = field(default_factory=list)
    lows: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))


@dataclass
class Mark:
    """A request that waited, from which the speed of a resource is measured."""

    time: int
    sent: int
    wait: int


@dataclass
class Rate:
    """Work that a resource was seen to do since a time, in a number of requests."""

    since: int
    work: int = 0
    count: int = 1


@dataclass
class Resource:
    """A link or node: work in ps, and moving averages times :data:`~offramp.leo.selection.layout.WINDOW`."""

    pending: int = 0
    backlog: int = 0
    share: int = 0
    work: int = 0
    sent: int = 0
    scale: int = UNIT
    spent: int = 0
    dealt: int = 0
    mark: Mark | None = None
    expected: int = 0
    waited: int = 0
    samples: int = 0
    overtaking: int = 0
    rate: Rate | None = None

    def scaled(self, work: int) -> int:
        """Work by what a unit of it takes."""
        return work * self.scale // UNIT

    def set_scale(self) -> None:
        """From the busy spells that were measured."""
        self.scale = min(max(int(self.spent / self.dealt * UNIT), learning.LEAST), learning.MOST)

    def weigh(self, load: int) -> None:
        """The table counts for as much as a few requests."""
        if not self.dealt:
            self.spent = self.dealt = learning.PRIOR * load


@dataclass
class Key:
    """Requests of one key: where they are under way (SEVERAL: reads, on several paths), and who waits."""

    path: int = 0
    count: int = 0
    writes: int = 0
    held: list[int] = field(default_factory=list)
