"""The training loop of one worker; the same code whatever carries the features."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn

from offramp.errors import OfframpError
from offramp.train.gcn import Gcn, Neighbourhood, as_features
from offramp.train.results import Epoch
from offramp.train.traffic import Timers

if TYPE_CHECKING:
    from offramp.train.group import Group
    from offramp.train.job import WorkerJob
    from offramp.train.propagators.base import Propagator

OnEpoch = Callable[[Epoch], None]


class Trainer:
    """Full-batch training of a GCN on one worker's share, in step with the other workers."""

    def __init__(self, job: WorkerJob, group: Group, propagator: Propagator) -> None:
        settings = job.settings
        self._settings = settings
        self._group = group
        self._propagator = propagator
        self._timers = Timers()
        self._counts = torch.from_numpy(job.counts).double()
        self._features = as_features(job.local.features)
        self._labels = torch.from_numpy(job.local.labels)
        self._masks = torch.from_numpy(job.local.masks)
        self._graph = Neighbourhood(job.local, settings.aggregator, propagator.remote_sum)
        self.model = Gcn(job.widths, seed=settings.seed, dropout=settings.dropout)
        self._adam = torch.optim.Adam(self.model.parameters(), lr=settings.lr)
        torch.manual_seed(settings.seed + group.rank)  # dropout masks

    def run(self, on_epoch: OnEpoch = lambda _: None) -> list[Epoch]:
        """Train; ``on_epoch`` is called after each epoch.

        Raises:
            OfframpError: a worker or the switch is gone, or the loss is no longer finite.
        """
        epochs = []
        for number in range(1, self._settings.epochs + 1):
            epochs.append(self.epoch(number))
            on_epoch(epochs[-1])
        return epochs

    def epoch(self, number: int) -> Epoch:
        """One forward and backward pass over the whole graph, and one step of the weights."""
        self._timers.reset()
        self._propagator.begin_epoch()
        start = time.perf_counter()
        self.model.train()
        scores = self.model(self._features, self._graph)
        train = self._masks[0]
        total = nn.functional.cross_entropy(scores[train], self._labels[train], reduction="sum")
        loss = total / self._counts[0]  # the mean over the whole graph: the partition must not matter
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        with self._timers("reduction"):
            self._sum_gradients()
        self._adam.step()
        if self._settings.dropout:
            scores = self.evaluate()
        seconds = (
            time.perf_counter() - start,
            self._propagator.timers.seconds["communication"],
            self._timers.seconds["reduction"],
        )
        return self._record(number, float(loss.detach()), scores.detach(), seconds)

    @torch.no_grad()
    def evaluate(self) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the local vertices, without dropout."""
        self.model.eval()
        scores: torch.Tensor = self.model(self._features, self._graph)
        return scores

    def _sum_gradients(self) -> None:
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        flat = self._group.sum(torch.cat([gradient.ravel() for gradient in gradients]))
        for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def _record(self, number: int, loss: float, scores: torch.Tensor, seconds: tuple[float, float, float]) -> Epoch:
        right = scores.argmax(1) == self._labels
        hits = [float((right & mask).sum()) for mask in self._masks]
        sums = torch.tensor([loss, *hits], dtype=torch.float64)
        self._group.sum(sums)
        slowest = self._group.max(torch.tensor(seconds, dtype=torch.float64)).tolist()
        if not sums[0].isfinite():
            raise OfframpError(f"epoch {number}: the loss is {sums[0]:g}; expected a smaller --lr")
        accuracies = sums[1:] / self._counts.clamp(min=1)
        return Epoch(number, float(sums[0]), *accuracies.tolist(), *slowest)
