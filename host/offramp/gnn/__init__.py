# SPDX-License-Identifier: Apache-2.0
"""Models written for PyTorch Geometric, on graphs that several ranks share (docs/gnn.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offramp.gnn.clusters import ClusterLoader
    from offramp.gnn.gradients import global_mean, sum_gradients
    from offramp.gnn.ladies import LadiesLoader
    from offramp.gnn.link_loader import LinkNeighborLoader
    from offramp.gnn.links import ends, link_edges, negative_pairs
    from offramp.gnn.loader import NeighborLoader
    from offramp.gnn.loggers import TensorBoard, WandB
    from offramp.gnn.module import DistributedModule, distribute, halo_exchange
    from offramp.gnn.parts import Partition, partition
    from offramp.gnn.saint import GraphSAINTEdgeSampler, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler
    from offramp.gnn.stored import open_store

_WHERE = {
    "ClusterLoader": "clusters",
    "GraphSAINTEdgeSampler": "saint",
    "GraphSAINTNodeSampler": "saint",
    "GraphSAINTRandomWalkSampler": "saint",
    "LadiesLoader": "ladies",
    "LinkNeighborLoader": "link_loader",
    "NeighborLoader": "loader",
    "global_mean": "gradients",
    "sum_gradients": "gradients",
    "DistributedModule": "module",
    "distribute": "module",
    "ends": "links",
    "halo_exchange": "module",
    "link_edges": "links",
    "negative_pairs": "links",
    "open_store": "stored",
    "Partition": "parts",
    "Switch": "switched",
    "TensorBoard": "loggers",
    "WandB": "loggers",
    "partition": "parts",
}

__all__ = [
    "ClusterLoader",
    "DistributedModule",
    "GraphSAINTEdgeSampler",
    "GraphSAINTNodeSampler",
    "GraphSAINTRandomWalkSampler",
    "LadiesLoader",
    "LinkNeighborLoader",
    "NeighborLoader",
    "Partition",
    "Switch",
    "TensorBoard",
    "WandB",
    "distribute",
    "ends",
    "global_mean",
    "halo_exchange",
    "link_edges",
    "negative_pairs",
    "open_store",
    "partition",
    "sum_gradients",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: PyTorch comes with it."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
