# SPDX-License-Identifier: Apache-2.0
"""The steps of a request on a path; tables of T and tolls follow from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from offramp.leo.selection.table import RequestDependency, Table

NETWORK: Final = -2
DELAY: Final = -1


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a request on a path.

    Attributes:
        resource: its index; DELAY for time that nobody shares, NETWORK for a crossing of the network.
        time_ns: duration; for a network crossing, the fraction of the request's network time.
        what: description for users.
    """

    resource: int
    time_ns: float
    what: str = ""


@dataclass(frozen=True, eq=False)
class Routes:
    """All steps of all types on all paths.

    Attributes:
        types, paths, resources: their names.
        steps: steps by type and path; None where the type may not take the path.
        dependency: dependency of each type.
        capacity: capacity of each resource.
        reads: types that only read (:class:`offramp.leo.selection.Table`).
    """

    types: tuple[str, ...]
    paths: tuple[str, ...]
    resources: tuple[str, ...]
    steps: Sequence[Sequence[Sequence[PathStep] | None]]
    dependency: tuple[RequestDependency, ...]
    capacity: tuple[int, ...]
    reads: tuple[bool, ...] = ()
    table: Table = field(init=False)

    def __post_init__(self) -> None:
        base = np.full((len(self.types), len(self.paths)), np.nan)
        load = np.zeros((*base.shape, len(self.resources)))
        for i, row in enumerate(self.steps):
            for j, steps in enumerate(row):
                if steps is None:
                    continue
                base[i, j] = sum(s.time_ns for s in steps if s.resource != NETWORK)
                for s in steps:
                    if s.resource >= 0:
                        load[i, j, s.resource] += s.time_ns / self.capacity[s.resource]
        table = Table(self.types, self.paths, self.resources, base, load, self.dependency, self.capacity, self.reads)
        object.__setattr__(self, "table", table)

    @classmethod
    def of(cls, table: Table) -> Routes:
        """Routes from a table: each path's resources, then a delay up to T, then the network (section 12)."""
        steps = []
        for i in range(len(table.types)):
            row: list[list[PathStep] | None] = []
            for j in range(len(table.paths)):
                if not table.allowed[i, j]:
                    row.append(None)
                    continue
                times = table.load[i, j] * table.capacity
                rest = float(table.base[i, j] - times.sum())
                busy = [PathStep(int(r), float(times[r])) for r in np.flatnonzero(times)]
                row.append([*busy, PathStep(DELAY, rest), PathStep(NETWORK, 1.0)])
            steps.append(row)
        return cls(table.types, table.paths, table.resources, steps, table.dependency, table.capacity, table.reads)

    def restricted(self, allowed: Mapping[str, Collection[str]]) -> Routes:
        """The routes with these types restricted to these paths.

        Raises:
            OfframpError: a type is left without a path.
        """
        steps = [
            [s if path in allowed.get(kind, self.paths) else None for path, s in zip(self.paths, row, strict=True)]
            for kind, row in zip(self.types, self.steps, strict=True)
        ]
        return Routes(self.types, self.paths, self.resources, steps, self.dependency, self.capacity, self.reads)
