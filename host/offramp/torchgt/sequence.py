# SPDX-License-Identifier: Apache-2.0
"""Sequences of tokens in clustered order, with their attention patterns (specification 2.3, 2.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from offramp.graph.csr import IntArray, induced, rows_of
from offramp.graph.metis import metis_parts
from offramp.torchgt.conditions import AttentionConditions, check, check_components
from offramp.torchgt.encodings import DEGREES, near_pairs
from offramp.torchgt.pattern import BucketOf, Pattern, pair_keys, pattern_of
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.torchgt.settings import TorchGtSettings
    from offramp.torchgt.task import GraphTask


@sendable
@dataclass(frozen=True, eq=False)
class Sequence:
    """Vertices in clustered order, then a global token per graph, then padding to a multiple of the number of ranks.

    Everything but the patterns has a row for each token, of which a rank gets its contiguous part.

    Attributes:
        ids: id of each token for dropout: its vertex, or a number beyond all vertices.
        vertex: whether the token is a vertex.
        features, degrees, positions: those of vertices; zero elsewhere.
        targets: targets of vertices or of global tokens.
        masks: ``(3, tokens)``: training, validation, test; padding is in none.
        pattern: topology, self-loops and global tokens' pairs; padding attends to itself.
        real: number of tokens without padding.
        bounds: first token of each cluster, and the end of the last.
        bucket_of: gives the bias of any pair.
        all_pairs: full attention inside each graph, in a sequence of several graphs.
        conditions: C1 to C3, if the policy needs them.
    """

    ids: IntArray
    vertex: npt.NDArray[np.bool_]
    features: npt.NDArray[np.float32]
    degrees: IntArray
    positions: npt.NDArray[np.float32]
    targets: npt.NDArray[np.float64]
    masks: npt.NDArray[np.bool_]
    pattern: Pattern
    real: int
    bounds: IntArray
    bucket_of: BucketOf
    all_pairs: Pattern | None = None
    conditions: AttentionConditions | None = None

    @property
    def tokens(self) -> int:
        """Number of tokens, including padding."""
        return self.pattern.tokens

    def share(self, rank: int, ranks: int) -> Sequence:
        """The sequence with the rows of one rank's tokens only; patterns stay whole."""
        own = slice(self.tokens // ranks * rank, self.tokens // ranks * (rank + 1))
        names = ("ids", "vertex", "features", "degrees", "positions", "targets")
        return replace(self, **{name: getattr(self, name)[own] for name in names}, masks=self.masks[:, own])

    @property
    def pattern_bytes(self) -> int:
        """Bytes of the arrays that every rank needs whole."""
        return self.pattern.nbytes + self.bounds.nbytes + (self.all_pairs.nbytes if self.all_pairs else 0)


class Tokens:
    """One rank's share as tensors on its device."""

    def __init__(
        self, share: Sequence, dtype: torch.dtype, *, regression: bool, device: torch.device | None = None
    ) -> None:
        self.ids = share.ids
        self.vertex = torch.from_numpy(share.vertex).to(device)
        self.features = torch.from_numpy(share.features).to(device, dtype)
        self.degrees = torch.from_numpy(np.minimum(share.degrees, DEGREES - 1)).to(device)
        self.positions = torch.from_numpy(share.positions).to(device, dtype)
        self.targets = torch.from_numpy(share.targets).to(device, dtype if regression else torch.int64)
        self.masks = torch.from_numpy(share.masks).to(device)


def sequences(task: GraphTask, settings: TorchGtSettings) -> Iterator[Sequence]:
    """All sequences of an epoch in the order of the steps, the same in every epoch."""
    rng = np.random.default_rng(settings.seed)
    for members in _members(task, settings, rng):
        yield _SequenceBuilder(task, settings, np.sort(members)).build()


def _members(task: GraphTask, settings: TorchGtSettings, rng: np.random.Generator) -> Iterator[IntArray]:
    """Vertices of each sequence: S random ones, or those of some graphs of one part of the split."""
    if task.graph_of is None:
        length = min(settings.sequence or task.vertices, task.vertices)
        shuffled = rng.permutation(task.vertices) if length < task.vertices else np.arange(task.vertices)
        yield from (shuffled[first : first + length] for first in range(0, task.vertices, length))
        return
    for mask in task.masks:
        chosen = rng.permutation(np.flatnonzero(mask))
        for first in range(0, len(chosen), settings.batch):
            yield np.flatnonzero(np.isin(task.graph_of, chosen[first : first + settings.batch]))


class _SequenceBuilder:
    """Builds a sequence from its vertices."""

    def __init__(self, task: GraphTask, settings: TorchGtSettings, members: IntArray) -> None:
        self._task, self._settings = task, settings
        self._members = members
        graph_of = np.zeros(len(members), np.int64) if task.graph_of is None else task.graph_of[members]
        self._graphs, self._graph_of = np.unique(graph_of, return_inverse=True)
        self._count = len(members)
        has_global = settings.global_token or task.graph_of is not None
        self._real = self._count + (len(self._graphs) if has_global else 0)
        self._tokens = -(-self._real // settings.workers) * settings.workers
        self._order, self._bounds = self._clustered()
        self._members, self._graph_of = members[self._order], self._graph_of[self._order]

    @cached_property
    def _edges(self) -> tuple[IntArray, IntArray]:
        """CSR of the induced graph, in the order of ``members``, that is, before clustering."""
        return induced(self._task.indptr, self._task.indices, self._members)

    def _clustered(self) -> tuple[IntArray, IntArray]:
        clusters = min(self._settings.clusters, self._count)
        part = metis_parts(*self._edges, clusters, self._settings.seed)
        sizes = np.bincount(part, minlength=clusters)
        return np.argsort(part, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])

    def build(self) -> Sequence:
        """The sequence with its pattern."""
        settings = self._settings
        rows, columns = self._reordered()
        bucket_of = self._buckets(rows, columns)
        keys = [pair_keys(self._tokens, rows, columns), np.arange(self._tokens) * (self._tokens + 1)]
        if self._real > self._count:
            keys += self._both_ways(np.arange(self._count), self._count + self._graph_of)
        if settings.interleaves and settings.interleave == "constructed":
            keys += self._paths()
        pattern = pattern_of(self._tokens, np.concatenate(keys), bucket_of)
        wanted = settings.interleaves and settings.interleave in ("conditions", "constructed")
        return Sequence(
            **self._rows(),
            pattern=pattern,
            real=self._real,
            bounds=self._bounds,
            bucket_of=bucket_of,
            all_pairs=self._all_pairs(bucket_of) if len(self._graphs) > 1 else None,
            conditions=self._conditions(pattern) if wanted else None,
        )

    def _reordered(self) -> tuple[IntArray, IntArray]:
        """Both ends of all edges as tokens."""
        place = np.empty(self._count, np.int64)
        place[self._order] = np.arange(self._count)
        indptr, indices = self._edges
        return place[rows_of(indptr)], place[indices]

    def _buckets(self, rows: IntArray, columns: IntArray) -> BucketOf:
        if not self._settings.biased:
            return BucketOf(self._tokens, self._settings.distance, self._count, None)
        order = np.lexsort((columns, rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self._count))])
        near = near_pairs(indptr, columns[order], self._settings.distance, self._tokens)
        return BucketOf(self._tokens, self._settings.distance, self._count, near)

    def _both_ways(self, one: IntArray, other: IntArray) -> list[IntArray]:
        return [pair_keys(self._tokens, one, other), pair_keys(self._tokens, other, one)]

    def _paths(self) -> list[IntArray]:
        """A path through the vertices of each graph in their order, which satisfies C2 by construction."""
        by_graph = np.argsort(self._graph_of, kind="stable")
        one, other = by_graph[:-1], by_graph[1:]
        together = self._graph_of[one] == self._graph_of[other]
        return self._both_ways(one[together], other[together])

    def _graph_members(self) -> list[IntArray]:
        """Tokens of each graph, including its global token."""
        has_global = self._real > self._count
        return [
            np.concatenate([np.flatnonzero(self._graph_of == g), [self._count + g] if has_global else []]).astype(
                np.int64
            )
            for g in range(len(self._graphs))
        ]

    def _all_pairs(self, bucket_of: BucketOf) -> Pattern:
        keys = [np.arange(self._real, self._tokens) * (self._tokens + 1)]
        keys += [pair_keys(self._tokens, np.repeat(m, len(m)), np.tile(m, len(m))) for m in self._graph_members()]
        return pattern_of(self._tokens, np.concatenate(keys), bucket_of)

    def _conditions(self, pattern: Pattern) -> AttentionConditions:
        layers, seed = self._settings.size.layers, self._settings.seed
        members = self._graph_members()
        if len(members) == 1 and self._real == self._tokens:
            return check(pattern.indptr, pattern.indices, layers, seed)
        return check_components(pattern.indptr, pattern.indices, members, layers, seed)

    def _rows(self) -> dict[str, Any]:
        task, members = self._task, self._members
        beyond = np.arange(self._tokens - self._count)
        ids = np.concatenate([members, task.vertices + beyond])
        if task.graph_of is not None:  # so that a graph's token has the same name in every sequence
            ids[self._count : self._real] = task.vertices + self._graphs
        targets, masks = np.zeros(self._tokens), np.zeros((3, self._tokens), np.bool_)
        labelled = slice(0, self._count) if task.graph_of is None else slice(self._count, self._real)
        names = members if task.graph_of is None else self._graphs
        targets[labelled], masks[:, labelled] = task.targets[names], task.masks[:, names]
        return {
            "ids": ids,
            "vertex": np.arange(self._tokens) < self._count,
            "features": self._padded(task.features[members]),
            "degrees": self._padded(np.diff(task.indptr)[members]),
            "positions": self._padded(task.positions[members]),
            "targets": targets,
            "masks": masks,
        }

    def _padded(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([rows, np.zeros((self._tokens - len(rows), *rows.shape[1:]), rows.dtype)])
