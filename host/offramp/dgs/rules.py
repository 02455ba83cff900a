# SPDX-License-Identifier: Apache-2.0
"""The neighbours drawn for each requester: one rule for each sampler (specification sections 7 and 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from offramp.dgs import sampling
from offramp.dgs.importance import column_norms, draw
from offramp.dgs.sampling import ALL, LocalAdjacency, SampledNeighbours, stream_of
from offramp_base.registry import Registry

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.dgs.messenger import Messenger
    from offramp.dgs.shard import Shard
    from offramp.graph.csr import IntArray


class DrawRequest(NamedTuple):
    """Vertices whose neighbours are drawn.

    Attributes:
        graph: adjacency that the rows are of.
        rows: ``(r,)`` rows of it.
        ids: ``(r,)`` vertex ids.
        requester: worker that draws.
        batch: its number, from 1.
        layer: hop from the batch's vertices, from 1.
    """

    graph: LocalAdjacency
    rows: IntArray
    ids: IntArray
    requester: int
    batch: int
    layer: int


SAMPLERS: Final[Registry[type[Rule]]] = Registry("sampler", "offramp.samplers")


class Rule:
    """Draws neighbours of rows that are here: each neighbour alike, unless a subclass says otherwise.

    Attributes:
        masked: whether draws follow masks from explanations.
        complete: whether every neighbour is drawn with all of its features.
        weighs: whether drawn neighbours count differently, which attention cannot use.
    """

    masked: ClassVar[bool] = False
    complete: ClassVar[bool] = False
    weighs: ClassVar[bool] = False

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.settings = shard.settings

    def prepare(self, messenger: Messenger) -> None:
        """Agree with the other workers once, before the first batch."""

    def begin(self, frontier: IntArray, batch: int, layer: int, messenger: Messenger) -> None:
        """Agree before the draws of a layer; ``frontier`` are the vertices that this worker draws for."""

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        """``fanout`` neighbours of each row."""
        fanout = self.settings.fanout[request.layer - 1]
        return sampling.uniform(request.graph, request.rows, request.ids, fanout, self.stream(*request[3:]))

    def weighted(
        self, request: DrawRequest, weights: npt.NDArray[np.float64], remote_shift: int = 0
    ) -> SampledNeighbours:
        """``fanout`` neighbours of each row in proportion to ``(n,)`` weights of all vertices.

        ``remote_shift`` more of them are of other workers than the weights alone would give.
        """
        fanout, stream = self.settings.fanout[request.layer - 1], self.stream(*request[3:])
        of_rows, requester = request[:3], request.requester
        return sampling.weighted(*of_rows, fanout, stream, weights, self.shard.owner, requester, remote_shift)

    def stream(self, requester: int, batch: int, layer: int) -> int:
        """The word at which the random numbers of a draw start."""
        return stream_of(self.settings.seed, requester, batch, layer)

    def weights(self, neighbours: IntArray) -> npt.NDArray[np.float64] | None:  # noqa: ARG002
        """Relative weights of drawn neighbours in the aggregation; None: all are equal."""
        return None


@SAMPLERS.register("random")
class Uniform(Rule):
    """Random: all neighbours are equally likely."""


@SAMPLERS.register("full")
class Everything(Rule):
    """Full: every neighbour of every vertex is drawn."""

    complete = True

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        """All neighbours of each row."""
        return sampling.every(request.graph, request.rows)


@SAMPLERS.register("clustergcn")
class Inside(Rule):
    """ClusterGCN: all neighbours of the requester's own part, none else."""

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        """All neighbours that the requester owns."""
        return _only(request, self.shard.owner == request.requester)


@SAMPLERS.register("dgs")
class Masked(Rule):
    """DGS: remote neighbours by the requester's node mask, local ones by 1; uniform until there are masks."""

    masked = True

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._weights: dict[int, npt.NDArray[np.float64]] = {}

    def learn(self, requester: int, ids: IntArray, weights: npt.NDArray[np.float32]) -> None:
        """The weights that ``requester`` gives the vertices ``ids``."""
        table = self._weights.setdefault(requester, np.ones(len(self.shard.owner)))
        table[ids] = weights

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        """Neighbours in proportion to the masks, epsilon of them moved to other workers."""
        table = self._weights.get(request.requester)
        if table is None:
            return super().pick(request)
        fanout = self.settings.fanout[request.layer - 1]
        return self.weighted(request, table, shift_of(self.settings.epsilon, fanout))


@SAMPLERS.register("fastgcn")
class FastGcn(Rule):
    """FastGCN: by q of the whole graph, summed up once (specification section 9)."""

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._q = np.ones(len(shard.owner))

    def prepare(self, messenger: Messenger) -> None:
        """Sum q over workers."""
        self._q = _summed(self.shard, np.arange(len(self.shard.vertices)), messenger)

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        """Neighbours in proportion to q."""
        return self.weighted(request, self._q)


@SAMPLERS.register("ladies")
class Ladies(Rule):
    """LADIES: each layer a set of vertices for all workers, by the rows of the layer before.

    The probabilities of a layer are summed over workers for every batch. A layer has as many vertices as the fan-out
    times the vertices of all workers' batches.
    """

    weighs = True

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._norms = np.ones(len(shard.owner))
        self._chosen = np.zeros(len(shard.owner), bool)
        self._targets = self._chosen

    def begin(self, frontier: IntArray, batch: int, layer: int, messenger: Messenger) -> None:
        """Sum the probabilities, draw the layer."""
        shard = self.shard
        if layer == 1:
            self._targets = np.zeros_like(self._chosen)
            self._targets[frontier] = True
        else:
            self._targets |= self._chosen
        rows = np.flatnonzero(self._targets[shard.vertices])
        self._norms = _summed(shard, rows, messenger)
        self._chosen = np.zeros_like(self._targets)
        fanout = self.settings.fanout[layer - 1]
        step = (batch - 1) % shard.steps
        size = len(self._norms) if fanout == ALL else fanout * int(shard.batch_sizes(step).sum())
        self._chosen[draw(self._norms, size, self.stream(shard.workers, batch, layer))] = True

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        """All neighbours in the layer's set."""
        return _only(request, self._chosen)

    def weights(self, neighbours: IntArray) -> npt.NDArray[np.float64] | None:
        """The less likely a vertex was, the more it counts."""
        return 1 / self._norms[neighbours]


def _only(request: DrawRequest, allowed: npt.NDArray[np.bool_]) -> SampledNeighbours:
    """All neighbours of each row that are among the ``allowed`` vertices, ``(n,)``."""
    all_of = sampling.every(request.graph, request.rows)
    keep = allowed[all_of.neighbours]
    before = np.concatenate([[0], np.cumsum(keep)])
    ends = np.cumsum(all_of.counts)
    return SampledNeighbours(before[ends] - before[ends - all_of.counts], all_of.neighbours[keep])


def _summed(shard: Shard, rows: IntArray, messenger: Messenger) -> npt.NDArray[np.float64]:
    """Squared column norms over the given own rows of all workers, as float32 on the wire."""
    import torch

    mine = column_norms(shard.rows, rows, shard.vertices[rows], shard.degree)
    summed = messenger.sum(torch.from_numpy(mine.astype(np.float32)), "synchronisation")
    sums: npt.NDArray[np.float64] = summed.numpy().astype(np.float64)
    return sums


def shift_of(epsilon: float, fanout: int) -> int:
    """Draws that epsilon moves from local to remote neighbours."""
    return 0 if fanout == ALL else round(epsilon * fanout)
