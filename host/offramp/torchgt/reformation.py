# SPDX-License-Identifier: Apache-2.0
"""Elastic Computation Reformation: clusters of low density become dense blocks (specification 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.graph.csr import IntArray
from offramp.torchgt.pattern import Pattern, pair_keys, pattern_of
from offramp.torchgt.tuner import ladder
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.torchgt.pattern import BucketOf

PLACEMENTS: Final = ("densest", "random")


@dataclass(frozen=True, eq=False)
class Clusters:
    """Density of the clusters of a clustered pattern.

    Attributes:
        bounds: ``(k + 1,)`` first token of each stretch, and the end of the last; tokens beyond belong to none.
        pairs: ``(k, k)`` scattered pairs in each cluster.
        cells: ``(k, k)`` possible pairs in each cluster.
    """

    bounds: IntArray
    pairs: IntArray
    cells: IntArray

    @classmethod
    def of(cls, pattern: Pattern, bounds: IntArray) -> Clusters:
        """The clusters of ``pattern`` with its scattered pairs."""
        k, sizes = len(bounds) - 1, np.diff(bounds)
        cluster = _cluster(pattern, bounds)
        pairs = np.bincount(cluster[cluster >= 0], minlength=k * k).reshape(k, k)
        return cls(bounds, pairs, np.outer(sizes, sizes))

    @property
    def density(self) -> float:
        """β_G, the density of the whole, without global tokens and padding."""
        return float(self.pairs.sum() / max(1, self.cells.sum()))

    @property
    def ladder(self) -> tuple[float, ...]:
        """The tuner's ladder of thresholds."""
        return ladder(self.density)

    def transferred(self, beta: float, block: int) -> IntArray:
        """Flat indices of the clusters below ``beta``; empty ones and those narrower than a block stay."""
        wide = np.diff(self.bounds) >= block
        # Compared without dividing: a full cluster is not below 1, whatever its size.
        low = (self.pairs < beta * self.cells) & (self.pairs > 0) & np.outer(wide, wide)
        return np.flatnonzero(low.ravel())


def _cluster(pattern: Pattern, bounds: IntArray) -> IntArray:
    """``(pairs,)`` flat index of each pair's cluster; -1 for pairs with a token beyond all."""
    k = len(bounds) - 1
    of_token = np.searchsorted(bounds, np.arange(pattern.tokens), side="right") - 1
    row, column = of_token[pattern.rows], of_token[pattern.indices]
    return np.where((row < k) & (column < k), row * k + column, -1)


def reform(
    pattern: Pattern,
    bounds: IntArray,
    beta: float,
    bucket_of: BucketOf,
    *,
    block: int = 16,
    placement: str = "densest",
    seed: int = 0,
) -> Pattern:
    """The pattern with the pairs of sparse clusters compacted into ``block`` x ``block`` blocks.

    A cluster of z pairs gets ⌊z/block²⌋ + 1 distinct blocks on the grid that starts at its corner: where most of its
    pairs are, or at random as in the authors' code. Its other pairs are dropped, except self-loops (C1) and those in
    strips that are narrower than a block. Pairs of global tokens stay.

    Args:
        pattern: a pattern without blocks.
        bounds: see :class:`Clusters`.
        beta: threshold of the density; 0 transfers nothing, 1 everything that is not full.
        bucket_of: gives the bias of new pairs.
        block: side length of a block.
        placement: one of :data:`PLACEMENTS`.
        seed: seed of random placement.
    """
    if placement not in PLACEMENTS:
        raise SettingsError("placement", f"expected one of {', '.join(PLACEMENTS)}", placement)
    if block < 1:
        raise SettingsError("block", "expected at least 1", block)
    chosen = Clusters.of(pattern, bounds).transferred(beta, block)
    if not len(chosen):
        return pattern
    k = len(bounds) - 1
    rows, columns = pattern.rows, pattern.indices
    cluster = _cluster(pattern, bounds)
    tiles_along = np.diff(bounds) // block
    inside = np.flatnonzero(np.isin(cluster, chosen))
    row_tile, column_tile = (
        (tokens[inside] - bounds[part]) // block
        for tokens, part in ((rows, cluster[inside] // k), (columns, cluster[inside] % k))
    )
    tiled = (row_tile < tiles_along[cluster[inside] // k]) & (column_tile < tiles_along[cluster[inside] % k])
    inside, row_tile, column_tile = inside[tiled], row_tile[tiled], column_tile[tiled]
    widest = int(tiles_along.max())
    tile = (cluster[inside] * widest + row_tile) * widest + column_tile
    picked = _densest(tile, widest, block) if placement == "densest" else _random(tile, tiles_along, block, seed)
    keep = np.ones(len(rows), np.bool_)
    keep[inside] = (rows[inside] == columns[inside]) & ~np.isin(tile, picked)
    scattered = pattern_of(pattern.tokens, pair_keys(pattern.tokens, rows[keep], columns[keep]), bucket_of)
    corners = _corners(picked, bounds, widest, block)
    inner = np.arange(block)
    grid = np.broadcast_arrays(
        corners[:, 0, np.newaxis, np.newaxis] + inner[:, np.newaxis],
        corners[:, 1, np.newaxis, np.newaxis] + inner,
    )
    return Pattern(
        pattern.tokens, scattered.indptr, scattered.indices, scattered.buckets, block, corners, bucket_of(*grid)
    )


def _densest(tile: IntArray, widest: int, block: int) -> IntArray:
    """The fullest tiles of each cluster, as many as its pairs need."""
    tiles, counts = np.unique(tile, return_counts=True)
    cluster = tiles // widest**2
    order = np.lexsort((tiles, -counts, cluster))
    totals = np.bincount(cluster, counts).astype(np.int64)
    wanted = totals // block**2 + 1
    sizes = np.bincount(cluster)
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[cluster[order]]
    return np.sort(tiles[order[rank < wanted[cluster[order]]]])


def _random(tile: IntArray, tiles_along: IntArray, block: int, seed: int) -> IntArray:
    """Tiles drawn without replacement, as many in each cluster, since a pair counted twice would weigh double."""
    k, widest = len(tiles_along), int(tiles_along.max())
    rng = np.random.default_rng(seed)
    places = []
    for cluster, pairs in zip(*np.unique(tile // widest**2, return_counts=True), strict=True):
        high, wide = int(tiles_along[cluster // k]), int(tiles_along[cluster % k])
        drawn = rng.choice(high * wide, min(pairs // block**2 + 1, high * wide), replace=False)
        places.append((cluster * widest + drawn // wide) * widest + drawn % wide)
    return np.sort(np.concatenate(places))


def _corners(tiles: IntArray, bounds: IntArray, widest: int, block: int) -> IntArray:
    """First row and column of each tile, in ascending order."""
    k = len(bounds) - 1
    cluster, row_tile, column_tile = tiles // widest**2, tiles // widest % widest, tiles % widest
    corners = np.stack([bounds[cluster // k] + row_tile * block, bounds[cluster % k] + column_tile * block], 1)
    ascending: IntArray = corners[np.lexsort((corners[:, 1], corners[:, 0]))]
    return ascending
