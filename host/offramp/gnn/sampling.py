# SPDX-License-Identifier: Apache-2.0
"""Neighbours drawn for mini-batches where they are owned, and rows of vertices fetched through a cache.

All ranks take each step together: a rank without vertices asks for none and answers the others.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.dgs.sampling import ALL, places, stream_of
from offramp.graph.source import forget
from offramp.graph.typed import ITS_EDGES, ONE_TYPE

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.gnn.comm import Alone, Comm
    from offramp.gnn.parts import Partition
    from offramp.gnn.whole import EdgeType
    from offramp.graph.csr import IntArray


_LARGE: Final = 1 << 30
"""Bytes of a file from which on the memory that holds its pages is given back."""
_PAGES: Final = 1 << 17
"""Rows that are read of such a file until then, of one page each at most."""


@dataclass(frozen=True)
class DrawnNeighbours:
    """Neighbours of some vertices: ``counts`` of each, their ids, and the edges' numbers in the whole graph."""

    counts: IntArray
    sources: IntArray
    edges: IntArray


class VertexRequests:
    """Vertices that are asked of their owners; answers come back in the order in which vertices were asked.

    Args:
        comm: the ranks.
        owner: rank of each vertex of the whole graph.
        ids: ``(r,)`` vertices.
    """

    def __init__(self, comm: Comm | Alone, owner: npt.NDArray[np.int32], ids: IntArray) -> None:
        self._comm = comm
        of = owner[ids]
        self.order = np.argsort(of.astype(np.uint16), kind="stable")  # sorted by radix, in a third of the time
        self._sent = np.bincount(of, minlength=comm.size).tolist()
        ones = [1] * comm.size
        self._came = comm.all_to_all(torch.tensor(self._sent), ones, ones).tolist()
        asked = comm.all_to_all(torch.from_numpy(ids[self.order]), self._sent, self._came)
        self.asked: IntArray = asked.numpy()

    def send(self, rows: npt.NDArray[Any]) -> torch.Tensor:
        """Exchange rows for the owners of the vertices asked for, one with each, for those of the other ranks."""
        return self._comm.all_to_all(torch.from_numpy(rows[self.order]), self._sent, self._came)

    def answer(self, rows: torch.Tensor) -> torch.Tensor:
        """One row for each vertex that this rank was asked for, against one for each that it asked for."""
        came = self._comm.all_to_all(rows, self._came, self._sent)
        out = torch.empty_like(came)
        out[torch.from_numpy(self.order)] = came
        return out

    def answer_lists(self, counts: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
        """Lists of ``counts`` rows of ``(total, k)`` values, one list for each vertex; counts and values of the own."""
        mine = self._comm.all_to_all(torch.from_numpy(counts), self._came, self._sent).numpy()
        ends = np.cumsum([0, *self._came])
        sums = np.concatenate([[0], np.cumsum(counts)])
        send = [int(sums[b] - sums[a]) for a, b in itertools.pairwise(ends)]
        starts = np.cumsum([0, *self._sent])
        totals = np.concatenate([[0], np.cumsum(mine)])
        take = [int(totals[b] - totals[a]) for a, b in itertools.pairwise(starts)]
        came = self._comm.all_to_all(torch.from_numpy(values), send, take).numpy()
        back = np.empty(len(mine), np.int64)
        back[self.order] = np.arange(len(mine))
        each = mine[back]
        begin = totals[:-1][back]
        where = np.repeat(begin - np.concatenate([[0], np.cumsum(each)[:-1]]), each) + np.arange(int(each.sum()))
        return each, came[where]


class NeighbourSampler:
    """Draws neighbours of vertices at their owners, without replacement, by DGS's machine code.

    Args:
        part: this rank's part of the graph.
        comm: the ranks.
        seed: seed of all draws.
        key: type of the edges.

    A vertex's draw is a function of seed, batch, hop and vertex: the number of ranks does not change it, if edges into
    each vertex are in the same order.
    """

    def __init__(self, part: Partition, comm: Comm | Alone, seed: int, key: EdgeType = ITS_EDGES) -> None:
        edges, vertices = part.edges[key], part.vertices[key[2]]
        self._comm, self._seed, self._relation = comm, seed, list(part.edges).index(key)
        self._local = vertices.local
        self.owner: npt.NDArray[np.int32] = vertices.owner.numpy()
        targets, owned = edges.index[1].numpy(), vertices.owned
        self._indptr: IntArray = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=owned))])
        self._known: IntArray = edges.source_ids.numpy()
        # Edges of a partition lie by target; what is the size of all edges would double its memory here.
        sorted_ = bool((targets[1:] >= targets[:-1]).all())
        order = slice(None) if sorted_ else np.argsort(targets, kind="stable")
        self._sources: IntArray = edges.index[0].numpy()[order]
        self._edges: IntArray = edges.ids.numpy()[order]

    def draw(self, ids: IntArray, fanout: int, batch: int, hop: int) -> DrawnNeighbours:
        """``fanout`` neighbours of each vertex, all where there are no more or ``fanout`` is -1."""
        requests = VertexRequests(self._comm, self.owner, ids)
        rows = self._local[requests.asked].astype(np.int64)
        stream = stream_of(self._seed, self._relation, batch, hop)
        drawn = places(self._indptr, rows, requests.asked, ALL if fanout < 0 else fanout, stream)
        at = drawn.neighbours
        values = np.stack([self._known[self._sources[at]], self._edges[at]], axis=1)
        counts, came = requests.answer_lists(drawn.counts, values)
        return DrawnNeighbours(counts, came[:, 0], came[:, 1])

    def walk(self, ids: IntArray, words: IntArray) -> IntArray:
        """A step of random walks against the edges: a neighbour of each vertex, itself where it has none.

        Args:
            ids: ``(w,)`` where the walks are.
            words: ``(w,)`` random numbers, not negative, each of which chooses a neighbour.
        """
        requests = VertexRequests(self._comm, self.owner, ids)
        came = requests.send(words).numpy()
        rows = self._local[requests.asked]
        begin, degree = self._indptr[rows], self._indptr[rows + 1] - self._indptr[rows]
        to = requests.asked.copy()
        some = degree > 0
        to[some] = self._known[self._sources[begin[some] + came[some] % degree[some]]]
        neighbours: IntArray = requests.answer(torch.from_numpy(to)).numpy()
        return neighbours

    def between(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """``(2, e)`` all edges between some vertices, in their numbers, by target; the edges' ids.

        Args:
            nodes: ``(n,)`` vertices of the whole graph, ascending, no one twice.
        """
        drawn = self.draw(nodes, -1, 0, 0)
        targets = np.repeat(np.arange(len(nodes)), drawn.counts)
        at, inside = find(nodes, drawn.sources)
        return np.stack([at[inside], targets[inside]]), drawn.edges[inside]


def find(known: IntArray, wanted: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Positions of ``wanted`` among ascending values, and a flag for each that is there."""
    at: IntArray = np.searchsorted(known, wanted)
    inside = at < len(known)
    inside[inside] = known[at[inside]] == wanted[inside]
    return at, inside


class RowCache:
    """Rows of a field of vertices, own ones from the part, others from their owners, of which some are kept.

    Kept are those of the halo that most edges need, as many as ``most_bytes`` take; they are fetched once.

    Args:
        part: this rank's part of the graph.
        comm: the ranks.
        values: ``(n, …)`` rows of the own vertices.
        most_bytes: size of the cache for rows of other ranks, in bytes.
        file: what ``values`` are mapped from. Memory that holds pages of a large one is given back now and then.
        name: type of the vertices.

    Attributes:
        fetched, kept: rows of others that travelled and that did not have to.
    """

    def __init__(
        self,
        part: Partition,
        comm: Comm | Alone,
        values: torch.Tensor,
        most_bytes: int,
        file: Any = None,
        name: str = ONE_TYPE,
    ) -> None:
        vertices = part.vertices[name]
        self._comm, self._values, self._touched = comm, values, 0
        self._file = file if file is not None and file.nbytes > _LARGE else None
        self._local = vertices.local
        self._owner: npt.NDArray[np.int32] = vertices.owner.numpy()
        self.fetched = self.kept = 0
        row_bytes = max(1, values[:1].numel() * values.element_size())
        uses = np.zeros(vertices.halo.rows, np.int64)
        for key, edges in part.edges.items():
            if key[0] == name and edges.halo is vertices.halo:
                source = edges.index[0].numpy()
                uses += np.bincount(source[source >= vertices.owned] - vertices.owned, minlength=len(uses))
        most = np.argsort(-uses, kind="stable")[: most_bytes // row_bytes]
        self._known: IntArray = np.sort(vertices.halo.ids.numpy()[most])
        self._cache = self._fetch(self._known)
        self.fetched = 0

    def rows(self, ids: IntArray) -> torch.Tensor:
        """``(r, …)`` rows of vertices of the whole graph; every rank calls this together."""
        out = self._values.new_empty((len(ids), *self._values.shape[1:]))
        own = self._owner[ids] == self._comm.rank
        at, known = find(self._known, ids)
        cached = ~own & known
        out[torch.from_numpy(own)] = self._own(ids[own])
        out[torch.from_numpy(cached)] = self._cache[torch.from_numpy(at[cached])]
        far = ~own & ~cached
        out[torch.from_numpy(far)] = self._fetch(ids[far])
        self.kept += int(cached.sum())
        return out

    def _fetch(self, ids: IntArray) -> torch.Tensor:
        requests = VertexRequests(self._comm, self._owner, ids)
        self.fetched += len(ids)
        return requests.answer(self._own(requests.asked))

    def _own(self, ids: IntArray) -> torch.Tensor:
        self._touched += len(ids)
        if self._touched > _PAGES:
            self._touched = 0
            forget(self._file)
        return self._values[torch.from_numpy(self._local[ids].astype(np.int64))]
