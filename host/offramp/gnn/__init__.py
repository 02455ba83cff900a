# SPDX-License-Identifier: Apache-2.0
"""Models written for PyTorch Geometric, on graphs that several ranks share (docs/gnn.md).

Samplers of subgraphs are in :mod:`offramp.gnn.samplers`, pairs of vertices in :mod:`offramp.gnn.links`, logs of runs in
:mod:`offramp.gnn.loggers`: all three are public.

>>> import torch
>>> from offramp.gnn import distribute, global_mean, partition
>>> class Path:
...     num_nodes, x, edge_index = 3, torch.eye(3), torch.tensor([[0, 1], [1, 2]])
...     def to_dict(self): return {"x": self.x, "edge_index": self.edge_index}
>>> part = partition(Path())
>>> float(global_mean(part.x))
0.3333333432674408
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.gnn.conversions import gather as gather
    from offramp.gnn.gradients import global_mean as global_mean
    from offramp.gnn.gradients import sum_gradients as sum_gradients
    from offramp.gnn.link_loader import LinkNeighborLoader as LinkNeighborLoader
    from offramp.gnn.loader import NeighborLoader as NeighborLoader
    from offramp.gnn.module import DistributedModule as DistributedModule
    from offramp.gnn.module import distribute as distribute
    from offramp.gnn.module import halo_exchange as halo_exchange
    from offramp.gnn.parts import Partition as Partition
    from offramp.gnn.parts import partition as partition
    from offramp.gnn.stored import open_store as open_store
    from offramp.gnn.switched import HaloSwitch as Switch
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "DistributedModule": "offramp.gnn.module",
            "LinkNeighborLoader": "offramp.gnn.link_loader",
            "NeighborLoader": "offramp.gnn.loader",
            "Partition": "offramp.gnn.parts",
            "Switch": "offramp.gnn.switched:HaloSwitch",
            "distribute": "offramp.gnn.module",
            "gather": "offramp.gnn.conversions",
            "global_mean": "offramp.gnn.gradients",
            "halo_exchange": "offramp.gnn.module",
            "open_store": "offramp.gnn.stored",
            "partition": "offramp.gnn.parts",
            "sum_gradients": "offramp.gnn.gradients",
        },
    )
