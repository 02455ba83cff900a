# SPDX-License-Identifier: Apache-2.0
"""T and tolls of dataflows from the times that devices take for functions and the time of a round trip (section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from offramp.leo.native.dataflow import CPU, Trip
from offramp.leo.selection import RequestDependency, Table

Flow = tuple[Trip, ...] | None


class ApplicationTimes:
    """Times in nanoseconds.

    Attributes:
        compute: time that a device (``cpu``, or its name) takes for a function, one request after the other.
        trip: time that a round trip adds to T.
        parallelism: requests that a device serves at a time, where it is more than one.
    """

    def __init__(
        self, compute: Callable[[str, str], float], trip: float = 2e4, parallelism: dict[str, int] | None = None
    ) -> None:
        self.compute, self.trip = compute, trip
        self.parallelism = parallelism or {}


def table(
    types: Sequence[str],
    paths: Sequence[str],
    flows: Sequence[Sequence[Flow]],
    times: ApplicationTimes,
    dependency: Sequence[RequestDependency],
    reads: Sequence[bool] = (),
) -> Table:
    """The selector's table; each device of each side is a resource."""
    sides = [(f"local {t.local}", t.local) for row in flows for flow in row for t in flow or () if t.local]
    sides += [(f"remote {t.remote}", t.remote) for row in flows for flow in row for t in flow or ()]
    resources = dict(sides or [(f"remote {CPU}", CPU)])
    names = list(resources)
    base = np.full((len(types), len(paths)), np.nan)
    load = np.zeros((len(types), len(paths), len(names)))
    for i, row in enumerate(flows):
        for j, flow in enumerate(row):
            if flow is None:
                continue
            base[i, j] = 0.0
            for trip in flow:
                work = [(f"remote {trip.remote}", times.compute(trip.remote, trip.function))]
                if trip.local:
                    work.append((f"local {trip.local}", times.compute(trip.local, trip.local_function)))
                base[i, j] += times.trip + sum(ns for _, ns in work)
                for name, ns in work:
                    load[i, j, names.index(name)] += ns / times.parallelism.get(resources[name], 1)
    capacity = tuple(times.parallelism.get(resources[name], 1) for name in names)
    return Table(tuple(types), tuple(paths), tuple(names), base, load, tuple(dependency), capacity, tuple(reads))
