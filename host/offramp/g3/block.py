# SPDX-License-Identifier: Apache-2.0
"""A bin's piece of the graph: some targets, and the rows of their closed neighbourhoods."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.sparse as sp
import torch

from offramp.graph.csr import distinct_below, ranks_of
from offramp.models.attention import attend
from offramp.models.sparse import SparseMatrix
from offramp.models.view import View

if TYPE_CHECKING:
    import numpy.typing as npt

ENTRY_BYTES: Final = 32
"""What an edge of a block takes while the block is made and computed, forward and back."""


class BipartiteBlock(View):
    """Targets of one worker, with all in-neighbours in its own or received rows.

    Attributes:
        rows, sources: ``(s,)`` int64 rows of the worker's state (own, then received) that go in.
        targets: ``(t,)`` int64 own rows that come out.
    """

    def __init__(
        self,
        adjacency: sp.csr_matrix,
        targets: npt.NDArray[np.int64],
        ids: npt.NDArray[np.int64],
        degree: npt.NDArray[np.int64],
        dtype: torch.dtype,
        device: torch.device | None = None,
    ) -> None:
        """The rows ``targets`` of ``adjacency``.

        Args:
            adjacency: ``(own, own + received)`` CSR of ones, closed neighbourhoods.
            targets: own rows.
            ids: ``(own + received,)`` vertices of the whole graph.
            degree: ``(own + received,)`` their neighbours in the whole graph.
            dtype: dtype of the features.
            device: device of all tensors; main memory by default.
        """
        part = adjacency[targets]
        rows = distinct_below(part.indices, adjacency.shape[1])
        part.indices = ranks_of(part.indices, rows).astype(part.indices.dtype)
        super().__init__(ids[targets], degree[rows], degree[targets], dtype, device)
        part.resize(len(targets), len(rows))
        self._ones, self._weighted = part, dict[str, SparseMatrix]()
        self._whole = len(rows) == adjacency.shape[1]
        self._own = torch.from_numpy(np.searchsorted(rows, targets)).to(device)
        self.rows = rows
        self.sources = torch.from_numpy(rows).to(device)
        self.targets = torch.from_numpy(targets).to(device)

    def gathered(self, state: torch.Tensor) -> torch.Tensor:
        """The rows of the sources; not a copy where these are all."""
        return state if self._whole else state[self.sources]

    def scatter(self, of_sources: torch.Tensor, state: torch.Tensor) -> None:
        """Add the sources' rows to those of the first ones of the worker's state."""
        if self._whole:
            state += of_sources[: len(state)]
            return
        kept = int(np.searchsorted(self.rows, len(state)))  # they ascend
        state.index_add_(0, self.sources[:kept], of_sources[:kept])

    def aggregate(self, x: torch.Tensor, aggregator: str) -> torch.Tensor:
        """``(s, F)`` to ``(t, F)``: the factors of both ends are in the matrix."""
        return self._matrix(aggregator) @ x

    def sum(self, y: torch.Tensor) -> torch.Tensor:
        """``(s, F)`` to ``(t, F)``."""
        return self._matrix("sum") @ y

    def _matrix(self, aggregator: str) -> SparseMatrix:
        if aggregator not in self._weighted:
            source, target = (end.double().cpu().numpy().ravel() for end in self.factors(aggregator))
            ones = self._ones
            values = np.repeat(target, np.diff(ones.indptr))
            values *= source[ones.indices]
            of_type = torch.from_numpy(values).to(self.dtype).numpy()
            matrix = sp.csr_matrix((of_type, ones.indices, ones.indptr), shape=ones.shape)
            self._weighted[aggregator] = SparseMatrix(matrix, self.dtype, self.device)
        return self._weighted[aggregator]

    def of_targets(self, x: torch.Tensor) -> torch.Tensor:
        """``(s, F)`` to ``(t, F)``."""
        return x[self._own]

    def attend(self, values: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """``(s, heads, F)`` to ``(t, heads, F)``."""
        return attend(self._edges, values, source, target)

    @cached_property
    def _edges(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Source and target of each edge, by their places among the block's."""
        ones = self._ones
        targets = np.repeat(np.arange(ones.shape[0]), np.diff(ones.indptr))
        ends = torch.from_numpy(ones.indices.astype(np.int64)), torch.from_numpy(targets)
        return ends[0].to(self.device), ends[1].to(self.device)
