# SPDX-License-Identifier: Apache-2.0
"""Patterns of attention between tokens: scattered pairs, and dense blocks (specification 2.3, 2.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, distinct, rows_of
from offramp_base.wire.objects import sendable

Buckets = npt.NDArray[np.int64]


def _no_blocks() -> IntArray:
    return np.zeros((0, 2), np.int64)


@sendable
@dataclass(frozen=True, eq=False)
class Pattern:
    """The pairs over which an attention softmax runs, each contained once.

    Attributes:
        tokens: length of the sequence.
        indptr, indices: CSR of the scattered pairs, with ascending columns.
        buckets: ``(pairs,)`` entry of the bias table for each; empty if the model has no bias.
        block: side length of the dense blocks.
        corners: ``(blocks, 2)`` first row and column of each, ascending.
        block_buckets: ``(blocks, block, block)``, as ``buckets``.
    """

    tokens: int
    indptr: IntArray
    indices: IntArray
    buckets: Buckets
    block: int = 16
    corners: IntArray = field(default_factory=_no_blocks)
    block_buckets: Buckets = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def pairs(self) -> int:
        """Number of attended pairs, including those in blocks."""
        return len(self.indices) + len(self.corners) * self.block**2

    @property
    def rows(self) -> IntArray:
        """``(pairs,)`` row of each scattered pair."""
        return rows_of(self.indptr)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, in memory and when they are sent to another rank."""
        arrays = (self.indptr, self.indices, self.buckets, self.corners, self.block_buckets)
        return sum(array.nbytes for array in arrays)

    def dense(self) -> npt.NDArray[np.bool_]:
        """``(tokens, tokens)`` whether each pair is in the pattern."""
        mask = np.zeros((self.tokens, self.tokens), np.bool_)
        mask[self.rows, self.indices] = True
        for row, column in self.corners.tolist():
            mask[row : row + self.block, column : column + self.block] = True
        return mask


def pair_keys(tokens: int, rows: IntArray, columns: IntArray) -> IntArray:
    """One number for each pair, ascending in row-major order."""
    return rows * tokens + columns


def pattern_of(tokens: int, keys: IntArray, bucket_of: BucketOf) -> Pattern:
    """The pattern of pairs given by :func:`pair_keys`, in any order, possibly repeated."""
    keys = distinct(keys.copy())
    rows, columns = np.divmod(keys, tokens)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=tokens))])
    return Pattern(tokens, indptr, columns, bucket_of(rows, columns))


SELF: Final = 0


@sendable
@dataclass(frozen=True, eq=False)
class BucketOf:
    """Entries of Graphormer's bias table: self, distances 1 to ``limit``, farther, with a global token (eq. 2.5).

    Attributes:
        tokens: length of the sequence.
        limit: the largest distance that is distinguished.
        first_global: tokens from here on are global ones or padding.
        near: ascending keys of all pairs at distance 1 to ``limit``, and the distances; None: no bias.
    """

    tokens: int
    limit: int
    first_global: int
    near: tuple[IntArray, IntArray] | None

    def __call__(self, rows: IntArray, columns: IntArray) -> Buckets:
        """Entry for each pair; empty without bias."""
        if self.near is None:
            return np.zeros(0, np.int64)
        keys, distances = self.near
        wanted = pair_keys(self.tokens, rows, columns)
        buckets = np.full(wanted.shape, self.limit + 1)
        if len(keys):
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            buckets = np.where(keys[place] == wanted, distances[place], buckets)
        buckets[(rows >= self.first_global) | (columns >= self.first_global)] = self.limit + 2
        buckets[rows == columns] = SELF
        return buckets

    @staticmethod
    def entries(limit: int) -> int:
        """Number of rows of the bias table."""
        return limit + 3
