# SPDX-License-Identifier: Apache-2.0
"""Small runs whose workers are threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp.dgs.run import train_dgs
from offramp.dgs.settings import DgsSettings
from offramp.graph.data import Graph
from offramp_sim.reproduce.dgs.graphs import hubs, planted
from offramp_sim.switchgnn.thread_group import open_threads

if TYPE_CHECKING:
    import numpy as np

__all__ = ["auc", "hubs", "planted", "settings", "train"]


def settings(**changes: Any) -> DgsSettings:
    """Small batches, explained inline."""
    fields: dict[str, Any] = {
        "workers": 3,
        "batch": 16,
        "epochs": 2,
        "fanout": (3, 3),
        "period": 4,
        "explain": "inline",
    }
    return DgsSettings("test", **(fields | changes))


def train(graph: Graph, how: DgsSettings) -> Any:
    """A run whose workers are threads."""
    return train_dgs(graph, how, launch=open_threads)


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """Probability that one of ``truth`` has the higher score of two."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, score))
