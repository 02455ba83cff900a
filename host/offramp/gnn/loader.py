# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of sampled neighbourhoods over a shared graph, as PyG's ``NeighborLoader`` makes them of a whole one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
import torch.distributed as dist

from offramp.gnn.comm import Alone, Comm
from offramp.gnn.sampling import RowCache, Sampler
from offramp.splitmix import mix, mix_word
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import Partition
    from offramp.graph.csr import IntArray

CACHE_BYTES: Final = 256 << 20


class NeighborLoader:
    """Batches of vertices with neighbours of neighbours, drawn and fetched from their owners.

    Each rank goes through its own vertices; all ranks make as many batches as the one with most, of which the last may
    have no vertices. A batch is PyG's ``Data`` (or an object like it where PyG is missing): ``x``, ``y`` and other
    fields of all its vertices, the batch's own first; ``edge_index`` in their numbers; ``n_id``, ``e_id``,
    ``input_id`` and ``batch_size``. The model runs on it as it is; :func:`offramp.gnn.sum_gradients` adds gradients.

    Args:
        part: the rank's part of a graph of one type.
        num_neighbors: drawn in each hop; -1 for all.
        batch_size: vertices of a batch, on each rank.
        input_nodes: mask of own vertices, or their local numbers; by default all.
        shuffle: a new order in each epoch.
        seed: of order and draws.
        fields: of vertices, in batches; by default all of them.
        cache_bytes: rows of others that are kept, for each field.
        prefetch: batches that a thread makes ahead; 0 makes them in this one.

    Raises:
        OfframpError: a graph of several types, or an unknown field.
    """

    def __init__(
        self,
        part: Partition,
        num_neighbors: Sequence[int],
        batch_size: int = 1,
        input_nodes: torch.Tensor | None = None,
        *,
        shuffle: bool = False,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        prefetch: int = 2,
    ) -> None:
        if not part.homogeneous:
            raise OfframpError("NeighborLoader: expected a graph of one type of vertices")
        data = part.vertices[""].data
        names = [n for n, v in data.items() if isinstance(v, torch.Tensor)] if fields is None else list(fields)
        unknown = [name for name in names if name not in data]
        if unknown:
            raise OfframpError(f"NeighborLoader: the graph has no {unknown[0]}")
        self._part, self._hops, self._size = part, list(num_neighbors), batch_size
        self._comm = _channel(part.comm)
        self._seed, self._shuffle, self._prefetch = seed, shuffle, prefetch
        self._sampler = Sampler(part, self._comm, seed)
        self.caches = {name: RowCache(part, self._comm, data[name], cache_bytes) for name in names}
        self._edges = part.edges["", "edge_index", ""]
        rows = torch.arange(part.vertices[""].owned) if input_nodes is None else input_nodes
        self._inputs: IntArray = (rows.nonzero().view(-1) if rows.dtype == torch.bool else rows).numpy()
        mine = -(-len(self._inputs) // batch_size)
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

    def _batch(self, epoch: int, number: int) -> Any:
        order = self._inputs
        if self._shuffle:
            key = mix_word(mix_word(self._seed) + epoch)
            order = order[np.argsort(mix(order.astype(np.uint64) ^ np.uint64(key)), kind="stable")]
        chosen = order[number * self._size : (number + 1) * self._size]
        seeds = self._part.n_id.numpy()[chosen]
        nodes, pairs, edges = self._neighbourhood(seeds, epoch * self._batches + number)
        fields: dict[str, Any] = {name: cache.rows(nodes) for name, cache in self.caches.items()}
        return _data(
            num_nodes=len(nodes),
            edge_index=torch.from_numpy(pairs),
            n_id=torch.from_numpy(nodes),
            e_id=torch.from_numpy(edges),
            input_id=torch.from_numpy(chosen),
            batch_size=len(seeds),
            **fields,
        )

    def _neighbourhood(self, seeds: IntArray, batch: int) -> tuple[IntArray, IntArray, IntArray]:
        """Vertices, seeds first; ``(2, e)`` edges in their numbers; the edges' ids. Each vertex is expanded once."""
        nodes, frontier = seeds, np.arange(len(seeds))
        pairs, ids = [], []
        for hop, fanout in enumerate(self._hops):
            drawn = self._sampler.draw(nodes[frontier], fanout, batch, hop)
            new = np.setdiff1d(drawn.sources, nodes)
            first = len(nodes)
            nodes = np.concatenate([nodes, new])
            by_id = np.argsort(nodes, kind="stable")
            local = by_id[np.searchsorted(nodes, drawn.sources, sorter=by_id)]
            pairs.append(np.stack([local, np.repeat(frontier, drawn.counts)]))
            ids.append(drawn.edges)
            frontier = np.arange(first, len(nodes))
        none = np.zeros((2, 0), np.int64)
        return nodes, np.concatenate([none, *pairs], axis=1), np.concatenate([none[0], *ids])


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
