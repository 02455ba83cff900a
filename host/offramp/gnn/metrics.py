# SPDX-License-Identifier: Apache-2.0
"""Metrics over the vertices or pairs of all ranks, the same on each; every rank calls them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.gnn.comm import Alone, Comm


def accuracy(scores: torch.Tensor, labels: torch.Tensor, comm: Comm | Alone) -> float:
    """The share of vertices whose best score is their label's; of several labels, of labels that are right."""
    right = (scores > 0) == (labels > 0) if labels.dim() == 2 else scores.argmax(1) == labels
    sums = comm.sum(torch.tensor([float(right.sum()), float(right.numel())], dtype=torch.float64))
    return float(sums[0] / sums[1].clamp(min=1))


def f1(scores: torch.Tensor, labels: torch.Tensor, comm: Comm | Alone) -> float:
    """The mean over classes of F1; of several labels to a vertex, F1 over all of them together (micro)."""
    classes = scores.shape[1]
    if labels.dim() == 2:
        said, true = scores > 0, labels > 0
    else:
        said = torch.nn.functional.one_hot(scores.argmax(1), classes).bool()
        true = torch.nn.functional.one_hot(labels, classes).bool()
    counts = torch.stack([(said & true).sum(0), said.sum(0), true.sum(0)]).double()
    right, guessed, there = comm.sum(counts.sum(1) if labels.dim() == 2 else counts)
    known = guessed + there > 0
    return float((2 * right / (guessed + there).clamp(min=1))[known].mean()) if bool(known.any()) else 0.0


def auc(scores: torch.Tensor, labels: torch.Tensor, comm: Comm | Alone) -> float:
    """The area under the ROC curve: the chance that a positive scores above a negative, ties by half.

    ``(n,)`` scores and labels 0 or 1, or the ``(n, 2)`` scores of two classes. Ranks see all of them.

    Raises:
        OfframpError: more than two classes.
    """
    if scores.dim() == 2:
        if scores.shape[1] != 2:
            raise OfframpError(f"metric auc: expected two classes, got {scores.shape[1]}")
        scores = scores[:, 1] - scores[:, 0]
    values, true = gathered(scores.double(), comm), gathered(labels.double(), comm) > 0
    _, place, counts = torch.unique(values, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum(0) - (counts - 1) / 2)[place].double()
    positives, negatives = int(true.sum()), int((~true).sum())
    if not positives or not negatives:
        return 0.5
    return float((ranks[true].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def reciprocal_ranks(positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    """``(n,)`` reciprocal ranks of ``(n,)`` scores of pairs among ``(n, k)`` of their negatives, ties by half."""
    above = (negative > positive[:, None]).sum(1) + (negative == positive[:, None]).sum(1) / 2
    return 1 / (1 + above)


def mrr(positive: torch.Tensor, negative: torch.Tensor, comm: Comm | Alone) -> float:
    """The mean of :func:`reciprocal_ranks` over all ranks."""
    ranks = reciprocal_ranks(positive.double(), negative.double())
    sums = comm.sum(torch.tensor([float(ranks.sum()), float(len(ranks))], dtype=torch.float64))
    return float(sums[0] / sums[1].clamp(min=1))


def hits(positive: torch.Tensor, negative: torch.Tensor, k: int, comm: Comm | Alone) -> float:
    """The share of pairs with fewer than ``k`` of their ``(n, m)`` negatives above them."""
    hit = (negative > positive[:, None]).sum(1) < k
    sums = comm.sum(torch.tensor([float(hit.sum()), float(len(hit))], dtype=torch.float64))
    return float(sums[0] / sums[1].clamp(min=1))


def gathered(rows: torch.Tensor, comm: Comm | Alone) -> torch.Tensor:
    """The rows of all ranks, in rank order, on every rank."""
    ones = [1] * comm.size
    counts = comm.all_to_all(torch.full((comm.size,), len(rows)), ones, ones).tolist()
    return comm.all_to_all(rows.repeat(comm.size, *[1] * (rows.dim() - 1)), [len(rows)] * comm.size, counts)


def to_first(rows: torch.Tensor, comm: Comm | Alone) -> torch.Tensor:
    """The rows of all ranks, in rank order, on rank 0; none elsewhere."""
    ones = [1] * comm.size
    send = [len(rows)] + [0] * (comm.size - 1)
    counts = comm.all_to_all(torch.tensor(send), ones, ones).tolist()
    return comm.all_to_all(rows, send, counts)


METRICS: dict[str, Callable[[torch.Tensor, torch.Tensor, Comm | Alone], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "auc": auc,
}
