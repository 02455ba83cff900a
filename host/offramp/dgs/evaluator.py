# SPDX-License-Identifier: Apache-2.0
"""Accuracies of a model over all neighbours and features, computed where the whole graph is available."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from offramp.dgs.results import DgsEpoch, DgsProgress
from offramp.g3.block import BipartiteBlock
from offramp.models import make_model, model_widths
from offramp.models.base import Model
from offramp.models.neighbourhood import as_features

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.dgs.settings import DgsSettings
    from offramp.graph.data import Graph


class ModelEvaluator:
    """Evaluates weights on the whole graph.

    Attributes:
        model: the model, whose weights are set for each evaluation.
        features, view: features and view of the whole graph.
    """

    def __init__(self, graph: Graph, settings: DgsSettings) -> None:
        n, everyone = graph.vertices, np.arange(graph.vertices)
        edges = sp.csr_matrix((np.ones(len(graph.indices), np.float32), graph.indices, graph.indptr), shape=(n, n))
        closed = sp.csr_matrix(edges + sp.eye(n, dtype=np.float32, format="csr"))
        closed.sort_indices()
        self._graph = graph
        self.view = BipartiteBlock(closed, everyone, everyone, graph.degrees, torch.float32)
        self.features = as_features(graph.features)
        self.model: Model = make_model(settings, model_widths(settings, graph.width, graph.classes)).eval()

    def accuracies(self, weights: npt.NDArray[np.float32]) -> tuple[float, float, float]:
        """Shares of training, validation and test vertices that the model with ``(p,)`` weights gets right."""
        graph = self._graph
        nn.utils.vector_to_parameters(torch.from_numpy(weights), self.model.parameters())
        with torch.no_grad():
            right = (self.model(self.features, self.view).argmax(1).numpy() == graph.labels).astype(float)
        train, val, test = (
            float(right[mask].mean()) if mask.any() else 0.0 for mask in (graph.train, graph.val, graph.test)
        )
        return train, val, test

    def __call__(self, progress: DgsProgress) -> DgsEpoch:
        """The epoch with the accuracies of the weights at its end."""
        train, val, test = self.accuracies(progress.weights)
        return DgsEpoch(
            epoch=progress.epoch,
            loss=progress.loss,
            seconds=progress.seconds,
            train_accuracy=train,
            val_accuracy=val,
            test_accuracy=test,
            reported=progress,
        )
