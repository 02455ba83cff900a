# SPDX-License-Identifier: Apache-2.0
"""The common base of mini-batch loaders: order, fields of vertices, batches that a thread makes ahead of time."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import torch
import torch.distributed as dist

from offramp.dgs.sampling import Numbering
from offramp.gnn.comm import Alone, Comm
from offramp.gnn.sampling import NeighbourSampler, RowCache
from offramp.graph.typed import ITS_EDGES, ONE_TYPE
from offramp.splitmix import mix, mix_word
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.hops import DrawnNeighbourhood
    from offramp.gnn.parts import EdgeSet, Partition, VertexSet
    from offramp.gnn.whole import EdgeType
    from offramp.graph.csr import IntArray

CACHE_BYTES: Final = 256 << 20
"""Bytes of others' rows that a loader keeps of each field by default."""


class BatchLoader(ABC):
    """Batches of a rank's part of a graph; all ranks make as many as the one with most.

    A batch is PyG's ``Data``, or an object like it where PyG is missing. Those of two epochs differ, those of the same
    seed and epoch do not.

    Args:
        part: the rank's part of a graph of one type.
        inputs: ``(i,)`` what batches are made of, in this rank's numbers.
        batch_size: number of inputs of a batch.
        shuffle: a new order in each epoch.
        seed: seed of the order and of all draws.
        fields: fields of vertices that batches have; by default all of them.
        cache_bytes: rows of others that are kept, for each field.
        prefetch: batches that a thread makes ahead; 0 makes them in this one.

    Attributes:
        takes_types: whether the graph may have several types.
        caches: rows of fields of vertices by the field's name, in a graph of several types by type and name.

    Raises:
        OfframpError: a graph of several types, an unknown field, or a batch of nothing.
    """

    takes_types: ClassVar[bool] = False

    def __init__(
        self,
        part: Partition,
        inputs: IntArray,
        batch_size: int,
        *,
        shuffle: bool,
        seed: int,
        fields: Sequence[str] | None,
        cache_bytes: int,
        prefetch: int,
    ) -> None:
        kind = type(self).__name__
        if not self.takes_types:
            only_type(part)
        if batch_size < 1:
            raise OfframpError(f"{kind}: batch_size {batch_size}: expected at least 1")
        tensors = {
            name: [k for k, v in of.data.items() if isinstance(v, torch.Tensor)] for name, of in part.vertices.items()
        }
        unknown = [field for field in fields or () if not any(field in names for names in tensors.values())]
        if unknown:
            raise OfframpError(f"{kind}: the graph has no {unknown[0]}")
        self._part, self._inputs, self._size = part, inputs, batch_size
        self._order = -1, inputs
        self._comm = _channel(part.comm)
        self._seed, self._shuffle, self._prefetch = seed, shuffle, prefetch
        self._samplers = {
            key: NeighbourSampler(part, self._comm, seed, key)
            for key in part.edges
            if not key[1].endswith("edge_label_index")
        }
        self.caches = {
            field if part.homogeneous else (name, field): self._cache(name, field, cache_bytes)
            for name, names in tensors.items()
            for field in names
            if fields is None or field in fields
        }
        self._numberings = {name: Numbering(len(of.owner)) for name, of in part.vertices.items()}
        mine = -(-len(inputs) // batch_size)
        self._batches = int(part.comm.max(torch.tensor(float(mine), dtype=torch.float64)))
        self._epoch = 0

    def __len__(self) -> int:
        """Batches of an epoch, the same on all ranks."""
        return self._batches

    def __iter__(self) -> Iterator[Any]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        if not self._prefetch:
            yield from (self._batch(epoch, number) for number in range(self._batches))
            return
        ready: queue.Queue[Any] = queue.Queue(self._prefetch)

        def work() -> None:
            try:
                for number in range(self._batches):
                    ready.put(self._batch(epoch, number))
            except BaseException as fault:
                ready.put(fault)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            for _ in range(self._batches):
                batch = ready.get()
                if isinstance(batch, BaseException):
                    raise batch
                yield batch
        finally:
            _drain(ready, thread)

    def _cache(self, name: str, field: str, most_bytes: int) -> RowCache:
        of = self._part.vertices[name]
        return RowCache(self._part, self._comm, of.data[field], most_bytes, of.files.get(field), name)

    @property
    def _sampler(self) -> NeighbourSampler:
        """The sampler of the edges of a graph of one type."""
        return self._samplers[ITS_EDGES]

    @abstractmethod
    def _batch(self, epoch: int, number: int) -> Any:
        """One batch; all ranks make the same one together."""

    def _chosen(self, epoch: int, number: int) -> IntArray:
        """The inputs of a batch, of which a rank may have none left."""
        of, order = self._order
        if self._shuffle and of != epoch:
            key = mix_word(mix_word(self._seed) + epoch)
            order = self._inputs[np.argsort(mix(self._inputs.astype(np.uint64) ^ np.uint64(key)), kind="stable")]
            self._order = epoch, order
        return order[number * self._size : (number + 1) * self._size]

    def _words(self, count: int, *of: int) -> IntArray:
        """``(count,)`` random words below 2^62, a function of seed and ``of``."""
        key = mix_word(self._seed)
        for word in of:
            key = mix_word(key ^ mix_word(word + 1))
        words: IntArray = (mix(np.arange(count, dtype=np.uint64) ^ np.uint64(key)) >> np.uint64(2)).astype(np.int64)
        return words

    def _batch_of(self, drawn: DrawnNeighbourhood, of: str | EdgeType, **more: Any) -> Any:
        """A batch of what was drawn; ``more`` are fields of the type ``of``, in a graph of one type of the batch."""
        if self._part.homogeneous:
            return self._data(drawn.nodes[ONE_TYPE], drawn.pairs[ITS_EDGES], drawn.edges[ITS_EDGES], **more)
        vertices: dict[str, dict[str, Any]] = {
            name: {"num_nodes": len(nodes), "n_id": torch.from_numpy(nodes)} for name, nodes in drawn.nodes.items()
        }
        for key, cache in self.caches.items():
            vertices[key[0]][key[1]] = cache.rows(drawn.nodes[key[0]])
        edges: dict[EdgeType, dict[str, Any]] = {
            key: {"edge_index": torch.from_numpy(pairs), "e_id": torch.from_numpy(drawn.edges[key])}
            for key, pairs in drawn.pairs.items()
        }
        fields = edges[of] if isinstance(of, tuple) else vertices[of]
        fields |= _tensors(more)
        return typed_data(vertices, edges)

    def _data(self, nodes: IntArray, pairs: IntArray, edges: IntArray, **more: Any) -> Any:
        """A batch of vertices of the whole graph with ``(2, e)`` edges in their numbers, and the edges' ids."""
        fields: dict[str, Any] = {str(name): cache.rows(nodes) for name, cache in self.caches.items()}
        return _data(
            num_nodes=len(nodes),
            edge_index=torch.from_numpy(pairs),
            n_id=torch.from_numpy(nodes),
            e_id=torch.from_numpy(edges),
            **_tensors(more),
            **fields,
        )


def _tensors(fields: dict[str, Any]) -> dict[str, Any]:
    return {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in fields.items()}


def only_type(part: Partition) -> tuple[VertexSet, EdgeSet]:
    """The vertices and edges of a graph of one type.

    Raises:
        OfframpError: a graph of several types.
    """
    if not part.homogeneous:
        raise OfframpError("mini-batches: expected a graph of one type of vertices")
    return part.vertices[ONE_TYPE], part.edges[ITS_EDGES]


def _channel(comm: Comm | Alone) -> Comm | Alone:
    """A group of its own, so that a thread's exchanges never meet the training's."""
    return comm if isinstance(comm, Alone) else Comm(dist.new_group(comm.ranks, backend="gloo"))


def _drain(ready: queue.Queue[Any], thread: threading.Thread) -> None:
    """Let the thread make its batches to the end, as those of other ranks do."""
    while thread.is_alive():
        try:
            ready.get(timeout=0.1)
        except queue.Empty:
            continue


def _data(**fields: Any) -> Any:
    try:
        from torch_geometric.data import Data
    except ImportError:
        return SimpleNamespace(**fields)
    return Data(**fields)


def typed_data(of_vertices: dict[str, dict[str, Any]], of_edges: dict[EdgeType, dict[str, Any]]) -> Any:
    """PyG's ``HeteroData``, or where PyG is missing an object with the same dictionaries, ``x_dict`` and others."""
    sets: dict[Any, dict[str, Any]] = {**of_vertices, **of_edges}
    try:
        from torch_geometric.data import HeteroData
    except ImportError:
        dictionaries: dict[str, dict[Any, Any]] = {}
        for key, fields in sets.items():
            for name, value in fields.items():
                dictionaries.setdefault(f"{name}_dict", {})[key] = value
        return SimpleNamespace(**dictionaries)
    data = HeteroData()
    for key, fields in sets.items():
        for name, value in fields.items():
            data[key][name] = value
    return data
