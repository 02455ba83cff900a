# SPDX-License-Identifier: Apache-2.0
"""The explanation graph: local vertices pooled into one, remote ones linked to it (specification section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.models.attention import attend
from offramp.models.view import View

if TYPE_CHECKING:
    from offramp.graph.csr import IntArray


class ExplanationGraph(View):
    """``g`` pooled vertices, then ``r`` remote ones; messages go from the remote to the pooled, never back.

    A pooled vertex also hears itself. A remote one hears itself alone, unmasked, so that it has a state in every layer.
    Sums have a constant denominator: who is masked is gone, and no other counts for more in its place. Under GCN every
    vertex counts as of the pooled one's degree, which makes that the mean as well.

    Attributes:
        remotes: ``(r,)`` ids, ascending: index ``g + i`` is ``remotes[i]``.
        groups: ``g``; 1 but for the pooling by class.
        mask: ``(r + 1,)`` factor of each edge into the pooled vertices; 0 is the one of their self-loops.
        shares: ``(g, r + 1)`` part that each message has in the mean.
    """

    def __init__(
        self, remotes: IntArray, shares: torch.Tensor | None = None, dtype: torch.dtype = torch.float32
    ) -> None:
        """``shares``: by default one pooled vertex that hears everyone alike."""
        if shares is None:
            shares = torch.full((1, len(remotes) + 1), 1 / (len(remotes) + 1), dtype=dtype)
        self.groups, self.remotes, self.shares = len(shares), remotes, shares
        size = self.groups + len(remotes)
        super().__init__(np.arange(size), np.zeros(size, np.int64), np.zeros(size, np.int64), dtype)
        self.mask = torch.ones(len(remotes) + 1, dtype=dtype)
        group, edge = torch.nonzero(shares, as_tuple=True)
        self._edge = edge
        self._into = torch.where(edge == 0, group, edge - 1 + self.groups), group

    def __len__(self) -> int:
        """Number of pooled and remote vertices."""
        return self.groups + len(self.remotes)

    @property
    def edges(self) -> int:
        """Edges into the pooled vertices, which masks weigh."""
        return len(self._edge)

    @property
    def neighbours(self) -> torch.Tensor:
        """Ones: sums over others are means already."""
        return torch.ones(len(self), 1, dtype=self.dtype)

    def _heard(self, x: torch.Tensor) -> torch.Tensor:
        """``(g + r, …)``: means of masked messages, and the remote vertices' own."""
        pooled, remote = x[: self.groups], x[self.groups :]
        weights = self.shares * self.mask
        return torch.cat([weights[:, :1] * pooled + weights[:, 1:] @ remote, remote])

    def aggregate(self, x: torch.Tensor, aggregator: str) -> torch.Tensor:  # noqa: ARG002
        """Means of masked messages, whatever the aggregator."""
        return self._heard(x)

    def sum(self, y: torch.Tensor) -> torch.Tensor:
        """The vertex itself plus the mean of its neighbours."""
        return y + self._heard(y)

    def of_targets(self, x: torch.Tensor) -> torch.Tensor:
        """All: every vertex goes in and comes out."""
        return x

    def attend(self, values: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Attention of the pooled vertices, times the mask after the softmax; remote ones keep their own values."""
        into = target[: self.groups]
        pooled = attend(self._into, values, source, into, self.mask[self._edge])
        return torch.cat([pooled, values[self.groups :]])
