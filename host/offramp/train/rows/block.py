"""A bin's piece of the graph: some targets, and the rows of their closed neighbourhoods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.train.attention import attend
from offramp.train.sparse import SparseMatrix
from offramp.train.view import View

if TYPE_CHECKING:
    import numpy.typing as npt
    import scipy.sparse as sp


class Block(View):
    """Targets of one worker, with all in-neighbours in its own or received rows.

    Attributes:
        sources: ``(s,)`` int64 rows of the worker's state (own, then received) that go in.
        targets: ``(t,)`` int64 own rows that come out.
    """

    def __init__(
        self,
        adjacency: sp.csr_matrix,
        targets: npt.NDArray[np.int64],
        ids: npt.NDArray[np.int64],
        degree: npt.NDArray[np.int64],
        dtype: torch.dtype,
    ) -> None:
        """The rows ``targets`` of ``adjacency``.

        Args:
            adjacency: ``(own, own + received)`` CSR of ones, closed neighbourhoods.
            targets: own rows.
            ids: ``(own + received,)`` vertices of the whole graph.
            degree: ``(own + received,)`` their neighbours in the whole graph.
            dtype: of the features.
        """
        part = adjacency[targets]
        rows, columns = np.unique(part.indices, return_inverse=True)
        super().__init__(ids[targets], degree[rows], degree[targets], dtype)
        part.indices = columns.astype(part.indices.dtype)
        part.resize(len(targets), len(rows))
        self._matrix = SparseMatrix(part, dtype)
        self._edge_source = torch.from_numpy(columns.astype(np.int64))
        self._edge_target = torch.from_numpy(np.repeat(np.arange(len(targets)), np.diff(part.indptr)))
        self._own = torch.from_numpy(np.searchsorted(rows, targets))
        self.sources = torch.from_numpy(rows.astype(np.int64))
        self.targets = torch.from_numpy(targets)

    def sum(self, y: torch.Tensor) -> torch.Tensor:
        """``(s, F)`` to ``(t, F)``."""
        return self._matrix @ y

    def of_targets(self, x: torch.Tensor) -> torch.Tensor:
        """``(s, F)`` to ``(t, F)``."""
        return x[self._own]

    def attend(self, values: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """``(s, heads, F)`` to ``(t, heads, F)``."""
        return attend((self._edge_source, self._edge_target), values, source, target)
