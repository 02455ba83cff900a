# SPDX-License-Identifier: Apache-2.0
"""One rank's part of a graph: its vertices, the edges whose targets they are, and the halo of those edges' sources.

Vertices of a type are numbered from 0: own ones first, ascending by their ids in the whole graph, then the halo by
owner. A graph of one type of vertices has the type ``""``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.gnn.comm import Alone, Comm, open_comm
from offramp.gnn.halo import RankHalo
from offramp.gnn.row_layout import RowLayout, VertexLayout
from offramp.gnn.tags import PAIRS, Tag, mark
from offramp.gnn.whole import EdgeType, WholeGraph, read_whole
from offramp.graph.csr import distinct
from offramp.graph.partition import partition_ends
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch.distributed as dist

HOMOGENEOUS: Final = ""
_EDGES_BOUND: Final = 1 << 40
"""More edges than a graph has."""


@dataclass(eq=False)
class VertexSet:
    """One rank's vertices of a type.

    Attributes:
        name: the type.
        ids: ``(n,)`` vertices of the whole graph, ascending.
        owner: ``(N,)`` rank of each vertex of the whole graph.
        halo: rows of others that the edges need.
        data: tensors with one row for each own vertex, by name.
        files: the arrays behind those of ``data`` that are mapped from files.
    """

    name: str
    ids: torch.Tensor
    owner: torch.Tensor
    halo: RankHalo
    data: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def local(self) -> npt.NDArray[np.int32]:
        """``(N,)`` local number of each own vertex of the whole graph, -1 of others."""
        numbers = np.full(len(self.owner), -1, np.int32)
        numbers[self.ids.numpy()] = np.arange(self.owned, dtype=np.int32)
        return numbers

    @cached_property
    def layout(self) -> VertexLayout:
        """The own vertices among those of all ranks."""
        return VertexLayout(self.halo.comm, self.ids, self.owner)

    @property
    def owned(self) -> int:
        """Own vertices."""
        return self.halo.owned  # not the length of the ids, which is the whole graph's while a model runs

    @property
    def all_ids(self) -> torch.Tensor:
        """``(n + h,)`` vertices of the whole graph, own ones first."""
        return torch.cat([self.ids, self.halo.ids])


@dataclass(eq=False)
class EdgeSet:
    """One rank's edges of a type: those whose targets it owns.

    Attributes:
        type: its name; ``("", name, "")`` in a graph of one type.
        source, target: vertices at the ends.
        halo: source of the rows of sources; their numbers count from ``source.owned``.
        index: ``(2, E)`` local numbers.
        ids: ``(E,)`` edges of the whole graph.
        data: tensors with one row for each edge, by name.
    """

    type: EdgeType
    source: VertexSet
    target: VertexSet
    halo: RankHalo
    index: torch.Tensor
    ids: torch.Tensor
    data: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mark(self.index, Tag(PAIRS, self, 1))

    @cached_property
    def layout(self) -> RowLayout:
        """The own edges among those of all ranks."""
        return RowLayout(self.halo.comm, self.ids, _EDGES_BOUND)

    @cached_property
    def source_ids(self) -> torch.Tensor:
        """``(n + h,)`` vertices of the whole graph behind the numbers of sources."""
        return torch.cat([self.source.ids, self.halo.ids])


@dataclass(eq=False)
class Partition:
    """One rank's part of a graph.

    A graph of one type has its tensors as attributes, as PyG's ``Data`` has (``part.x``, ``part.edge_index``,
    ``part.train_mask``), other graphs dictionaries of them (``part.x_dict``, ``part.edge_index_dict``).

    Attributes:
        comm: the ranks.
        vertices: by type.
        edges: by type.
        shared: data of neither vertices nor edges, the same on all ranks.
    """

    comm: Comm | Alone
    vertices: dict[str, VertexSet]
    edges: dict[EdgeType, EdgeSet]
    shared: dict[str, Any] = field(default_factory=dict)

    @property
    def homogeneous(self) -> bool:
        """Whether there is one type of vertices, without a name."""
        return list(self.vertices) == [HOMOGENEOUS]

    @property
    def n_id(self) -> torch.Tensor:
        """``(n,)`` ids of the own vertices in a graph of one type."""
        return self.vertices[HOMOGENEOUS].ids

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "vertices" not in self.__dict__:
            raise AttributeError(name)
        if self.homogeneous:
            for each in self._sets():
                if name in each.data:
                    return each.data[name]
            for (_, relation, _), edges in self.edges.items():
                if relation == name:
                    return edges.index
        elif name == "edge_index_dict":
            return {key: edges.index for key, edges in self.edges.items() if not key[1].endswith("label_index")}
        elif name.endswith("_dict"):
            sets: dict[Any, VertexSet | EdgeSet] = {**self.vertices, **self.edges}
            return {key: each.data[name[:-5]] for key, each in sets.items() if name[:-5] in each.data}
        if name in self.shared:
            return self.shared[name]
        raise AttributeError(f"the graph has no {name}")

    def __getitem__(self, key: str | EdgeType) -> VertexSet | EdgeSet:
        """Vertices or edges of a type."""
        return self.edges[key] if isinstance(key, tuple) else self.vertices[key]

    def _sets(self) -> list[VertexSet | EdgeSet]:
        return [*self.vertices.values(), *self.edges.values()]

    def to(self, device: torch.device | str) -> Partition:
        """Move everything to a device, in place."""
        for halo in {id(each.halo): each.halo for each in self._sets()}.values():
            halo.to(torch.device(device))
        for each in self._sets():
            each.data = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in each.data.items()}
        for edges in self.edges.values():
            edges.index = mark(edges.index.to(device), Tag(PAIRS, edges, 1))
        return self


def partition(
    data: Any,
    group: dist.ProcessGroup | None = None,
    *,
    owner: npt.ArrayLike | Mapping[str, npt.ArrayLike] | str = "auto",
    seed: int = 0,
) -> Partition:
    """This rank's part of a graph that every rank has whole; every rank calls this with the same arguments.

    Args:
        data: PyG's ``Data`` or ``HeteroData``, or any object with ``edge_index`` and tensors beside it.
        group: the ranks, by default those of the default process group, or this process alone.
        owner: rank of each vertex, by type where there are several; or a method of
            :func:`offramp.graph.partition.partition`.
        seed: seed of the partitioning method.

    Raises:
        OfframpError: fields that do not fit together, or an owner that is not a rank.
    """
    comm = open_comm(group)
    whole = read_whole(data)
    owners = _owners(whole, owner, comm.size, seed)
    own = {name: torch.from_numpy(np.flatnonzero(of == comm.rank)) for name, of in owners.items()}
    kept = {
        key: _own_edges(edges["edge_index"][1].numpy(), owners[key[2]], comm.rank) for key, edges in whole.edges.items()
    }
    vertices = {}
    for name, of in owners.items():
        sources = [whole.edges[key]["edge_index"][0][kept[key]].numpy() for key in whole.edges if key[0] == name]
        halo = make_halo(comm, own[name], of, np.concatenate([np.zeros(0, np.int64), *sources]))
        rows = {k: _rows(v, own[name]) for k, v in whole.vertices[name].items()}
        vertices[name] = VertexSet(name, own[name], torch.from_numpy(of), halo, rows)
    edges = {}
    for key, columns in whole.edges.items():
        pairs = columns["edge_index"][:, kept[key]]
        rows = {k: _rows(v, kept[key]) for k, v in columns.items() if k != "edge_index"}
        edges[key] = edge_set(key, vertices[key[0]], vertices[key[2]], pairs, kept[key], rows)
    count_degrees(vertices, edges)
    return Partition(comm, vertices, edges, whole.shared)


def _own_edges(targets: npt.NDArray[np.int64], owner: npt.NDArray[np.int64], rank: int) -> torch.Tensor:
    """Edges of a rank's targets, by target: what is summed lies together."""
    kept = np.flatnonzero(owner[targets] == rank)
    return torch.from_numpy(kept[np.argsort(targets[kept], kind="stable")])


