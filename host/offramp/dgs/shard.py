# SPDX-License-Identifier: Apache-2.0
"""One worker's part of the graph for mini-batch training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.dgs.cost import halo
from offramp.dgs.masks import Masks
from offramp.dgs.sampling import LocalAdjacency
from offramp.dgs.settings import DgsSettings
from offramp.graph.csr import IntArray, distinct, entries_of
from offramp.models import make_model, model_widths
from offramp.train.checkpoint import TrainingSnapshot
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.models.base import Model


@sendable
@dataclass(frozen=True, eq=False)
class Shard:
    """One worker's part; who owns which vertex, and degrees, are known of the whole graph.

    Attributes:
        settings: settings of the run.
        worker: the worker that owns the shard.
        owner: ``(N,)`` int32 worker of each vertex.
        degree: ``(N,)`` int64 neighbours of each vertex.
        vertices: ``(n,)`` own ones, ascending.
        rows: their neighbours, by ids.
        everything: all rows, where the topology is replicated.
        features: ``(n, F)`` float32, dense or CSR.
        labels: ``(n,)``.
        train: ids of own training vertices, ascending.
        train_counts: ``(workers,)`` training vertices of every worker.
        classes: classes of the graph.
        halo: ``(h,)`` remote vertices within as many hops as there are layers, ascending.
        known_to: known to for each other worker the places in the halo of vertices that it may draw for this one.
        drawn_for: drawn for for each other worker the vertices that this one may draw for it.
        masks: masks to begin with.
        snapshot: checkpoint from which to resume, with this worker's own state.
        facts: facts about the run, for its checkpoints.
    """

    settings: DgsSettings
    worker: int
    owner: npt.NDArray[np.int32]
    degree: IntArray
    vertices: IntArray
    rows: LocalAdjacency
    everything: LocalAdjacency | None
    features: npt.NDArray[np.float32] | sp.csr_matrix
    labels: IntArray
    train: IntArray
    train_counts: IntArray
    classes: int
    halo: IntArray
    known_to: list[IntArray]
    drawn_for: list[IntArray]
    masks: Masks | None = None
    snapshot: TrainingSnapshot | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Features of a vertex."""
        return int(self.features.shape[1])

    def model(self) -> Model:
        """The run's model, with the weights that its seed makes: equal on every worker."""
        return make_model(self.settings, model_widths(self.settings, self.width, self.classes))

    @property
    def parameters(self) -> int:
        """Number of the model's weights."""
        return sum(weight.numel() for weight in self.model().parameters())

    @property
    def explains(self) -> bool:
        """Whether masks are made, and there are remote vertices to make them of."""
        return self.settings.explains and len(self.halo) > 0

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self.train_counts)

    def batch_sizes(self, step: int) -> IntArray:
        """``(workers,)`` vertices in each worker's batch of a step of an epoch, from 0; 0 if a worker has none left."""
        size = self.settings.batch
        return np.clip(self.train_counts - step * size, 0, size)

    @property
    def steps(self) -> int:
        """Batches of an epoch: as many as the worker with most training vertices needs."""
        return int(-(-self.train_counts.max() // self.settings.batch))


def split(
    graph: Graph, owner: npt.NDArray[np.int32], settings: DgsSettings, masks: list[Masks] | None = None
) -> list[Shard]:
    """Cut the graph into the shards of all workers, in rank order.

    Raises:
        OfframpError: masks to begin with that do not fit.
    """
    workers, whole = settings.workers, LocalAdjacency(graph.indptr, graph.indices)
    replicated = settings.topology == "replicated"
    train = [np.flatnonzero(graph.train & (owner == worker)) for worker in range(workers)]
    halos = [halo(graph, owner, worker, settings.layers) for worker in range(workers)]
    slices = [[_drawn(whole, owner, halos[of], of, at) for at in range(workers)] for of in range(workers)]
    shards = []
    for worker in range(workers):
        mine = np.flatnonzero(owner == worker)
        entries, counts = entries_of(whole.indptr, mine)
        if masks is not None:
            masks[worker].check(len(halos[worker]), graph.width)
        shards.append(
            Shard(
                settings=settings,
                worker=worker,
                owner=owner,
                degree=graph.degrees,
                vertices=mine,
                rows=LocalAdjacency(np.concatenate([[0], np.cumsum(counts)]), whole.indices[entries]),
                everything=whole if replicated else None,
                features=graph.features[mine],
                labels=graph.labels[mine],
                train=train[worker],
                train_counts=np.array([len(each) for each in train], np.int64),
                classes=graph.classes,
                halo=halos[worker],
                known_to=[np.searchsorted(halos[worker], ids) for ids in slices[worker]],
                drawn_for=[slices[of][worker] for of in range(workers)],
                masks=masks[worker] if masks is not None else None,
            )
        )
    return shards


def _drawn(graph: LocalAdjacency, owner: npt.NDArray[np.int32], halo_of: IntArray, of: int, at: int) -> IntArray:
    """Vertices of the halo of worker ``of`` among the neighbours of those that worker ``at`` owns."""
    if of == at:
        return np.empty(0, np.int64)
    entries, _ = entries_of(graph.indptr, halo_of[owner[halo_of] == at])
    near = distinct(graph.indices[entries])
    drawn: IntArray = near[(owner[near] != of) & np.isin(near, halo_of, assume_unique=True)]
    return drawn
