# SPDX-License-Identifier: Apache-2.0
"""GNNExplainer's masks over an explanation graph (specification section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from offramp.dgs.explanation import ExplanationGraph
    from offramp.models.base import Features, Model


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of the regularisation terms that an explanation's loss has beside the prediction.

    The thesis names none. Without entropy and with so much size masks rank planted importance best (docs/dgs.md).

    Attributes:
        size: size of the node mask: its mean, or its sum unless ``mean`` is set. A sum outweighs the prediction's
            gradient if there are many remote vertices.
        entropy: entropy of the node mask, mean.
        feature_size: feature size of the feature mask, mean.
        feature_entropy: feature entropy of the feature mask, mean.
    """

    size: float = 0.5
    entropy: float = 0.0
    feature_size: float = 1.0
    feature_entropy: float = 0.1
    mean: bool = True


PLANTED: Final = Coefficients()
PUBLIC: Final = Coefficients(size=0.005, entropy=1.0, mean=False)
"""The coefficients of GNNExplainer in DGL and PyG."""
LOSSES: Final = {"planted": PLANTED, "gnnexplainer": PUBLIC}
"""Losses of an explanation by name."""


@dataclass(frozen=True)
class Terms:
    """The parts of a loss."""

    prediction: torch.Tensor
    size: torch.Tensor
    entropy: torch.Tensor
    feature_size: torch.Tensor
    feature_entropy: torch.Tensor

    @property
    def total(self) -> torch.Tensor:
        """The sum of all parts: a scalar."""
        return self.prediction + self.size + self.entropy + self.feature_size + self.feature_entropy


SETTLED: Final = 1e-3
"""A loss that falls by less than this part of itself in a step falls no more."""


class MaskedFeatures:
    """Constant features times a mask of their columns: ``(X * s) W = X (s * W)``, so that X is never copied."""

    def __init__(self, features: Features, mask: torch.Tensor) -> None:
        self._features, self._mask = features, mask

    def __matmul__(self, weight: torch.Tensor) -> torch.Tensor:
        return self._features @ (self._mask.unsqueeze(1) * weight)

    def head(self, count: int) -> MaskedFeatures:
        """The masked features of the first ``count`` vertices."""
        features = self._features
        return MaskedFeatures(
            features[:count] if isinstance(features, torch.Tensor) else features.head(count), self._mask
        )

    def to_dense(self) -> torch.Tensor:
        """The masked features as a dense ``(n, F)`` tensor."""
        features = self._features
        return (features if isinstance(features, torch.Tensor) else features.to_dense()) * self._mask


def terms(
    model: Model,
    graph: ExplanationGraph,
    features: Features,
    target: torch.Tensor,
    nodes: torch.Tensor,
    columns: torch.Tensor,
    coefficients: Coefficients,
) -> Terms:
    """The loss of masks, given before their sigmoid.

    Args:
        model: the model, whose weights are frozen.
        graph: graph of ``g`` pooled and ``r`` remote vertices.
        features: ``(g + r, F)``.
        target: ``(g, C)`` probabilities that the model gives the pooled vertices.
        nodes: ``(r + 1,)``; 0 is the self-loop.
        columns: ``(F,)``.
        coefficients: coefficients of the regularisers.
    """
    m, s = torch.sigmoid(nodes), torch.sigmoid(columns)
    graph.mask = m
    scores = model(MaskedFeatures(features, s), graph)[: graph.groups]
    size = coefficients.size * (m.mean() if coefficients.mean else m.sum())
    return Terms(
        prediction=-(target * torch.log_softmax(scores, 1)).sum(1).mean(),
        size=size,
        entropy=coefficients.entropy * entropy(nodes).mean(),
        feature_size=coefficients.feature_size * s.mean(),
        feature_entropy=coefficients.feature_entropy * entropy(columns).mean(),
    )


def entropy(x: torch.Tensor) -> torch.Tensor:
    """Entropy of a coin that shows heads with probability ``sigmoid(x)``, in nats.

    Computed before the sigmoid, whose float32 is exactly 1 from 17 on: the logarithm of the other side would have no
    gradient there, and masks carry over from explanation to explanation until they are that certain.
    """
    softplus = torch.nn.functional.softplus
    return torch.sigmoid(x) * softplus(-x) + torch.sigmoid(-x) * softplus(x)


def initial(remotes: int, features: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Masks to begin with, before the sigmoid."""
    deviation = 2.0**0.5 * (2.0 / (2.0 * (remotes + 1))) ** 0.5  # gain of ReLU
    nodes = deviation * torch.randn(remotes + 1, generator=generator)
    return nodes, 0.1 * torch.randn(features, generator=generator)


@dataclass(frozen=True)
class Explanation:
    """The masks that an optimisation ends with.

    Attributes:
        nodes: ``(r + 1,)`` from 0 to 1.
        features: ``(F,)``.
        steps: steps that the explanation took.
        loss: total of the last.
        divergence: divergence of the prediction from the target.
    """

    nodes: torch.Tensor
    features: torch.Tensor
    steps: int
    loss: float
    divergence: float


def optimise(
    model: Model,
    graph: ExplanationGraph,
    features: Features,
    target: torch.Tensor,
    start: tuple[torch.Tensor, torch.Tensor],
    *,
    steps: int = 50,
    lr: float = 0.1,
    threshold: float = 0.01,
    coefficients: Coefficients = PLANTED,
    by_loss: bool = False,
) -> Explanation:
    """Train masks; ``start`` (before the sigmoid) is left as it ends. The model's weights do not change.

    With ``by_loss`` it stops early where the loss is at most ``threshold``, as algorithm 1 says. Otherwise it stops
    where the prediction's divergence from the target is at most ``threshold`` and the loss falls no more. The loss
    itself cannot come near the threshold, as the regularisers and the target's own entropy are part of it; the
    divergence alone may start below it, when masks say nothing yet.
    """
    nodes, columns = (part.requires_grad_() for part in start)
    adam = torch.optim.Adam([nodes, columns], lr=lr)
    certain = -torch.xlogy(target, target).sum(1).mean()
    step, loss, divergence = 0, float("nan"), float("nan")
    for _ in range(steps):
        step += 1
        objective = terms(model, graph, features, target, nodes, columns, coefficients)
        before, loss = loss, float(objective.total.detach())
        divergence = float((objective.prediction - certain).detach())
        settled = divergence <= threshold and loss >= (1 - SETTLED) * before
        if loss <= threshold if by_loss else settled:
            break
        nodes.grad, columns.grad = torch.autograd.grad(objective.total, [nodes, columns])
        adam.step()
    return Explanation(torch.sigmoid(nodes.detach()), torch.sigmoid(columns.detach()), step, loss, divergence)