def make_halo(
    comm: Comm | Alone, own: torch.Tensor, owner: npt.NDArray[np.int64], needed: npt.NDArray[np.int64]
) -> RankHalo:
    """The halo for vertices of the whole graph that this rank needs, its own among them."""
    remote = distinct(needed[owner[needed] != comm.rank])
    remote = remote[np.argsort(owner[remote], kind="stable")]
    counts = np.bincount(owner[remote], minlength=comm.size).tolist()
    return RankHalo.agree(comm, own, torch.from_numpy(remote), counts)


def edge_set(
    key: EdgeType,
    source: VertexSet,
    target: VertexSet,
    pairs: torch.Tensor,
    ids: torch.Tensor,
    data: dict[str, Any],
    halo: RankHalo | None = None,
) -> EdgeSet:
    """Edges between vertices of the whole graph in local numbers; their targets are owned here."""
    halo = halo or source.halo
    index = torch.stack([local_numbers(source, halo, pairs[0]), torch.searchsorted(target.ids, pairs[1])])
    return EdgeSet(key, source, target, halo, index, ids, data)


def local_numbers(vertices: VertexSet, halo: RankHalo, ids: torch.Tensor) -> torch.Tensor:
    """Local numbers of own vertices and those of a halo."""
    every = torch.cat([vertices.ids, halo.ids])
    order = torch.argsort(every)
    return order[torch.searchsorted(every, ids, sorter=order)] if len(every) else ids


