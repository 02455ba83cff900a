# SPDX-License-Identifier: Apache-2.0
"""Which neighbours are drawn for whom: one rule for each sampler (specification sections 7 and 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from offramp.dgs import picks
from offramp.dgs.importance import column_norms, draw
from offramp.dgs.picks import ALL, Picks, Rows, stream_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.dgs.post import Post
    from offramp.dgs.share import Share
    from offramp.graph.csr import IntArray


class Rule(Protocol):
    """Draws neighbours of rows that are here."""

    def prepare(self, post: Post) -> None:
        """Once, before the first batch."""

    def begin(self, frontier: IntArray, batch: int, layer: int, post: Post) -> None:
        """Before the draws of a layer, on every worker; ``frontier`` are the vertices that this one draws for."""

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:
        """Neighbours of ``rows``, which are the vertices ``ids``, for a worker's batch and layer (from 1)."""

    def weights(self, neighbours: IntArray) -> npt.NDArray[np.float64] | None:
        """What drawn neighbours count for beside each other; None: all alike."""


class Uniform:
    """Random: each neighbour alike."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self.settings = share.settings

    def prepare(self, post: Post) -> None:
        """Nothing to agree on."""

    def begin(self, frontier: IntArray, batch: int, layer: int, post: Post) -> None:
        """Nothing to agree on."""

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:
        """``fanout`` of each."""
        fanout = self.settings.fanout[layer - 1]
        return picks.uniform(graph, rows, ids, fanout, self.stream(requester, batch, layer))

    def stream(self, requester: int, batch: int, layer: int) -> int:
        """Where the random numbers of a draw start."""
        return stream_of(self.settings.seed, requester, batch, layer)

    def weights(self, neighbours: IntArray) -> npt.NDArray[np.float64] | None:  # noqa: ARG002
        """All alike."""
        return None


class Everything(Uniform):
    """Full: all neighbours."""

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:  # noqa: ARG002
        """All of each."""
        return picks.every(graph, rows)


class Inside(Uniform):
    """ClusterGCN: all neighbours of the requester's own part, none else."""

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:  # noqa: ARG002
        """Those that the requester owns."""
        return _only(picks.every(graph, rows), self.share.owner == requester)


class Masked(Uniform):
    """DGS: remote neighbours by the requester's node mask, local ones by 1; uniform until there are masks."""

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self._weights: dict[int, npt.NDArray[np.float64]] = {}

    def learn(self, requester: int, ids: IntArray, weights: npt.NDArray[np.float32]) -> None:
        """The weights that ``requester`` gives the vertices ``ids``."""
        table = self._weights.setdefault(requester, np.ones(len(self.share.owner)))
        table[ids] = weights

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:
        """By weight, with epsilon."""
        table = self._weights.get(requester)
        if table is None:
            return super().pick(graph, rows, ids, requester, batch, layer)
        fanout, stream = self.settings.fanout[layer - 1], self.stream(requester, batch, layer)
        shift = shift_of(self.settings.epsilon, fanout)
        return picks.weighted(graph, rows, ids, fanout, stream, table, self.share.owner, requester, shift)


def shift_of(epsilon: float, fanout: int) -> int:
    """Draws that epsilon moves from local to remote neighbours."""
    return 0 if fanout == ALL else round(epsilon * fanout)


class FastGcn(Uniform):
    """FastGCN: by q of the whole graph, summed up once (specification section 9)."""

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self._q = np.ones(len(share.owner))

    def prepare(self, post: Post) -> None:
        """Sum q over workers."""
        self._q = _summed(self.share, np.arange(len(self.share.vertices)), post)

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:
        """By q."""
        fanout, stream = self.settings.fanout[layer - 1], self.stream(requester, batch, layer)
        return picks.weighted(graph, rows, ids, fanout, stream, self._q, self.share.owner, requester)


class Ladies(Uniform):
    """LADIES: each layer a set of vertices for all workers, by the rows of the layer before.

    The probabilities of a layer are summed over workers for every batch. A layer has as many vertices as the fan-out
    times the vertices of all workers' batches.
    """

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self._norms = np.ones(len(share.owner))
        self._chosen = np.zeros(len(share.owner), bool)
        self._targets = self._chosen

    def begin(self, frontier: IntArray, batch: int, layer: int, post: Post) -> None:
        """Sum the probabilities, draw the layer."""
        share = self.share
        if layer == 1:
            self._targets = np.zeros_like(self._chosen)
            self._targets[frontier] = True
        else:
            self._targets |= self._chosen
        rows = np.flatnonzero(self._targets[share.vertices])
        self._norms = _summed(share, rows, post)
        self._chosen = np.zeros_like(self._targets)
        fanout = self.settings.fanout[layer - 1]
        step = (batch - 1) % share.steps
        size = len(self._norms) if fanout == ALL else fanout * int(share.batch_sizes(step).sum())
        self._chosen[draw(self._norms, size, self.stream(share.workers, batch, layer))] = True

    def pick(self, graph: Rows, rows: IntArray, ids: IntArray, requester: int, batch: int, layer: int) -> Picks:  # noqa: ARG002
        """Those of the layer's set."""
        return _only(picks.every(graph, rows), self._chosen)

    def weights(self, neighbours: IntArray) -> npt.NDArray[np.float64] | None:
        """The less likely a vertex was, the more it counts."""
        return 1 / self._norms[neighbours]


def make_rule(share: Share) -> Rule:
    """The rule of the run's sampler."""
    kinds = {
        "dgs": Masked,
        "random": Uniform,
        "fastgcn": FastGcn,
        "ladies": Ladies,
        "clustergcn": Inside,
        "full": Everything,
    }
    return kinds[share.settings.sampler](share)


def _only(all_of: Picks, allowed: npt.NDArray[np.bool_]) -> Picks:
    keep = allowed[all_of.neighbours]
    before = np.concatenate([[0], np.cumsum(keep)])
    ends = np.cumsum(all_of.counts)
    return Picks(before[ends] - before[ends - all_of.counts], all_of.neighbours[keep])


def _summed(share: Share, rows: IntArray, post: Post) -> npt.NDArray[np.float64]:
    """Squared column norms over the given own rows of all workers, as float32 on the wire."""
    import torch

    mine = column_norms(share.rows, rows, share.vertices[rows], share.degree)
    summed = post.sum(torch.from_numpy(mine.astype(np.float32)), "synchronisation")
    found: npt.NDArray[np.float64] = summed.numpy().astype(np.float64)
    return found
