# SPDX-License-Identifier: Apache-2.0
"""A model of PyTorch Geometric, unchanged, on a graph that two ranks share: ``offramp.gnn.distribute``.

The scores of both ranks together are those of the same model on the whole graph in one process.

    rank 0: 17 vertices, scores as in one process: True
    rank 1: 17 vertices, scores as in one process: True
"""

import torch
import torch.distributed as dist
from ranks import run
from torch_geometric.datasets import KarateClub
from torch_geometric.nn import GraphSAGE

from offramp import gnn


def work() -> None:
    """The work of each rank."""
    data = KarateClub()[0]
    model = GraphSAGE(data.num_features, 16, num_layers=2, out_channels=4).eval()
    expected = model(data.x, data.edge_index)
    part = gnn.partition(data)  # this rank's vertices, the edges into them, and who owns the other ends
    distributed = gnn.distribute(model, part)
    same = torch.allclose(distributed(part.x, part.edge_index), expected[part.n_id], atol=1e-5)
    for rank in range(2):
        dist.barrier()
        if rank == dist.get_rank():
            print(f"rank {rank}: {len(part.x)} vertices, scores as in one process: {same}", flush=True)


if __name__ == "__main__":
    run(work, "gloo")
