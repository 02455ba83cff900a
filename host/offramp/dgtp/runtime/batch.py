# SPDX-License-Identifier: Apache-2.0
"""A sampler's part of a mini-batch: which vertices it has, what was drawn, and what a worker needs to compute on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from offramp.dgs.minibatch import MiniBatch, SampledView
from offramp.dgs.sampling import Numbering, SampledNeighbours
from offramp.graph.csr import IntArray
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.dgs.settings import DgsSettings

DrawNeighbours = Callable[[IntArray, int], SampledNeighbours]
"""Draws neighbours of vertices at a hop, from 1."""


@sendable
@dataclass(frozen=True, eq=False)
class SampledBatch:
    """The graph below a sampler's seeds, and its features.

    Attributes:
        seeds, labels: ``(b,)`` vertices whose loss is taken, and their labels.
        sources: ``(s,)`` vertices whose features the first layer takes; the targets of each hop are the first of them.
        targets: number of targets of each hop, from the seeds on.
        counts: neighbours drawn of each target, by hop.
        places: their places among the hop's sources, by hop.
        features: ``(s, F)``.
    """

    seeds: IntArray
    labels: IntArray
    sources: IntArray
    targets: list[int]
    counts: list[IntArray]
    places: list[IntArray]
    features: npt.NDArray[np.float32]

    def minibatch(self, degree: IntArray) -> MiniBatch:
        """The views that the layers of a model compute over; ``degree`` of all vertices."""
        ends = [*self.targets[1:], len(self.sources)]
        views = [
            SampledView(self.sources[:end], n, SampledNeighbours(counts, self.sources[:0]), places, degree)
            for n, end, counts, places in zip(self.targets, ends, self.counts, self.places, strict=True)
        ]
        return MiniBatch(self.seeds, views[::-1], self.sources, sum(map(len, self.places)))


@dataclass(frozen=True, eq=False)
class DrawnBatch:
    """A batch that is drawn, without features; fields as in :class:`SampledBatch`."""

    seeds: IntArray
    labels: IntArray
    sources: IntArray
    targets: list[int]
    counts: list[IntArray]
    places: list[IntArray]

    def with_features(self, features: npt.NDArray[np.float32]) -> SampledBatch:
        """The whole batch."""
        return SampledBatch(**vars(self), features=features)


def draw_batch(seeds: IntArray, labels: IntArray, hops: int, number: Numbering, draw: DrawNeighbours) -> DrawnBatch:
    """Draw the neighbourhood of ``seeds``, hop by hop."""
    frontier, drawn = seeds, []
    for hop in range(1, hops + 1):
        sampled = draw(frontier, hop)
        sources, places = number(frontier, sampled.neighbours)
        drawn.append((len(frontier), sampled.counts, places))
        frontier = sources
    targets, counts, places_of = (list(column) for column in zip(*drawn, strict=True))
    return DrawnBatch(seeds, labels, frontier, targets, counts, places_of)


def seeds_of(settings: DgsSettings, sampler: int, iteration: int, train: int) -> IntArray:
    """Places among the training vertices of a sampler's seeds; each sampler passes over all of them (section VI-B)."""
    steps = -(-train // settings.batch)
    epoch, step = divmod(iteration, steps)
    order = np.random.default_rng([settings.seed, sampler, epoch]).permutation(train)
    return order[step * settings.batch : (step + 1) * settings.batch]


def batch_size(settings: DgsSettings, samplers: int, iteration: int, train: int) -> int:
    """Seeds of all samplers together in an iteration."""
    steps = -(-train // settings.batch)
    return samplers * min(settings.batch, train - iteration % steps * settings.batch)


class LossGradient:
    """A worker's part of the loss of an iteration, and its gradient."""

    def __init__(self, settings: DgsSettings, features: int, classes: int, degree: IntArray) -> None:
        from offramp.models import make_model, model_widths

        self._model = make_model(settings, model_widths(settings, features, classes)).train()
        self._degree = degree

    @property
    def initial(self) -> npt.NDArray[np.float32]:
        """``(p,)`` parameters that the seed makes."""
        parameters = torch.nn.utils.parameters_to_vector(self._model.parameters()).detach()
        vector: npt.NDArray[np.float32] = parameters.numpy().copy()
        return vector

    def __call__(
        self, parameters: torch.Tensor, batches: list[SampledBatch], iteration: int, size: int
    ) -> tuple[float, torch.Tensor]:
        """The sum of the losses of the batches' seeds, and the gradient of that sum over ``size``.

        Args:
            parameters: ``(p,)``.
            batches: batches of the worker's samplers.
            iteration: number, from 0.
            size: seeds of all workers.
        """
        model = self._model
        torch.nn.utils.vector_to_parameters(parameters, model.parameters())
        model.zero_grad()
        model.dropout.step = iteration + 1
        loss = 0.0
        for batch in batches:
            scores = batch.minibatch(self._degree).scores(model, torch.from_numpy(batch.features)).float()
            total = torch.nn.functional.cross_entropy(scores, torch.from_numpy(batch.labels), reduction="sum")
            (total / size).backward()  # type: ignore[no-untyped-call]
            loss += float(total.detach())
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
        return loss, torch.cat([gradient.ravel() for gradient in gradients])
