# SPDX-License-Identifier: Apache-2.0
"""Epochs of PyG's models, by PyG and by offramp.gnn, in turns in one process, and over ranks."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch_geometric import nn as pyg
from torch_geometric.data import Data

from offramp import gnn
from offramp.graph.load import load

MODELS: dict[str, Any] = {
    "gcn": lambda i, o, p: pyg.GCN(i, 32, 2, o, dropout=p),
    "sage": lambda i, o, p: pyg.GraphSAGE(i, 32, 2, o, dropout=p),
    "gat": lambda i, o, p: pyg.GAT(i, 32, 2, o, heads=4, dropout=p),
    "gin": lambda i, o, p: pyg.GIN(i, 32, 2, o, dropout=p),
    "sgc": lambda i, o, _: pyg.Sequential("x, e", [(pyg.SGConv(i, o, K=2), "x, e -> x")]),
}
WIDEST = 256


def data(spec: str) -> Data:
    """A graph with its split; features that are wider than 256 are projected at random."""
    graph = load(spec)
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    x = graph.features
    if x.shape[1] > WIDEST:
        x = np.asarray(x @ np.random.default_rng(0).normal(size=(x.shape[1], WIDEST)).astype(np.float32))
        x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-9
    return Data(
        x=torch.from_numpy(np.ascontiguousarray(x, np.float32)),
        y=torch.from_numpy(graph.labels),
        edge_index=torch.from_numpy(np.stack([graph.indices, rows])),
        train_mask=torch.from_numpy(graph.train),
        test_mask=torch.from_numpy(graph.test),
    )


class Run:
    """A model in training, whole or on a part."""

    def __init__(self, name: str, of: Any, outputs: int, seed: int, dropout: float = 0.5) -> None:
        torch.manual_seed(seed)
        self.part = isinstance(of, gnn.Partition)
        self.of, self.model = of, MODELS[name](of.x.shape[1], outputs, dropout)
        if self.part:
            self.model = gnn.distribute(self.model, of, seed=seed)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.01, weight_decay=5e-4)

    def epoch(self) -> float:
        """Processor seconds of a step, all threads."""
        start = time.process_time()
        of = self.of
        self.model.train()
        self.adam.zero_grad()
        losses = F.cross_entropy(self.model(of.x, of.edge_index)[of.train_mask], of.y[of.train_mask], reduction="none")
        (gnn.global_mean(losses) if self.part else losses.mean()).backward()
        if self.part:
            gnn.sum_gradients(self.model)
        self.adam.step()
        return time.process_time() - start

    @torch.no_grad()
    def accuracy(self) -> float:
        self.model.eval()
        of = self.of
        right = (self.model(of.x, of.edge_index).argmax(1) == of.y)[of.test_mask].float()
        return float(gnn.global_mean(right)) if self.part else float(right.mean())


def compare(group: Any, item: tuple[str, int, int], report: Any) -> dict[str, dict[str, float]]:
    """Processor seconds of an epoch, summed over ranks, and accuracy over seeds, of PyG on rank 0 and of all ranks."""
    spec, seeds, epochs = item
    torch.set_num_threads(1)
    whole = data(spec)
    outputs = int(whole.y.max()) + 1
    part = gnn.partition(whole, owner="metis" if group.size > 1 else "auto")
    results = {}
    for name in MODELS:
        theirs, ours, accuracy = [], [], {"pyg": [], "ours": []}
        for seed in range(seeds):
            one, all_ranks = Run(name, whole, outputs, seed), Run(name, part, outputs, seed)
            for _ in range(epochs):
                if group.rank == 0:
                    theirs.append(one.epoch())
                ours.append(all_ranks.epoch())
            accuracy["ours"].append(all_ranks.accuracy())
            if group.rank == 0:
                accuracy["pyg"].append(one.accuracy())
        seconds = group.sum(torch.tensor([statistics.median(ours)], dtype=torch.float64))
        if group.rank == 0:
            error = statistics.stdev(accuracy["pyg"]) / len(accuracy["pyg"]) ** 0.5
            results[name] = {
                "pyg_ms": 1e3 * statistics.median(theirs),
                "ours_ms": 1e3 * float(seconds),
                "pyg_accuracy": statistics.mean(accuracy["pyg"]),
                "ours_accuracy": statistics.mean(accuracy["ours"]),
                "standard_error": error,
            }
    return results
