# SPDX-License-Identifier: Apache-2.0
"""The same training in one process over the whole graph: what a run on any placement must equal."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.dgs import sampling
from offramp.dgs.sampling import LocalAdjacency, Numbering, stream_of
from offramp.dgs.selection import select
from offramp.dgtp.runtime.batch import LossGradient, SampledBatch, batch_size, draw_batch, seeds_of
from offramp.dgtp.runtime.optimiser import FlatAdam, OptimiserState, cuts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.dgs.sampling import SampledNeighbours
    from offramp.dgs.settings import DgsSettings
    from offramp.dgtp.runtime.job import Doubles
    from offramp.graph.csr import IntArray
    from offramp.graph.data import Graph


def train_alone(
    graph: Graph, settings: DgsSettings, samplers: Sequence[int], iterations: int, *, ring: bool = False
) -> tuple[Doubles, OptimiserState]:
    """Mean loss of each iteration, and the parameters at the end.

    Args:
        graph: the whole graph.
        settings: model, batches and draws.
        samplers: number of samplers of each worker.
        iterations: number of iterations.
        ring: sum gradients in the order of a ring all-reduce in place of a server's.
    """
    whole, number = LocalAdjacency(graph.indptr, graph.indices), Numbering(graph.vertices)
    train = np.flatnonzero(graph.train)
    labels = graph.labels[train].astype(np.int64)
    gradient = LossGradient(settings, graph.width, graph.classes, graph.degrees)
    adam, losses = FlatAdam(OptimiserState.initial(gradient.initial), settings.lr), []
    ends = np.cumsum([0, *samplers])

    def batch(sampler: int, iteration: int) -> SampledBatch:
        def draw(frontier: IntArray, hop: int) -> SampledNeighbours:
            stream = stream_of(settings.seed, sampler, iteration + 1, hop)
            return sampling.uniform(whole, frontier, frontier, settings.fanout[hop - 1], stream)

        places = seeds_of(settings, sampler, iteration, len(train))
        drawn = draw_batch(train[places], labels[places], settings.layers, number, draw)
        return drawn.with_features(select(graph.features, drawn.sources, None))

    for iteration in range(iterations):
        size = batch_size(settings, len(range(ends[-1])), iteration, len(train))
        loss, gradients = 0.0, []
        for begin, end in pairwise(ends):
            batches = [batch(sampler, iteration) for sampler in range(begin, end)]
            part, of_worker = gradient(adam.parameters.clone(), batches, iteration, size)
            loss += part
            gradients.append(of_worker)
        losses.append(loss / size)
        adam.step(_around(gradients) if ring and len(gradients) > 1 else _summed(gradients))
    return np.array(losses), adam.state()


def _summed(gradients: list[torch.Tensor]) -> torch.Tensor:
    total = torch.zeros_like(gradients[0])
    for gradient in gradients:
        total += gradient
    return total


def _around(gradients: list[torch.Tensor]) -> torch.Tensor:
    """Chunk c is summed from worker c on."""
    places, count = cuts(len(gradients[0]), len(gradients)), len(gradients)
    total = gradients[0].clone()
    for c in range(count):
        part = slice(places[c], places[c + 1])
        chunk = gradients[c][part].clone()
        for step in range(1, count):
            chunk = gradients[(c + step) % count][part] + chunk
        total[part] = chunk
    return total
