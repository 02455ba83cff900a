# SPDX-License-Identifier: Apache-2.0
"""The selector's table: T and tolls, known in advance, of every request type on every path (specification 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

Times = npt.NDArray[np.float64]
MOST_PATHS: Final = 62
_MOST_NS: Final = 1e12


class RequestDependency(StrEnum):
    """Dependency of a type: requests of one address, or of one message, under way together take one path, in order."""

    NONE = "NONE"
    ADDR = "ADDR"
    MSG = "MSG"

    @property
    def code(self) -> int:
        """Code of the dependency, 0 for none; keys of different kinds never meet."""
        return list(RequestDependency).index(self)


@dataclass(frozen=True, eq=False)
class Table:
    """Types, paths and resources (links and nodes); a path may be a dataflow of several round trips.

    Attributes:
        types, paths, resources: their names; the selector uses their indices.
        base: ``(types, paths)``, T in ns with empty queues; NaN where the type may not take the path.
        load: ``(types, paths, resources)``, ns that a request keeps each resource busy, over its capacity.
        dependency: dependency of each type.
        capacity: number of requests that each resource serves at a time.
        reads: types whose requests change nothing: those of one key need no order among themselves. None by default,
            as in the thesis.
    """

    types: tuple[str, ...]
    paths: tuple[str, ...]
    resources: tuple[str, ...]
    base: Times
    load: Times
    dependency: tuple[RequestDependency, ...]
    capacity: tuple[int, ...]
    reads: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.types), len(self.paths), len(self.resources))
        if not all(shape) or self.base.shape != shape[:2] or self.load.shape != shape:
            raise OfframpError(f"table: expected arrays of {shape[:2]} and {shape}, none of them empty")
        if shape[1] > MOST_PATHS:
            raise OfframpError(f"table: {shape[1]} paths, expected at most {MOST_PATHS}")
        if len(self.dependency) != shape[0] or len(self.capacity) != shape[2] or min(self.capacity) < 1:
            raise OfframpError(
                "table: expected a dependency for each type and a capacity of at least 1 for each resource"
            )
        if self.reads and len(self.reads) != shape[0]:
            raise OfframpError("table: expected for each type whether it only reads, or nothing")
        for name, allowed in zip(self.types, self.allowed, strict=True):
            if not allowed.any():
                raise OfframpError(f"type {name}: no path may be taken")
        held = np.concatenate([self.base[self.allowed], self.load[self.allowed].ravel()])
        if not ((held >= 0) & (held < _MOST_NS)).all():
            raise OfframpError(f"table: expected times from 0 to {_MOST_NS:g} ns")

    @classmethod
    def disjoint(cls, base: Any, toll: Any, **fields: Any) -> Table:
        """A table of paths that share nothing, each a server; ``base`` and ``toll``: ns by path or by type and path."""
        times, tolls = (np.atleast_2d(np.asarray(a, np.float64)) for a in (base, toll))
        if times.shape != tolls.shape:
            raise OfframpError("table: expected as many tolls as times")
        kinds, paths = times.shape
        load = np.zeros((kinds, paths, paths))
        load[:, range(paths), range(paths)] = tolls
        names = tuple(f"p{i}" for i in range(paths))
        given: dict[str, Any] = {
            "types": tuple(f"r{i}" for i in range(kinds)),
            "paths": names,
            "resources": names,
            "dependency": (RequestDependency.NONE,) * kinds,
            "capacity": (1,) * paths,
        }
        return cls(**(given | {"base": times, "load": load} | fields))

    @property
    def allowed(self) -> npt.NDArray[np.bool_]:
        """``(types, paths)``: whether a type may take a path."""
        return ~np.isnan(self.base)

    @property
    def toll(self) -> Times:
        """``(types, paths)``: ns that one more request adds to each later one (equation 6.5)."""
        return np.where(self.allowed, self.load.sum(axis=2), np.nan)
