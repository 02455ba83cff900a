# SPDX-License-Identifier: Apache-2.0
"""Models of plain PyTorch over rows and edges, and what ranks do with them in the tests of offramp.gnn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from offramp import gnn

N, WIDTH, CLASSES = 50, 6, 3


def graph(isolated_rank: bool = False) -> SimpleNamespace:
    """A directed graph with weights of edges; some vertices have no label."""
    g = torch.Generator().manual_seed(1)
    edges = torch.randint(N, (2, 180), generator=g)
    if isolated_rank:
        edges = edges[:, edges[1] % 2 == 0]  # under owner = id modulo 2, rank 1 has no edge
    return SimpleNamespace(
        num_nodes=N,
        x=torch.randn(N, WIDTH, generator=g, dtype=torch.float64),
        y=torch.where(torch.rand(N, generator=g) < 0.3, -1, torch.randint(CLASSES, (N,), generator=g)),
        edge_index=edges,
        edge_weight=torch.rand(edges.shape[1], generator=g, dtype=torch.float64),
    )


class Model(nn.Module):
    """Weighted sums, attention by softmax over targets, a mean over the graph, BatchNorm."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(WIDTH, 8), nn.BatchNorm1d(8)
        self.att, self.out = nn.Linear(16, 1), nn.Linear(8, CLASSES)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, edge_index, edge_weight):
        row, col = edge_index
        h = self.dropout(self.norm(self.lin(x))).relu()
        h = h - h.mean(dim=0)
        score = self.att(torch.cat([h[row], h[col]], dim=1)).squeeze(-1).tanh().exp()
        total = torch.zeros(len(h), dtype=h.dtype).scatter_add(0, col, score)
        weight = edge_weight * score / total[col]
        h = h + torch.zeros_like(h).index_add(0, col, h[row] * weight.unsqueeze(-1))
        return self.out(h)


class Turns(Model):
    """A model that takes another way in each pass, with rows of masks that differ."""

    epoch = -1

    def forward(self, x, edge_index, edge_weight):
        self.epoch += 1
        h = super().forward(x, edge_index, edge_weight)
        h = h - h[h[:, 0] > self.epoch / 8].mean(dim=0)
        ends = edge_weight if self.epoch != 3 else h[edge_index[1], 0]
        h = h + ends[ends > 0.5].sum() / edge_index.shape[1]
        return h if self.epoch < 2 else h * h.mean(dim=0)


class ByHand(nn.Module):
    """A layer that fetches the halo itself."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, edge_index, edge_weight):
        rows = gnn.halo_exchange(self.lin(x))
        return torch.zeros(len(x), CLASSES, dtype=x.dtype).index_add(0, edge_index[1], rows[edge_index[0]])


def train(model: nn.Module, data: Any, average: bool = False) -> list[torch.Tensor]:
    """Losses, gradients and buffers of four steps on a whole graph or a part; the last two repeat a recording."""
    part = data if isinstance(data, gnn.Partition) else None
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    results = []
    for _ in range(4):
        optimiser.zero_grad()
        scores = model(data.x, data.edge_index, data.edge_weight)
        known = data.y >= 0
        losses = F.cross_entropy(scores[known], data.y[known], reduction="none")
        loss = gnn.global_mean(losses, averaged=average) if part else losses.mean()
        loss.backward()
        if part and not average:
            gnn.sum_gradients(model)
        results += [loss.detach(), *(p.grad.clone() for p in model.parameters())]
        optimiser.step()
    return results + [b.double() for b in model.buffers()]


def worst(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    assert len(actual) == len(expected) > 1
    return max(float((a - b).abs().max()) for a, b in zip(actual, expected, strict=True))


def make(kind: type[nn.Module] = Model, **options: Any) -> nn.Module:
    torch.manual_seed(7)
    return kind(**options).double()


def compare(group: Any, _: Any, report: Any) -> dict[str, float]:
    """The distance of each way from a run in one process, the worst of all ranks."""
    errors = {}
    data = graph()
    expected = train(make(), data)
    part = gnn.partition(data, owner="hash")
    errors["turns"] = worst(train(gnn.distribute(make(Turns), part), part), train(make(Turns), data))
    errors["summed"] = worst(train(gnn.distribute(make(), part), part), expected)
    if group.size > 1:
        ddp = nn.parallel.DistributedDataParallel(gnn.distribute(make(), part))
        errors["ddp"] = worst(train(ddp, part, average=True), expected)
    one = graph(isolated_rank=True)
    two = gnn.partition(one, owner=torch.arange(N) % group.size)
    errors["no edges"] = worst(train(gnn.distribute(make(), two), two), train(make(), one))
    masked = train(gnn.distribute(make(dropout=0.5), part, seed=3), part)
    errors["dropout"] = float(masked[0])
    hand, alone = make(ByHand), make(ByHand)
    distributed = gnn.distribute(hand, part)
    gnn.global_mean(distributed(part.x, part.edge_index, part.edge_weight).square()).backward()
    gnn.sum_gradients(distributed)
    row, col = data.edge_index
    rows = alone.lin(data.x)
    torch.zeros(N, CLASSES, dtype=rows.dtype).index_add(0, col, rows[row]).square().mean().backward()
    errors["by hand"] = worst([p.grad for p in hand.parameters()], [p.grad for p in alone.parameters()])
    return {name: float(group.max(torch.tensor(value, dtype=torch.float64))) for name, value in errors.items()}