def _rows(values: Any, rows: torch.Tensor) -> Any:
    return values[rows] if isinstance(values, torch.Tensor) else values


def count_degrees(vertices: dict[str, VertexSet], edges: dict[EdgeType, EdgeSet]) -> None:
    """Tell halos the in-degrees that codecs go by."""
    for name, of in vertices.items():
        degree = torch.zeros(of.owned, dtype=torch.int64)
        for key, each in edges.items():
            if key[2] == name:
                degree += torch.bincount(each.index[1], minlength=of.owned)
        of.halo.degree = torch.cat([degree, of.halo.start(degree)()])


def _owners(
    whole: WholeGraph, owner: npt.ArrayLike | Mapping[str, npt.ArrayLike] | str, size: int, seed: int
) -> dict[str, npt.NDArray[np.int64]]:
    if isinstance(owner, str):
        return _by_method(whole, owner, size, seed)
    given: Mapping[str, Any] = owner if isinstance(owner, Mapping) else {HOMOGENEOUS: owner}
    owners = {}
    for name, count in whole.counts.items():
        if name not in given:
            raise OfframpError(f"owner: expected ranks of the vertices {name!r}")
        of = np.asarray(given[name]).astype(np.int64)
        if of.shape != (count,) or (count and not 0 <= of.min() <= of.max() < size):
            raise OfframpError(f"owner: expected {count} ranks from 0 to {size - 1} for the vertices {name!r}")
        owners[name] = of
    return owners


def _by_method(whole: WholeGraph, method: str, size: int, seed: int) -> dict[str, npt.NDArray[np.int64]]:
    """Cut all types together: vertices of the types one after another, edges of all types."""
    starts = dict(zip(whole.counts, np.cumsum([0, *whole.counts.values()]).tolist(), strict=False))
    total = sum(whole.counts.values())
    ends = [
        np.stack([e["edge_index"][0].numpy() + starts[key[0]], e["edge_index"][1].numpy() + starts[key[2]]])
        for key, e in whole.edges.items()
    ]
    u, v = np.concatenate(ends, axis=1) if ends else np.zeros((2, 0), np.int64)

    owner = partition_ends(total, u, v, size, method, seed).astype(np.int64)
    return {name: owner[starts[name] : starts[name] + count] for name, count in whole.counts.items()}
