# SPDX-License-Identifier: Apache-2.0
"""A request's work on each path: round trips, each with the device and function at either end (section 1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.leo.native.ring import MOST_TRIPS, ONCE, ORDERED
from offramp.leo.selection import RequestDependency, Table
from offramp_base.errors import OfframpError
from offramp_base.native.records import Record
from offramp_base.native.subset import Words

CPU: Final = "cpu"
"""Role of the host's own processor: its functions are compiled, or written in Python."""
REST: Final = -1


class TripRow(Record):
    """A :class:`Trip` as a record for compiled code."""

    link: int
    local: int
    local_function: int
    remote: int
    function: int
    previous: int
    start: int
    length: int
    flags: int
    call: int  # address of the local function where it is compiled
    context: Words
    engine: int  # address of the modelled accelerator that runs it


@dataclass(frozen=True)
class Trip:
    """One round trip.

    Attributes:
        function: name of the responder's function.
        remote: device of the responder on which it runs.
        local: device of the requester that applies ``local_function`` to the message first, if any.
        previous: whether the message begins with the answer of the previous trip.
        start, length: part of the request that follows; ``REST`` means all that is left.
        once: whether to execute it at most once, whatever fails.
        link: index of the connection to the responder.
    """

    function: str
    remote: str = CPU
    local: str | None = None
    local_function: str = ""
    previous: bool = False
    start: int = 0
    length: int = REST
    once: bool = False
    link: int = 0


@dataclass(frozen=True)
class Dataflow:
    """An application as the runtime sees it: the selector's table, and the trips of each type on each path.

    Attributes:
        table: types, paths, times and tolls.
        flows: trips by type and path; None where the type may not take the path.
        links: names of connections.
    """

    table: Table
    flows: tuple[tuple[tuple[Trip, ...] | None, ...], ...]
    links: tuple[str, ...] = ("responder",)

    def __post_init__(self) -> None:
        shape = len(self.table.types), len(self.table.paths)
        if (len(self.flows), *{len(row) for row in self.flows}) != shape:
            raise OfframpError(f"dataflows: expected {shape[0]} types with {shape[1]} paths each")
        for name, row, allowed in zip(self.types, self.flows, self.table.allowed, strict=True):
            for path, trips, may in zip(self.paths, row, allowed, strict=True):
                if (trips is not None) != bool(may):
                    raise OfframpError(f"type {name}, path {path}: times and trips do not agree on whether it exists")
                self._check(f"type {name}, path {path}", trips)

    def _check(self, where: str, trips: tuple[Trip, ...] | None) -> None:
        if trips is None:
            return
        if not 1 <= len(trips) <= MOST_TRIPS:
            raise OfframpError(f"{where}: {len(trips)} round trips, expected 1 to {MOST_TRIPS}")
        for trip in trips:
            if not 0 <= trip.link < len(self.links):
                raise OfframpError(f"{where}: no link {trip.link}")
            if (trip.local is None) != (not trip.local_function):
                raise OfframpError(f"{where}: a local device and its function go together")

    @property
    def types(self) -> tuple[str, ...]:
        """Names of request types."""
        return self.table.types

    @property
    def paths(self) -> tuple[str, ...]:
        """Names of paths."""
        return self.table.paths

    @property
    def trips(self) -> Sequence[Trip]:
        """All round trips of all types and paths, one after the other."""
        return [trip for row in self.flows for trips in row for trip in trips or ()]

    @property
    def local(self) -> tuple[str, ...]:
        """Devices of the requester."""
        return tuple(dict.fromkeys(t.local for t in self.trips if t.local is not None))

    @property
    def local_functions(self) -> tuple[str, ...]:
        """Functions of the requester's devices."""
        return tuple(dict.fromkeys(t.local_function for t in self.trips if t.local is not None))

    @property
    def remote(self) -> tuple[str, ...]:
        """Devices of the responder; the first is the processor."""
        return tuple(dict.fromkeys([CPU, *(t.remote for t in self.trips)]))

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions of the responder."""
        return tuple(dict.fromkeys(t.function for t in self.trips))

    def index(self) -> tuple[list[int], list[int]]:
        """First trip and number of trips of each type and path; -1 and 0 where there is none."""
        first, count, at = [], [], 0
        for row in self.flows:
            for trips in row:
                first.append(-1 if trips is None else at)
                count.append(len(trips or ()))
                at += count[-1]
        return first, count

    def words(self) -> npt.NDArray[np.int64]:
        """``(trips, TripRow.WORDS)``: the trips for compiled code."""
        rows = []
        for row, dependency in zip(self.flows, self.table.dependency, strict=True):
            ordered = 0 if dependency is RequestDependency.NONE else ORDERED
            for trip in (t for trips in row for t in trips or ()):
                local = -1 if trip.local is None else self.local.index(trip.local)
                act = -1 if trip.local is None else self.local_functions.index(trip.local_function)
                there = self.remote.index(trip.remote), self.functions.index(trip.function)
                flags = ordered | (ONCE if trip.once else 0)
                rows.append(
                    [trip.link, local, act, *there, int(trip.previous), trip.start, trip.length, flags, 0, 0, 0]
                )
        return np.array(rows, np.int64)
