# SPDX-License-Identifier: Apache-2.0
"""A layer's view of the graph: rows of source vertices in, rows of target vertices out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.models.aggregation import edge_factors

if TYPE_CHECKING:
    import numpy.typing as npt


class View(ABC):
    """A bipartite piece of the graph with ``s`` source and ``t`` target vertices.

    The sources contain the closed neighbourhood of every target, including the target itself.

    Attributes:
        ids: ``(t,)`` int64 ids of the targets in the whole graph.
    """

    def __init__(
        self,
        ids: npt.NDArray[np.int64],
        source_degree: npt.NDArray[np.integer],
        target_degree: npt.NDArray[np.integer],
        dtype: torch.dtype,
        device: torch.device | None = None,
    ) -> None:
        """``*_degree``: neighbours in the whole graph, without the vertex; ``device``: by default main memory."""
        self.ids = ids
        self.dtype, self.device = dtype, device
        self._degrees = source_degree, target_degree
        self._factors: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def factors(self, aggregator: str) -> tuple[torch.Tensor, torch.Tensor]:
        """``(s, 1)`` and ``(t, 1)`` factors of :func:`~offramp.models.aggregation.edge_factors`."""
        if aggregator not in self._factors:
            source, target = (edge_factors(aggregator, degree)[end] for end, degree in enumerate(self._degrees))
            columns = (torch.from_numpy(end).to(self.device, self.dtype).unsqueeze(1) for end in (source, target))
            source_column, target_column = columns
            self._factors[aggregator] = source_column, target_column
        return self._factors[aggregator]

    @cached_property
    def neighbours(self) -> torch.Tensor:
        """``(t, 1)`` number of neighbours of each target, at least 1."""
        return torch.from_numpy(np.maximum(self._degrees[1], 1)).to(self.device, self.dtype).unsqueeze(1)

    def aggregate(self, x: torch.Tensor, aggregator: str) -> torch.Tensor:
        """Aggregate ``(s, F)`` to ``(t, F)``: ``z_v = t_v sum over u of s_u x_u``, v itself included."""
        source, target = self.factors(aggregator)
        return target * self.sum(source * x)

    @abstractmethod
    def sum(self, y: torch.Tensor) -> torch.Tensor:
        """Sum ``(s, F)`` to ``(t, F)`` over each target's closed neighbourhood."""

    @abstractmethod
    def of_targets(self, x: torch.Tensor) -> torch.Tensor:
        """The ``(t, F)`` rows of the targets among ``(s, F)``."""

    def attend(self, values: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Map ``(s, heads, F)`` values to ``(t, heads, F)``, weighted by attention over each closed neighbourhood.

        An edge's score is ``LeakyReLU(target + source)`` of ``(s, heads)`` and ``(t, heads)`` scores (GAT, Velickovic
        et al. 2018, eq. 3). Only views that hold the neighbours' rows, not their sums, support it.
        """
        raise NotImplementedError
