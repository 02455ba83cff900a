# SPDX-License-Identifier: Apache-2.0
"""A graph larger than memory in a folder, and an epoch of sampled GraphSAGE over a part of it or over the whole."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from torch import nn

from offramp import gnn

FANOUTS, BATCH, CLASSES = [10, 10], 1024, 16
_EDGES, _ROWS = 1 << 22, 1 << 18


@dataclass(frozen=True)
class Epoch:
    """Cost of an epoch: seconds, vertices and edges of its batches, bytes of the process at most and of no file."""

    seconds: float
    seeds: int
    edges: int
    peak: int
    own: int


def write(folder: Path, vertices: int, edges: int, width: int, seed: int = 0) -> None:
    """Four of five edges come from vertices nearby in a hidden order, the others from few that have many."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(vertices).astype(np.int32)
    index = open_memmap(folder / "edge_index.npy", "w+", np.int64, (2, edges))
    for start in range(0, edges, _EDGES):
        count = min(_EDGES, edges - start)
        target = rng.integers(0, vertices, count)
        near = (target + rng.geometric(0.0005, count) * rng.choice([-1, 1], count)) % vertices
        hub = (vertices * rng.random(count) ** 4).astype(np.int64)
        source = np.where(rng.random(count) < 0.8, near, hub)
        index[:, start : start + count] = hidden[source], hidden[target]
    x = open_memmap(folder / "x.npy", "w+", np.float32, (vertices, width))
    for start in range(0, vertices, _ROWS):
        count = min(_ROWS, vertices - start)
        x[start : start + count] = rng.standard_normal((count, width), dtype=np.float32)
    np.save(folder / "y.npy", rng.integers(0, CLASSES, vertices))
    np.save(folder / "train_mask.npy", rng.random(vertices) < 200_000 / vertices)


class Sage(nn.Module):
    """Two layers of means."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 * n, m) for n, m in ((width, 64), (64, CLASSES)))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        row, col = edge_index
        count = torch.zeros(len(x)).index_add(0, col, torch.ones(len(col))).clamp(min=1).unsqueeze(1)
        for number, layer in enumerate(self.layers):
            mean = torch.zeros_like(x).index_add(0, col, x[row]) / count
            x = layer(torch.cat([x, mean], dim=1))
            x = x if number else x.relu()
        return x


def train(loader: Any, width: int, batches: int) -> Epoch:
    """Some batches of any loader of PyG's kind."""
    torch.manual_seed(0)
    model = Sage(width)
    optimiser = torch.optim.Adam(model.parameters())
    seeds = edges = 0
    start = time.perf_counter()
    for done, batch in enumerate(loader, 1):
        optimiser.zero_grad()
        scores = model(batch.x, batch.edge_index)[: batch.batch_size]
        loss = gnn.global_mean(nn.functional.cross_entropy(scores, batch.y[: batch.batch_size], reduction="none"))
        loss.backward()  # type: ignore[no-untyped-call]
        gnn.sum_gradients(model)
        optimiser.step()
        seeds += batch.batch_size
        edges += batch.edge_index.shape[1]
        if done == batches:
            break
    seconds = time.perf_counter() - start
    return Epoch(seconds, seeds, edges, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, own_bytes())


def own_bytes() -> int:
    """Memory of this process that no file holds."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]) << 10


def ours(group: Any, item: tuple[str, int], report: Any) -> Epoch:
    """This rank's share of an epoch over a store."""
    torch.set_num_threads(1)
    store, batches = item
    part = gnn.open_store(store, verify=False)
    loader = gnn.NeighborLoader(
        part, FANOUTS, BATCH, part.train_mask, shuffle=True, fields=["x", "y"], cache_bytes=128 << 20
    )
    report({"message": f"rank {group.rank} has its part; {own_bytes() >> 20} MB"})
    return train(loader, part.x.shape[1], batches or len(loader))


def pygs(folder: Path, batches: int) -> Epoch:
    """The same with PyG's loader over the whole graph, features mapped from their file."""
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    torch.set_num_threads(max(1, len(os.sched_getaffinity(0))))
    fields = {
        name: torch.from_numpy(np.load(folder / f"{name}.npy", mmap_mode="c")) for name in ("x", "y", "train_mask")
    }
    data = Data(edge_index=torch.from_numpy(np.load(folder / "edge_index.npy")), **fields)
    loader = NeighborLoader(data, FANOUTS, data.train_mask, batch_size=BATCH, shuffle=True)
    return train(loader, data.x.shape[1], batches or len(loader))
