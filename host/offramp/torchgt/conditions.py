# SPDX-License-Identifier: Apache-2.0
"""Conditions C1 to C3, under which the topology pattern may replace full attention (specification 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from offramp.graph.csr import IntArray, entries_of, induced, rows_of
from offramp_base.wire.objects import sendable

_ENDS: Final = 2
"""Number of ends of a path: a graph with more vertices of degree one has no Hamiltonian path."""


@sendable
@dataclass(frozen=True, slots=True)
class AttentionConditions:
    """The conditions that an attention graph satisfies.

    Attributes:
        self_loops: C1: every token attends to itself.
        path: C2: a Hamiltonian path was found; a graph may have one that the search misses.
        reach: C3: within L layers, information from every token reaches every other.
    """

    self_loops: bool
    path: bool
    reach: bool

    @property
    def hold(self) -> bool:
        """Whether all three conditions hold."""
        return self.self_loops and self.path and self.reach


def check(indptr: IntArray, indices: IntArray, layers: int, seed: int = 0) -> AttentionConditions:
    """Check the conditions for a symmetric attention graph with stored self-loops and ``layers`` layers."""
    loops = rows_of(indptr) == indices
    indptr, indices = _without_loops(indptr, indices)
    return AttentionConditions(
        int(loops.sum()) == len(indptr) - 1,
        hamiltonian_path(indptr, indices, seed) is not None,
        diameter_at_most(indptr, indices, layers),
    )


def check_components(
    indptr: IntArray, indices: IntArray, members: list[IntArray], layers: int, seed: int = 0
) -> AttentionConditions:
    """Check the conditions for several graphs in one sequence: those that hold for each, of ascending ``members``."""
    conditions = [check(*induced(indptr, indices, part), layers, seed) for part in members]
    return AttentionConditions(*(all(getattr(c, name) for c in conditions) for name in ("self_loops", "path", "reach")))


def _without_loops(indptr: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    rows = rows_of(indptr)
    others = rows != indices
    counts = np.bincount(rows[others], minlength=len(indptr) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), indices[others]


def hamiltonian_path(indptr: IntArray, indices: IntArray, seed: int = 0, tries: int = 4) -> IntArray | None:
    """A path through all vertices of a simple graph, or None if the search finds none.

    A path grows at its end towards neighbours with few free neighbours of their own; if it is stuck, Pósa's rotations
    reverse a piece of it to get another end. There are ``tries`` starts, each with at most 8 n rotations.
    """
    n = len(indptr) - 1
    degrees = np.diff(indptr)
    if n == 1:
        return np.zeros(1, np.int64)
    if n == 0 or degrees.min() == 0 or int((degrees == 1).sum()) > _ENDS:
        return None
    rng = np.random.default_rng(seed)
    neighbours = [part.tolist() for part in np.split(indices, indptr[1:-1])]
    starts = np.concatenate([[degrees.argmin()], rng.integers(0, n, tries - 1)])
    for start in starts.tolist():
        path = _PathSearch(neighbours, start).run(rng)
        if path is not None:
            return path
    return None


class _PathSearch:
    """A path that is extended and rotated."""

    def __init__(self, neighbours: list[list[int]], start: int) -> None:
        self._neighbours = neighbours
        self._place = [-1] * len(neighbours)
        self._free = [len(n) for n in neighbours]
        self._path: list[int] = []
        self._append(start)

    def _append(self, vertex: int) -> None:
        self._place[vertex] = len(self._path)
        self._path.append(vertex)
        for other in self._neighbours[vertex]:
            self._free[other] -= 1

    def run(self, rng: np.random.Generator) -> IntArray | None:
        n, path = len(self._neighbours), self._path
        rotations = 8 * n
        turned = False
        while len(path) < n:
            open_ends = [v for v in self._neighbours[path[-1]] if self._place[v] < 0]
            if open_ends:
                self._append(min(open_ends, key=self._free.__getitem__))
                turned = False
            elif not turned and any(self._place[v] < 0 for v in self._neighbours[path[0]]):
                self._turn(0)
                turned = True
            elif rotations and len(self._neighbours[path[-1]]) > 1:
                rotations -= 1
                choices = [self._place[v] for v in self._neighbours[path[-1]] if self._place[v] < len(path) - 2]
                if not choices:
                    return None
                self._turn(choices[int(rng.integers(len(choices)))] + 1)
            else:
                return None
        return np.array(path)

    def _turn(self, first: int) -> None:
        """Reverse the path from ``first`` on."""
        path = self._path
        path[first:] = path[first:][::-1]
        for i in range(first, len(path)):
            self._place[path[i]] = i


def diameter_at_most(indptr: IntArray, indices: IntArray, limit: int) -> bool:
    """Whether any two vertices are at most ``limit`` steps apart.

    Vertices far from a middle one are tried first (iFUB, Crescenzi et al. 2013): few searches decide most graphs.
    """
    n = len(indptr) - 1
    if n <= 1:
        return True
    levels = distances_from(indptr, indices, int(np.diff(indptr).argmax()))
    if levels.min() < 0 or levels.max() > limit:
        return False
    for vertex in np.argsort(-levels, kind="stable").tolist():
        if 2 * levels[vertex] <= limit:
            return True
        if distances_from(indptr, indices, vertex).max() > limit:
            return False
    return True


def distances_from(indptr: IntArray, indices: IntArray, start: int) -> IntArray:
    """``(n,)`` distances in steps from ``start``; -1 for unreachable vertices."""
    levels = np.full(len(indptr) - 1, -1)
    frontier, level = np.array([start]), 0
    while len(frontier):
        levels[frontier] = level
        reached = indices[entries_of(indptr, frontier)[0]]
        frontier = np.unique(reached[levels[reached] < 0])
        level += 1
    return levels
