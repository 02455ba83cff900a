# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of sampled subgraphs with the factors that take their bias away (Zeng et al., GraphSAINT, ICLR 2020)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.gnn.batches import CACHE_BYTES, BatchLoader, only_type
from offramp.gnn.sampling import RowCache, VertexRequests, find

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.gnn.parts import Partition
    from offramp.graph.csr import IntArray

COUNTING: Final = 1 << 40
"""Steps from here on are samples that only count; those of training never get there."""


class GraphSAINTSampler(BatchLoader):
    """Subgraphs of the whole graph; each rank starts its own from its own vertices, and all edges between are in.

    A step is the samples of all ranks together. With ``sample_coverage``, batches have ``node_norm`` and ``edge_norm``:
    sums over ranks and steps of ``node_norm`` times a loss have the mean loss of all vertices for their mean, and
    messages times ``edge_norm`` the sum over all neighbours. They are estimated from samples made beforehand.

    Args:
        part: the rank's part of a graph of one type.
        batch_size: where a rank's sample starts: this many vertices, edges or walks.
        num_steps: batches of an epoch.
        sample_coverage: average number of samples that a vertex is in before training; 0 leaves the factors out.
        seed, fields, cache_bytes, prefetch: see :class:`~offramp.gnn.batches.BatchLoader`.
    """

    def __init__(
        self,
        part: Partition,
        batch_size: int,
        num_steps: int = 1,
        sample_coverage: int = 0,
        *,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefetch: int = 2,
    ) -> None:
        super().__init__(
            part,
            np.arange(num_steps),
            1,
            shuffle=False,
            seed=seed,
            fields=fields,
            cache_bytes=cache_bytes,
            prefetch=prefetch,
        )
        self._starts = batch_size
        self._norms = _Norms(part, self, sample_coverage) if sample_coverage else None

    @abstractmethod
    def _nodes(self, step: int) -> IntArray:
        """Vertices of the whole graph in this rank's sample, some of them twice."""

    def sample(self, step: int) -> tuple[IntArray, IntArray, IntArray]:
        """Vertices, edges between them in their numbers, and the edges' ids of a step's sample of this rank."""
        nodes = np.unique(self._nodes(step))
        return nodes, *self._sampler.between(nodes)

    def _batch(self, epoch: int, number: int) -> Any:
        sample = self.sample(epoch * len(self) + number)
        return self._data(*sample, **(self._norms.of(*sample) if self._norms else {}))

    def _random(self, count: int, below: int, step: int, more: int = 0) -> IntArray:
        """``(count,)`` numbers of this rank, none where there is nothing to choose from."""
        return self._words(count if below else 0, step, self._part.comm.rank, more) % max(1, below)


class GraphSAINTNodeSampler(GraphSAINTSampler):
    """Vertices in proportion to their in-degree."""

    def _nodes(self, step: int) -> IntArray:
        _, edges = only_type(self._part)
        targets = edges.index[1].numpy()[self._random(self._starts, len(edges.ids), step)]
        nodes: IntArray = self._part.n_id.numpy()[targets]
        return nodes


class GraphSAINTEdgeSampler(GraphSAINTSampler):
    """Both ends of edges, which are drawn in proportion to the sum of their ends' inverse in-degrees."""

    def _nodes(self, step: int) -> IntArray:
        _, edges = only_type(self._part)
        assert edges.halo.degree is not None
        degree = edges.halo.degree.clamp(min=1).double()
        weight = (1 / degree[edges.index[0]] + 1 / degree[edges.index[1]]).numpy()
        ladder = np.cumsum(weight)
        fraction = self._random(self._starts, len(weight) and 1 << 53, step) / 2.0**53
        chosen = edges.index[:, np.searchsorted(ladder, fraction * ladder[-1:], side="right")]
        ends: IntArray = torch.cat([edges.source_ids[chosen[0]], edges.target.ids[chosen[1]]]).numpy()
        return ends


class GraphSAINTRandomWalkSampler(GraphSAINTSampler):
    """Random walks from own vertices, against the direction of edges, through the vertices of all ranks.

    Args:
        part: the rank's part of a graph of one type.
        batch_size: walks of a rank.
        walk_length: steps of each.
        num_steps, sample_coverage, seed, fields, cache_bytes, prefetch: see :class:`GraphSAINTSampler`.
    """

    def __init__(
        self,
        part: Partition,
        batch_size: int,
        walk_length: int,
        num_steps: int = 1,
        sample_coverage: int = 0,
        *,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefetch: int = 2,
    ) -> None:
        self._length = walk_length
        super().__init__(
            part,
            batch_size,
            num_steps,
            sample_coverage,
            seed=seed,
            fields=fields,
            cache_bytes=cache_bytes,
            prefetch=prefetch,
        )

    def _nodes(self, step: int) -> IntArray:
        own = self._part.n_id.numpy()
        met = [own[self._random(self._starts, len(own), step)]]
        for number in range(self._length):
            words = self._words(len(met[-1]), step, self._part.comm.rank, number + 1)
            met.append(self._sampler.walk(met[-1], words))
        return np.concatenate(met)


class _Norms:
    """Counts of the samples that vertices and edges were in, kept by their owners.

    Attributes:
        steps: samples that were counted, those from :data:`COUNTING` on.
    """

    def __init__(self, part: Partition, sampler: GraphSAINTSampler, coverage: int) -> None:
        vertices, edges = only_type(part)
        self._comm, self._owner = sampler._comm, vertices.owner.numpy()
        self._local, self._edges = vertices.local, np.argsort(edges.ids.numpy(), kind="stable")
        self._edge_ids = edges.ids.numpy()[self._edges]
        nodes_seen, edges_seen = np.zeros(vertices.owned), np.zeros(len(self._edge_ids))
        self.steps = met = 0
        total = len(vertices.owner)
        while met < coverage * total:
            nodes, pairs, ids = sampler.sample(COUNTING + self.steps)
            np.add.at(nodes_seen, self._local[VertexRequests(self._comm, self._owner, nodes).asked], 1)
            np.add.at(edges_seen, self._own_edges(nodes[pairs[1]], ids)[1], 1)
            count = torch.tensor(float(len(nodes)), dtype=torch.float64)
            met += int(self._comm.sum(count))
            self.steps += 1
            if not met:
                break  # samples of nothing: there are no edges, or no vertices
        seen = np.maximum(nodes_seen, 0.1)  # what was never met may yet be, and then weighs much, as in PyG
        targets = edges.index[1].numpy()[self._edges]
        self._node_norm = RowCache(part, self._comm, torch.from_numpy(self.steps / seen / total).float(), 0)
        self._edge_norm = torch.from_numpy(np.where(edges_seen > 0, seen[targets] / np.maximum(edges_seen, 1), 0.1))

    def of(self, nodes: IntArray, pairs: IntArray, ids: IntArray) -> dict[str, Any]:
        """The factors of a sample."""
        requests, rows = self._own_edges(nodes[pairs[1]], ids)
        edge_norm = requests.answer(self._edge_norm[torch.from_numpy(rows)].float())
        return {"node_norm": self._node_norm.rows(nodes), "edge_norm": edge_norm}

    def _own_edges(self, targets: IntArray, ids: npt.NDArray[np.int64]) -> tuple[VertexRequests, IntArray]:
        requests = VertexRequests(self._comm, self._owner, targets)
        return requests, find(self._edge_ids, requests.send(ids).numpy())[0]
