# SPDX-License-Identifier: Apache-2.0
"""Blocks of a dense cut graph, from projective planes: every edge in one block, every vertex in as few as can be.

The boundary vertices are dealt out to as many groups as a plane of order q has points, q² + q + 1. A block is a line of
the plane: q + 1 groups. Two points lie on one line, so that each edge has its block, and a vertex is uploaded q + 1
times. A block holds a share of (q + 1) / (q² + q + 1) of the vertices; no method that serves a complete graph can have
blocks of that size and fewer uploads. Cutting by METIS, level by level, takes fewer where the graph has few edges or
dense parts, and up to twice as many where it has neither.

The lines are the translates of a perfect difference set: every number below q² + q + 1 but 0 is the difference of one
pair of its elements (J. Singer, "A theorem in finite projective geometry and some applications to number theory",
Transactions of the American Mathematical Society 43, 1938).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.graph.blocks import CutBlock
from offramp.graph.csr import IntArray, ranks_of

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary

DIFFERENCE_SETS: Final = (
    (0, 1),
    (1, 2, 4),
    (0, 1, 3, 9),
    (3, 6, 7, 12, 14),
    (1, 5, 11, 24, 25, 27),
    (0, 1, 5, 7, 17, 35, 38, 49),
    (1, 2, 4, 8, 16, 32, 37, 55, 64),
    (0, 1, 3, 9, 27, 49, 56, 61, 77, 81),
    (1, 8, 9, 11, 25, 37, 69, 88, 94, 99, 103, 121),
    (0, 1, 5, 13, 65, 68, 93, 111, 113, 122, 146, 152, 162, 169),
    (1, 2, 4, 8, 16, 32, 64, 91, 117, 128, 137, 182, 195, 205, 234, 239, 256),
)
"""For each order with a plane in use, ascending, the points of one of its lines."""


def covering_blocks(boundary: Boundary, limit: int) -> list[CutBlock]:
    """Blocks of at most ``limit`` vertices, each cut edge in one, with shares of every worker that differ little.

    There are none, an empty list, if ``limit`` is too small for the planes at hand: below a sixteenth of the vertices.
    """
    line = smallest_plane(boundary.B, limit)
    if line is None or not boundary.C:
        return []
    points = points_of(line)
    ends = dealt(boundary, points)[ranks_of(boundary.cut_edges, boundary.vertices)]
    # A line is named by the translation that gives it; of a pair's points, the first is one of its line's `line`.
    element = np.full(points, line[0])
    for first in line:
        for second in line:
            if first != second:
                element[(first - second) % points] = first
    block = ((ends[:, 0] - element[(ends[:, 0] - ends[:, 1]) % points]) % points).astype(np.uint16)
    order = np.argsort(block, kind="stable")
    parts = np.split(boundary.cut_edges[order], np.cumsum(np.bincount(block, minlength=points))[:-1])
    return [CutBlock.of(part) for part in parts if len(part)]


def smallest_plane(vertices: int, limit: int) -> tuple[int, ...] | None:
    """A line of the smallest plane whose blocks of ``vertices`` fit into ``limit``, or None."""
    return next((line for line in DIFFERENCE_SETS if -(-vertices // points_of(line)) * len(line) <= limit), None)


def points_of(line: tuple[int, ...]) -> int:
    """Points of the plane that has ``line``."""
    return len(line) * (len(line) - 1) + 1


def dealt(boundary: Boundary, groups: int) -> IntArray:
    """``(B,)`` group of each boundary vertex: each worker's are dealt out in turn, those with most neighbours first."""
    group = np.empty(boundary.B, np.int64)
    group[np.lexsort((-boundary.need, boundary.owner[boundary.vertices]))] = np.arange(boundary.B) % groups
    return group
