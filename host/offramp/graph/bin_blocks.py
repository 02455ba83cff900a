# SPDX-License-Identifier: Apache-2.0
"""Blocks of cut edges along G3's bins: what is computed first is aggregated first (g3.md section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offramp.graph.blocks import CutBlock

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary


def bin_blocks(boundary: Boundary, limit: int) -> list[CutBlock]:
    """Blocks of at most ``limit`` vertices, each cut edge in one.

    An edge can be aggregated when both ends are computed. Workers go through their priority lists at the same pace, so
    edges are taken by the later place of their ends, and a block ends where the next vertex would be one too many.
    """
    edges = boundary.cut_edges
    if not len(edges):
        return []
    place = boundary.priority[np.searchsorted(boundary.vertices, edges)]
    ordered = edges[np.lexsort((place.min(axis=1), place.max(axis=1)))]
    held: set[int] = set()
    starts = []
    for index, (u, v) in enumerate(ordered.tolist()):
        if len(held) + (u not in held) + (v not in held) > limit:
            held = set()
            starts.append(index)
        held.update((u, v))
    return [CutBlock.of(part) for part in np.split(ordered, starts)]
