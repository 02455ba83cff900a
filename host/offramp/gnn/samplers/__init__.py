# SPDX-License-Identifier: Apache-2.0
"""Samplers of subgraphs of a shared graph, beside the neighbour loaders of :mod:`offramp.gnn`.

>>> import torch
>>> from offramp.gnn import partition
>>> from offramp.gnn.samplers import ClusterLoader
>>> class Path:
...     num_nodes, x, edge_index = 3, torch.eye(3), torch.tensor([[0, 1], [1, 2]])
...     def to_dict(self): return {"x": self.x, "edge_index": self.edge_index}
>>> sum(len(batch.n_id) for batch in ClusterLoader(partition(Path()), num_parts=2))
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.gnn.clusters import ClusterLoader as ClusterLoader
    from offramp.gnn.ladies import LadiesLoader as LadiesLoader
    from offramp.gnn.saint import GraphSAINTEdgeSampler as GraphSAINTEdgeSampler
    from offramp.gnn.saint import GraphSAINTNodeSampler as GraphSAINTNodeSampler
    from offramp.gnn.saint import GraphSAINTRandomWalkSampler as GraphSAINTRandomWalkSampler
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "ClusterLoader": "offramp.gnn.clusters",
            "GraphSAINTEdgeSampler": "offramp.gnn.saint",
            "GraphSAINTNodeSampler": "offramp.gnn.saint",
            "GraphSAINTRandomWalkSampler": "offramp.gnn.saint",
            "LadiesLoader": "offramp.gnn.ladies",
        },
    )
