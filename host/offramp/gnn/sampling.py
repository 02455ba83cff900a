# SPDX-License-Identifier: Apache-2.0
"""Neighbours drawn for mini-batches where they are owned, and rows of vertices fetched through a cache.

All ranks take each step together: a rank without vertices asks for none and answers the others.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.dgs.sampling import ALL, LocalAdjacency, stream_of, uniform

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.gnn.comm import Alone, Comm
    from offramp.gnn.parts import Partition
    from offramp.graph.csr import IntArray


@dataclass(frozen=True)
class Drawn:
    """Neighbours of some vertices: ``counts`` of each, their ids, and the edges' numbers in the whole graph."""

    counts: IntArray
    sources: IntArray
    edges: IntArray


class Requests:
    """Vertices that are asked of their owners; answers come back in the order in which vertices were asked.

    Args:
        comm: the ranks.
        owner: rank of each vertex of the whole graph.
        ids: ``(r,)`` vertices.
    """

    def __init__(self, comm: Comm | Alone, owner: npt.NDArray[np.int32], ids: IntArray) -> None:
        self._comm = comm
        of = owner[ids]
        self.order = np.argsort(of, kind="stable")
        self._sent = np.bincount(of, minlength=comm.size).tolist()
        ones = [1] * comm.size
        self._came = comm.all_to_all(torch.tensor(self._sent), ones, ones).tolist()
        asked = comm.all_to_all(torch.from_numpy(ids[self.order]), self._sent, self._came)
        self.asked: IntArray = asked.numpy()

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


class Sampler:
    """Draws neighbours of vertices at their owners, without replacement, by DGS's machine code.

    A vertex's draw is a function of seed, batch, hop and vertex: the number of ranks does not change it, if edges into
    each vertex are in the same order.
    """

    def __init__(self, part: Partition, comm: Comm | Alone, seed: int) -> None:
        edges, vertices = part.edges["", "edge_index", ""], part.vertices[""]
        self._comm, self._seed = comm, seed
        self._ids: IntArray = vertices.ids.numpy()
        self.owner: npt.NDArray[np.int32] = vertices.owner.numpy()
        targets = edges.index[1].numpy()
        order = np.argsort(targets, kind="stable")
        counts = np.bincount(targets, minlength=len(self._ids))
        self._sources: IntArray = edges.source_ids.numpy()[edges.index[0].numpy()[order]]
        self._edges: IntArray = edges.ids.numpy()[order]
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._places = LocalAdjacency(indptr, np.arange(len(targets)))

    def draw(self, ids: IntArray, fanout: int, batch: int, hop: int) -> Drawn:
        """``fanout`` neighbours of each vertex, all where there are no more or ``fanout`` is -1."""
        requests = Requests(self._comm, self.owner, ids)
        rows = np.searchsorted(self._ids, requests.asked)
        stream = stream_of(self._seed, 0, batch, hop)
        found = uniform(self._places, rows, requests.asked, ALL if fanout < 0 else fanout, stream)
        places = found.neighbours
        values = np.stack([self._sources[places], self._edges[places]], axis=1)
        counts, came = requests.answer_lists(found.counts, values)
        return Drawn(counts, came[:, 0], came[:, 1])


class RowCache:
    """Rows of a field of vertices, own ones from the part, others from their owners, of which some are kept.

    Kept are those of the halo that most edges need, as many as ``most_bytes`` take; they are fetched once.

    Attributes:
        fetched, kept: rows of others that travelled and that did not have to.
    """

    def __init__(self, part: Partition, comm: Comm | Alone, values: torch.Tensor, most_bytes: int) -> None:
        vertices, edges = part.vertices[""], part.edges["", "edge_index", ""]
        self._comm, self._values = comm, values
        self._ids: IntArray = vertices.ids.numpy()
        self._owner: npt.NDArray[np.int32] = vertices.owner.numpy()
        self.fetched = self.kept = 0
        row_bytes = max(1, values[:1].numel() * values.element_size())
        source = edges.index[0].numpy()
        uses = np.bincount(source[source >= len(self._ids)] - len(self._ids), minlength=vertices.halo.rows)
        most = np.argsort(-uses, kind="stable")[: most_bytes // row_bytes]
        self._known: IntArray = np.sort(vertices.halo.ids.numpy()[most])
        self._cache = self._fetch(self._known)
        self.fetched = 0

    def rows(self, ids: IntArray) -> torch.Tensor:
        """``(r, …)`` rows of vertices of the whole graph; every rank calls this together."""
        out = self._values.new_empty((len(ids), *self._values.shape[1:]))
        own = self._owner[ids] == self._comm.rank
        at = np.minimum(np.searchsorted(self._known, ids), max(len(self._known) - 1, 0))
        cached = ~own & (self._known[at] == ids) if len(self._known) else np.zeros(len(ids), np.bool_)
        out[torch.from_numpy(own)] = self._values[torch.from_numpy(np.searchsorted(self._ids, ids[own]))]
        out[torch.from_numpy(cached)] = self._cache[torch.from_numpy(at[cached])]
        far = ~own & ~cached
        out[torch.from_numpy(far)] = self._fetch(ids[far])
        self.kept += int(cached.sum())
        return out

    def _fetch(self, ids: IntArray) -> torch.Tensor:
        requests = Requests(self._comm, self._owner, ids)
        rows = torch.from_numpy(np.searchsorted(self._ids, requests.asked))
        self.fetched += len(ids)
        return requests.answer(self._values[rows])
