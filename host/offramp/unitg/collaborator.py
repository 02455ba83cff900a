# SPDX-License-Identifier: Apache-2.0
"""Delivery of the language model's embeddings to the graph neural network, and their table (section 3.5)."""

from __future__ import annotations

import threading
from typing import Final

import torch

LADDER: Final = (0.3, 0.2, 0.1, 0.02)
"""Intervals between synchronisations, as fractions of the graph neural network's epochs."""
MEMORY: Final = 0.8
PATIENCE: Final = 20


class Collaborator:
    """The interval, from a running average of the loss: F_j = 0.8 F_(j-1) + 0.2 L_j.

    Twenty consecutive epochs in which F falls shorten it by a step of the ladder; it never grows.
    """

    def __init__(self, epochs: int) -> None:
        self.intervals = [max(1, round(share * epochs)) for share in LADDER]
        self._at = 0
        self._average: float | None = None
        self._falls = 0
        self._last = 0

    @property
    def interval(self) -> int:
        """The present number of epochs between two synchronisations."""
        return self.intervals[self._at]

    def observe(self, loss: float) -> None:
        """Record the loss of an epoch."""
        before = self._average
        self._average = loss if before is None else MEMORY * before + (1 - MEMORY) * loss
        self._falls = self._falls + 1 if before is not None and self._average < before else 0
        if self._falls == PATIENCE and self._at < len(self.intervals) - 1:
            self._at += 1
            self._falls = 0

    def due(self, epoch: int) -> bool:
        """Whether embeddings are fetched before epoch ``epoch`` (from 1), given when they were last fetched."""
        if epoch - 1 - self._last < self.interval:
            return False
        self._last = epoch - 1
        return True


class EmbeddingTable:
    """The newest embedding of each vertex; rows are written and read whole.

    Attributes:
        width: width of an embedding.
    """

    def __init__(self, vertices: int, width: int) -> None:
        self.width = width
        self._rows = torch.zeros(vertices, width)
        self._encoded = torch.zeros(vertices, dtype=torch.bool)
        self._lock = threading.Lock()

    def copies(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows ``(n, width)``, and which of them are embeddings, for a checkpoint."""
        with self._lock:
            return self._rows.clone(), self._encoded.clone()

    def restore(self, rows: torch.Tensor, encoded: torch.Tensor) -> None:
        """Take over what :meth:`copies` returned."""
        with self._lock:
            self._rows.copy_(rows)
            self._encoded.copy_(encoded)

    def put(self, ids: torch.Tensor, rows: torch.Tensor) -> None:
        """Store embeddings ``(b, width)`` of vertices ``(b,)``."""
        with self._lock:
            self._rows[ids] = rows
            self._encoded[ids] = True

    def features(self, numeric: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Rows ``(n, width)`` for the graph neural network, and how many of them are embeddings.

        A vertex that was never encoded keeps its ``numeric`` features. Embeddings are scaled to the mean length of
        those, so that replacing rows does not change the scale.
        """
        rows, encoded = self.copies()
        length = numeric.norm(dim=1).mean()
        rows *= length / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
        return torch.where(encoded.unsqueeze(1), rows.to(numeric.dtype), numeric), int(encoded.sum())
