# SPDX-License-Identifier: Apache-2.0
"""Computes a worker's masks from its model: inference, pooling, explanation (algorithm 1, lines 14 to 22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from offramp.dgs.explainer import LOSSES, initial, optimise
from offramp.dgs.explanation import ExplanationGraph
from offramp.dgs.masks import Masks
from offramp.dgs.minibatch import SampledView
from offramp.dgs.sampling import Numbering, SampledNeighbours
from offramp.dgs.signals import with_signal
from offramp.graph.csr import IntArray
from offramp.models.neighbourhood import as_features, stacked
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.dgs.explainer import Explanation
    from offramp.dgs.shard import Shard
    from offramp.models.base import Model

SPARSE = 0.1
"""Rows with fewer values other than 0 than this share are kept sparse."""


class Interpreter:
    """Explains one worker's model; its masks carry over from explanation to explanation.

    Attributes:
        explanation: the last one, None before it.

    Args:
        shard: the worker's part of the graph.
        model: model of the run; its weights are set for each explanation.
    """

    def __init__(self, shard: Shard, model: Model | None = None) -> None:
        if not len(shard.vertices):
            raise OfframpError(f"worker {shard.worker}: explanation: there are no local vertices")
        self.shard, self.model = shard, (model or shard.model()).eval().requires_grad_(requires_grad=False)
        self.explanation: Explanation | None = None
        settings = shard.settings
        generator = torch.Generator().manual_seed(settings.seed * 1009 + shard.worker)
        nodes, self._columns = initial(len(shard.halo), shard.width, generator)
        self._loop, self._nodes = nodes[:1], nodes[1:]
        self._number = Numbering(len(shard.owner))

    @property
    def logits(self) -> npt.NDArray[np.float32]:
        """``(1 + h + F,)`` masks before the sigmoid, from which the next explanation starts: loop, halo, columns."""
        return torch.cat([self._loop, self._nodes, self._columns]).numpy()

    @logits.setter
    def logits(self, values: npt.NDArray[np.float32]) -> None:
        parts = torch.from_numpy(values.copy())
        self._loop, self._nodes, self._columns = torch.split(parts, [1, len(self._nodes), len(self._columns)])

    def explain(self, places: IntArray, rows: npt.NDArray[np.float32], version: int) -> Masks:
        """Masks that explain the model's present predictions.

        Args:
            places: ``(r,)`` of the halo that are explained, ascending; the others get their mean.
            rows: ``(r, F)`` features of these.
            version: version of the masks.

        Raises:
            OfframpError: the model's weights or the rows are no numbers, and so are the masks.
        """
        shard, settings = self.shard, self.shard.settings
        if not len(places):
            return Masks(version, np.ones(len(shard.halo), np.float32), np.ones(shard.width, np.float32))
        remotes = shard.halo[places]
        selection = compact(rows)
        probabilities = self.predictions(remotes, selection)
        groups = self._groups(probabilities)
        target = torch.from_numpy(groups @ probabilities)
        features = as_features(_stacked(sp.csr_matrix(groups) @ shard.features, selection))
        graph = ExplanationGraph(remotes, self._shares(groups, remotes))
        start = torch.cat([self._loop, self._nodes[places]]), self._columns.clone()
        self.explanation = optimise(
            self.model,
            graph,
            features,
            target,
            start,
            steps=settings.explain_epochs,
            lr=settings.explain_lr,
            threshold=settings.threshold,
            coefficients=LOSSES[settings.explain_loss],
            by_loss=settings.explain_stop == "loss",
        )
        learned = start[0].detach()
        self._loop, self._nodes[places], self._columns = learned[:1], learned[1:], start[1].detach()
        nodes = np.full(len(shard.halo), float(self.explanation.nodes[1:].mean()), np.float32)
        nodes[places] = self.explanation.nodes[1:].numpy()
        masks = Masks(version, nodes, self.explanation.features.numpy().copy())
        masks.check(len(shard.halo), shard.width)
        return with_signal(masks, shard)

    def predictions(self, remotes: IntArray, rows: Any) -> npt.NDArray[np.float32]:
        """``(n, C)`` class probabilities of the local vertices, from local edges and those to known remote ones."""
        shard = self.shard
        near = np.isin(remotes, shard.rows.indices)
        ids = np.concatenate([shard.vertices, remotes[near]])
        place = np.full(len(shard.owner), -1, np.int64)
        place[ids] = np.arange(len(ids))
        columns = place[shard.rows.indices]
        row = np.repeat(np.arange(len(shard.vertices)), np.diff(shard.rows.indptr))
        kept = columns >= 0
        u, v = row[kept], columns[kept]
        back = v >= len(shard.vertices)
        edges = sp.csr_matrix(
            (np.ones(len(u) + back.sum(), bool), (np.append(u, v[back]), np.append(v, u[back]))),
            shape=(len(ids), len(ids)),
        )
        sampled = SampledNeighbours(np.diff(edges.indptr).astype(np.int64), ids[edges.indices])
        view = SampledView(ids, len(ids), sampled, edges.indices.astype(np.int64), shard.degree)
        features = as_features(_stacked(shard.features, rows[near]))
        with torch.no_grad():
            scores = self.model(features, view)[: len(shard.vertices)]
            probabilities: npt.NDArray[np.float32] = torch.softmax(scores, 1).numpy()
        return probabilities

    def _groups(self, probabilities: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """``(g, n)`` weights of the local vertices in each pooled one; each sums up to 1."""
        if self.shard.settings.explain_scope == "pooled":
            return np.full((1, len(probabilities)), 1 / len(probabilities), np.float32)
        classes, label = np.unique(probabilities.argmax(1), return_inverse=True)
        member = np.zeros((len(classes), len(label)), np.float32)
        member[label.ravel(), np.arange(len(label))] = 1
        member /= member.sum(1, keepdims=True)
        return member

    def _shares(self, groups: npt.NDArray[np.float32], remotes: IntArray) -> torch.Tensor | None:
        """Under pooling by class, how much of each class's messages a remote vertex makes up, by edges."""
        if len(groups) == 1:
            return None
        shard = self.shard
        place = np.full(len(shard.owner), -1, np.int64)
        place[remotes] = np.arange(len(remotes))
        row = np.repeat(np.arange(len(shard.vertices)), np.diff(shard.rows.indptr))
        column = place[shard.rows.indices]
        kept = column >= 0
        edges = sp.csr_matrix(
            (np.ones(kept.sum(), np.float32), (row[kept], column[kept])), (len(shard.vertices), len(remotes))
        )
        members = (groups > 0).astype(np.float32)
        reach = np.asarray(members @ edges) + 1 / len(remotes)  # beyond the first hop: a little, alike
        reach = np.column_stack([reach.mean(1), reach])
        return torch.from_numpy((reach / reach.sum(1, keepdims=True)).astype(np.float32))


def compact(rows: npt.NDArray[np.float32]) -> Any:
    """The rows, as CSR where few values are other than 0."""
    return sp.csr_matrix(rows) if np.count_nonzero(rows) < SPARSE * rows.size else rows


def _stacked(first: Any, second: Any) -> Any:
    """Stack two matrices of rows; the result is sparse if either is."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([sp.csr_matrix(first), sp.csr_matrix(second)], format="csr")
    return stacked(first, second)
