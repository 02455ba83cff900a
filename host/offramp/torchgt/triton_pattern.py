# SPDX-License-Identifier: Apache-2.0
"""A pattern for the Triton kernels: pairs by row, with rows that are too long for one program cut into pieces."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from offramp.graph.csr import transposed

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.csr import IntArray
    from offramp.torchgt.pattern import Pattern

LONGEST: Final = 1024
"""Most pairs of a row that one program handles; a global token's row has as many as there are tokens."""


class Items:
    """Items of a launch, one per program: a range of pairs of one row each.

    Attributes:
        count: number of items, n.
        rows, starts, stops: ``(n,)`` row, first pair and end of each.
        mean: mean number of pairs of an item.
        of: ``(r,)`` rows that these items are pieces of, ascending.
    """

    def __init__(self, rows: IntArray, starts: IntArray, stops: IntArray, device: torch.device) -> None:
        self.count = len(rows)
        self.mean = float((stops - starts).mean()) if len(rows) else 0.0
        self.rows, self.starts, self.stops = (_narrow(a, device) for a in (rows, starts, stops))
        of, first, counts = np.unique(rows, return_index=True, return_counts=True)
        self.of = torch.from_numpy(of).to(device)
        pieces = np.arange(max(counts, default=0))
        self._there = torch.from_numpy(pieces < counts[:, None]).to(device)
        self._places = torch.from_numpy(first[:, None] + np.minimum(pieces, counts[:, None] - 1)).to(device)

    def spread(self, parts: torch.Tensor) -> torch.Tensor:
        """Spread ``(heads, n, d)`` of the pieces to ``(heads, r, most, d)`` of the rows, padded with zeros."""
        return parts[:, self._places] * self._there[..., None]

    def log_sums(self, sums: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Combine the logs of pieces' sums ``(heads, n)`` into those of rows ``(heads, r)``, and each piece's share."""
        each = torch.where(self._there, sums[:, self._places], -torch.inf)
        whole = each.logsumexp(2)
        return whole, (each - whole[..., None]).exp()


class TritonPattern:
    """The pairs of a pattern, including those of its blocks, whose adjacent columns are read together anyway.

    Attributes:
        pairs: ``(pairs,)`` column and entry of the bias table of each.
        rows: all rows; those longer than :data:`LONGEST` have no pairs here.
        long_rows: the long rows in pieces; None if there are none.
    """

    def __init__(
        self, indptr: IntArray, indices: IntArray, buckets: npt.NDArray[np.int64], device: torch.device
    ) -> None:
        self._csr, self._device = (indptr, indices, buckets), device
        tokens, lengths = len(indptr) - 1, np.diff(indptr)
        self.pairs = _narrow(indices, device), _narrow(buckets if len(buckets) else indices, device)
        short = np.where(lengths > LONGEST, indptr[:-1], indptr[1:])
        self.rows = Items(np.arange(tokens), indptr[:-1], short, device)
        self.long_rows: Items | None = None
        long = np.flatnonzero(lengths > LONGEST)
        if len(long):
            pieces = -(-lengths[long] // LONGEST)
            rows = np.repeat(long, pieces)
            number = np.arange(len(rows)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            starts = indptr[rows] + number * LONGEST
            self.long_rows = Items(rows, starts, np.minimum(starts + LONGEST, indptr[rows + 1]), device)

    @classmethod
    def of(cls, pattern: Pattern, device: torch.device) -> TritonPattern:
        """Scattered pairs and those of blocks, sorted by row and column."""
        if not len(pattern.corners):
            return cls(pattern.indptr, pattern.indices, pattern.buckets, device)
        inside = np.arange(pattern.block)
        first_row, first_column = pattern.corners.T
        shape = len(pattern.corners), pattern.block, pattern.block
        block_rows = np.broadcast_to((first_row[:, None] + inside)[:, :, None], shape)
        block_columns = np.broadcast_to((first_column[:, None] + inside)[:, None, :], shape)
        rows = np.concatenate([pattern.rows, block_rows.reshape(-1)])
        columns = np.concatenate([pattern.indices, block_columns.reshape(-1)])
        order = np.lexsort((columns, rows))
        buckets = np.concatenate([pattern.buckets, pattern.block_buckets.reshape(-1)])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=pattern.tokens))])
        return cls(indptr, columns[order], buckets[order] if len(buckets) else buckets, device)

    @cached_property
    def transposed(self) -> TritonPattern:
        """The pairs by column, made when backward first needs them."""
        indptr, indices, buckets = self._csr
        order = np.argsort(indices, kind="stable")
        turned, rows = transposed(indptr, indices)
        return TritonPattern(turned, rows, buckets[order] if len(buckets) else buckets, self._device)


def _narrow(numbers: npt.NDArray[np.integer], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(numbers, np.int32)).to(device)
