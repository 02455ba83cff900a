# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of whole clusters (Chiang et al., Cluster-GCN, KDD 2019), within the ranks: no row travels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp.gnn.batches import BatchLoader, only_type
from offramp.graph.partition import partition_ends
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import Partition
    from offramp.graph.csr import IntArray


class ClusterLoader(BatchLoader):
    """Batches of some clusters of own vertices with all edges between them; edges from other ranks are left out.

    PyG's ``ClusterLoader(ClusterData(data, num_parts), batch_size)`` of each rank's part. A batch has the fields of
    its vertices, ``edge_index``, ``n_id``, ``e_id`` and ``input_id``, the numbers of its clusters.

    Args:
        part: the rank's part of a graph of one type.
        num_parts: clusters of a rank.
        batch_size: clusters of a batch.
        method: partitioning method (:func:`offramp.graph.partition.partition`) that makes the clusters.
        shuffle: whether clusters are combined anew in each epoch.
        seed: seed of the method and of the order.
        fields: fields of vertices that batches have; by default all of them.
        prefetch: batches that a thread makes ahead.

    Raises:
        OfframpError: a number of clusters below 1.
    """

    def __init__(
        self,
        part: Partition,
        num_parts: int,
        batch_size: int = 1,
        *,
        method: str = "auto",
        shuffle: bool = False,
        seed: int = 0,
        fields: Sequence[str] | None = None,
        prefetch: int = 2,
    ) -> None:
        vertices, edges = only_type(part)
        if num_parts < 1:
            raise OfframpError(f"ClusterLoader: num_parts {num_parts}: expected at least 1")
        index = edges.index.numpy()
        inner = index[:, index[0] < vertices.owned]
        parts = min(num_parts, max(1, vertices.owned))
        cluster: IntArray = np.zeros(vertices.owned, np.int64)
        if parts > 1:
            cluster = partition_ends(vertices.owned, inner[0], inner[1], parts, method, seed).astype(np.int64)
        by_cluster = np.argsort(cluster, kind="stable")
        self._members = np.split(by_cluster, np.cumsum(np.bincount(cluster, minlength=parts))[:-1])
        super().__init__(
            part,
            np.arange(parts),
            batch_size,
            shuffle=shuffle,
            seed=seed,
            fields=fields,
            cache_bytes=0,
            prefetch=prefetch,
        )

    def _batch(self, epoch: int, number: int) -> Any:
        chosen = self._chosen(epoch, number)
        rows = np.sort(np.concatenate([np.zeros(0, np.int64), *(self._members[each] for each in chosen)]))
        nodes = self._part.n_id.numpy()[rows]
        return self._data(nodes, *self._sampler.between(nodes), input_id=chosen)
