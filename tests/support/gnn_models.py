# SPDX-License-Identifier: Apache-2.0
"""Models of PyG's own layers, as its examples build them, and what ranks do with them in the tests of offramp.gnn."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch_geometric import nn as pyg
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator, TGNMemory

from offramp import gnn
from offramp.gnn import links

N, WIDTH, CLASSES, RELATIONS, EDGE_WIDTH = 60, 12, 4, 3, 5


def graph(dtype: torch.dtype, n: int = N, edges: int = 260) -> Data:
    """A directed multigraph with features of edges, labels and a few loops."""
    g = torch.Generator().manual_seed(3)
    index = torch.randint(n, (2, edges), generator=g)
    index = index[:, (index[0] != index[1]) | (torch.arange(edges) < 8)]
    e = index.shape[1]
    return Data(
        x=torch.randn(n, WIDTH, generator=g, dtype=dtype),
        y=torch.randint(CLASSES, (n,), generator=g),
        edge_index=index,
        edge_attr=torch.randn(e, EDGE_WIDTH, generator=g, dtype=dtype),
        edge_weight=torch.rand(e, generator=g, dtype=dtype) + 0.1,
        edge_type=torch.randint(RELATIONS, (e,), generator=g),
        train_mask=torch.rand(n, generator=g) < 0.6,
    )


def hetero(dtype: torch.dtype) -> HeteroData:
    """Papers, authors and venues."""
    g = torch.Generator().manual_seed(5)
    data = HeteroData()
    sizes = {"paper": 40, "author": 25, "venue": 6}
    for name, count in sizes.items():
        data[name].x = torch.randn(count, WIDTH, generator=g, dtype=dtype)
    for key, count in {
        ("author", "writes", "paper"): 90,
        ("paper", "written_by", "author"): 90,
        ("venue", "prints", "paper"): 40,
        ("paper", "cites", "paper"): 120,
        ("paper", "printed_in", "venue"): 40,
    }.items():
        ends = [torch.randint(sizes[key[k]], (count,), generator=g) for k in (0, 2)]
        data[key].edge_index = torch.stack(ends)
    data["paper"].y = torch.randint(CLASSES, (40,), generator=g)
    return data


class Rgcn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = pyg.RGCNConv(WIDTH, 8, RELATIONS, num_bases=2)
        self.conv2 = pyg.RGCNConv(8, CLASSES, RELATIONS)

    def forward(self, x, edge_index, edge_type):
        return self.conv2(self.conv1(x, edge_index, edge_type).relu(), edge_index, edge_type)


class Hgt(nn.Module):
    def __init__(self, metadata) -> None:
        super().__init__()
        self.lin = pyg.HeteroDictLinear(WIDTH, 8, types=metadata[0])
        self.convs = nn.ModuleList([pyg.HGTConv(8, 8, metadata, heads=2) for _ in range(2)])
        self.out = nn.Linear(8, CLASSES)

    def forward(self, x_dict, edge_index_dict):
        x_dict = {k: x.relu() for k, x in self.lin(x_dict).items()}
        for conv in self.convs:
            x_dict = conv(x_dict, edge_index_dict)
        return self.out(x_dict["paper"])


class HeteroSage(nn.Module):
    """Like ``to_hetero`` makes them: a layer for each relation."""

    def __init__(self, metadata) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            pyg.HeteroConv({key: pyg.SAGEConv((w, w), 8) for key in metadata[1]}) for w in (WIDTH, 8)
        )
        self.out = nn.Linear(8, CLASSES)

    def forward(self, x_dict, edge_index_dict):
        for conv in self.convs:
            x_dict = {k: x.relu() for k, x in conv(x_dict, edge_index_dict).items()}
        return self.out(x_dict["paper"])


class Link(nn.Module):
    """Encoder with features of edges, decoder of pairs, as in PyG's examples of link prediction."""

    def __init__(self) -> None:
        super().__init__()
        mlp = nn.Sequential(nn.Linear(WIDTH, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.conv1 = pyg.GINEConv(mlp, edge_dim=EDGE_WIDTH)
        self.conv2 = pyg.GATv2Conv(8, 8, edge_dim=EDGE_WIDTH)
        self.decoder = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x, edge_index, edge_attr, edge_label_index):
        z = self.conv1(x, edge_index, edge_attr).relu()
        z = self.conv2(z, edge_index, edge_attr)
        ends = z[edge_label_index[0]], z[edge_label_index[1]]
        return self.decoder(torch.cat(ends, dim=-1)).view(-1)


class TgnEmbedding(nn.Module):
    """PyG's example of TGN: attention over events with their time and message."""

    def __init__(self, memory: TGNMemory) -> None:
        super().__init__()
        self.time_enc = memory.time_enc
        self.conv = pyg.TransformerConv(8, 4, heads=2, edge_dim=EDGE_WIDTH + 6)

    def forward(self, x, last_update, edge_index, t, msg):
        rel_t = last_update[edge_index[0]] - t
        enc = self.time_enc(rel_t.to(x.dtype))
        return self.conv(x, edge_index, torch.cat([enc, msg], dim=-1))


class Normed(nn.Module):
    """Normalisations over vertices, dropout of vertices and of attention."""

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv1, self.norm = pyg.GATConv(WIDTH, 8, heads=2, dropout=dropout), norm
        self.conv2, self.dropout = pyg.GCNConv(16, CLASSES), dropout

    def forward(self, x, edge_index):
        x = F.dropout(x, self.dropout, self.training)
        x = self.norm(self.conv1(x, edge_index)).relu()
        return self.conv2(F.dropout(x, self.dropout, self.training), edge_index)


def _deg() -> torch.Tensor:
    index = graph(torch.float32).edge_index
    return torch.bincount(torch.bincount(index[1], minlength=N))


BASIC: dict[str, Any] = {
    "gcn": lambda: pyg.GCN(WIDTH, 8, 3, CLASSES, norm="batch", jk="cat"),
    "sage": lambda: pyg.GraphSAGE(WIDTH, 8, 2, CLASSES, norm="batch", aggr="mean"),
    "gat": lambda: pyg.GAT(WIDTH, 8, 2, CLASSES, heads=2),
    "gatv2": lambda: pyg.GAT(WIDTH, 8, 2, CLASSES, heads=2, v2=True),
    "gin": lambda: pyg.GIN(WIDTH, 8, 3, CLASSES, norm="batch"),
    "pna": lambda: pyg.PNA(
        WIDTH, 8, 2, CLASSES, aggregators=["mean", "max", "std"], scalers=["identity", "amplification"], deg=_deg()
    ),
}
NORMS: dict[str, Any] = {
    "graph": lambda: pyg.GraphNorm(16),
    "pair": pyg.PairNorm,
    "layer": lambda: pyg.LayerNorm(16),
    "node": lambda: pyg.LayerNorm(16, mode="node"),
    "instance": lambda: pyg.InstanceNorm(16),
    "mean": pyg.MeanSubtractionNorm,
    "group": lambda: pyg.DiffGroupNorm(16, 3),
    "batch": lambda: pyg.BatchNorm(16),
}


def gcn_weighted() -> nn.Module:
    """Weighted edges, layers that propagate several times, symmetric norms."""

    class Several(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = pyg.GCNConv(WIDTH, 8), pyg.TAGConv(8, 8, K=2)
            self.c, self.d = pyg.ChebConv(8, 8, K=3), pyg.APPNP(2, 0.1)
            self.e = pyg.ARMAConv(8, CLASSES)

        def forward(self, x, edge_index, edge_weight):
            x = self.b(self.a(x, edge_index, edge_weight).relu(), edge_index, edge_weight)
            x = self.d(self.c(x, edge_index), edge_index, edge_weight).tanh()
            return self.e(x, edge_index, edge_weight)

    return Several()


class PlainFunction(nn.Module):
    """No layer of PyG: rows by sources, summed at targets."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(WIDTH + EDGE_WIDTH, CLASSES)

    def forward(self, x, edge_index, edge_attr):
        row, col = edge_index
        messages = self.lin(torch.cat([x[row], edge_attr], dim=1)).tanh()
        return torch.zeros(len(x), CLASSES, dtype=x.dtype).index_add(0, col, messages)


def make(name: str, dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(11)
    if name in BASIC:
        model = BASIC[name]()
    elif name.startswith("norm-"):
        model = Normed(NORMS[name[5:]]())
    else:
        model = {
            "rgcn": Rgcn,
            "weighted": gcn_weighted,
            "function": PlainFunction,
            "hgt": lambda: Hgt(hetero(dtype).metadata()),
            "hetero": lambda: HeteroSage(hetero(dtype).metadata()),
        }[name]()
    return model.to(dtype)


ARGUMENTS = {
    "rgcn": ("edge_type",),
    "weighted": ("edge_weight",),
    "function": ("edge_attr",),
}


def outputs(name: str, model: nn.Module, data: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and labels of the vertices that count."""
    if name in ("hgt", "hetero"):
        return model(data.x_dict, data.edge_index_dict), (
            data["paper"].data if hasattr(data, "comm") else data["paper"]
        )["y"]
    more = [getattr(data, each) for each in ARGUMENTS.get(name, ())]
    out = model(data.x, data.edge_index, *more)
    return out[data.train_mask], data.y[data.train_mask]


def steps(name: str, model: nn.Module, data: Any, count: int = 2) -> list[torch.Tensor]:
    """Losses and gradients of some steps, and the buffers in the end.

    By SGD: where a gradient is zero, as that of a bias before BatchNorm, Adam would make steps of rounding errors.
    """
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    values = []
    model.train()
    for _ in range(count):
        optimiser.zero_grad()
        scores, labels = outputs(name, model, data)
        loss = (
            gnn.global_mean(F.cross_entropy(scores, labels, reduction="none"))
            if hasattr(data, "comm")
            else (F.cross_entropy(scores, labels))
        )
        loss.backward()
        if hasattr(data, "comm"):
            gnn.sum_gradients(model)
        values += [loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]
        optimiser.step()
    return values + [b.double() for b in model.buffers()]


def worst(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest difference, by the largest value of each tensor where that is above 1."""
    assert len(actual) == len(expected) > 1
    return max(
        float((a.cpu() - b).abs().max() / max(1.0, float(b.abs().max()))) if b.numel() else 0.0
        for a, b in zip(actual, expected, strict=True)
    )


def compare(group: Any, item: tuple[list[str], str, dict[str, Any]], report: Any) -> dict[str, float]:
    """Each model's distance from a run in one process, the worst of all ranks."""
    names, dtype_name, choices, *rest = item
    device = rest[0] if rest else "cpu"
    dtype = getattr(torch, dtype_name)
    errors = {}
    for name in names:
        data = hetero(dtype) if name in ("hgt", "hetero") else graph(dtype)
        expected = steps(name, make(name, dtype), data)
        part = gnn.partition(data, owner="random").to(device)
        got = steps(name, gnn.distribute(make(name, dtype).to(device), part, **choices), part)
        errors[name] = float(group.max(torch.tensor(worst(got, expected))))
    return errors


def dropout(group: Any, dtype_name: str, report: Any) -> list[list[torch.Tensor]]:
    """Losses and gradients under dropout, which do not depend on the number of ranks."""
    data = graph(getattr(torch, dtype_name))
    torch.manual_seed(4)
    model = Normed(nn.BatchNorm1d(16), dropout=0.4).to(data.x.dtype)
    part = gnn.partition(data, owner="hash")
    return [each.tolist() for each in steps("normed", gnn.distribute(model, part), part)]


def link(group: Any, dtype_name: str, report: Any) -> float:
    """A link predictor with features of edges: labelled pairs in the graph, and pairs that are drawn for a step."""
    dtype = getattr(torch, dtype_name)
    data = graph(dtype)
    g = torch.Generator().manual_seed(8)
    data.edge_label_index = torch.randint(N, (2, 70), generator=g)
    data.edge_label = torch.rand(70, generator=g, dtype=dtype).round()
    part = gnn.partition(data, owner="hash")
    gradients = []
    for whole in (True, False):
        of = data if whole else part
        torch.manual_seed(2)
        model = Link().to(dtype)
        model = model if whole else gnn.distribute(model, part)
        scores = model(of.x, of.edge_index, of.edge_attr, of.edge_label_index)
        losses = F.binary_cross_entropy_with_logits(scores, of.edge_label, reduction="none")
        (losses.mean() if whole else gnn.global_mean(losses)).backward()
        if not whole:
            gnn.sum_gradients(model)
        gradients.append([p.grad for p in model.parameters()])
    return float(group.max(torch.tensor(worst(gradients[1], gradients[0]))))


def negatives(group: Any, _: Any, report: Any) -> tuple[list[list[int]], float, list[float]]:
    """The negative pairs of all ranks in order, a loss over them, and its gradient."""
    data = graph(torch.float64)
    part = gnn.partition(data, owner="hash")
    pairs = links.negative_pairs(part, 2, seed=1, step=3)
    x = part.x.clone().requires_grad_()
    first, second = links.ends(x, links.link_edges(part, pairs))
    loss = gnn.global_mean((first * second).sum(-1).square())
    loss.backward()
    every = torch.zeros(N, dtype=torch.float64)
    every[part.n_id] = x.grad.sum(1)
    count = group.sum(torch.tensor([float(pairs.shape[1])]))
    table = torch.zeros(N * N, dtype=torch.float64)
    table.index_add_(0, pairs[0] * N + pairs[1], torch.ones(pairs.shape[1], dtype=torch.float64))
    drawn = group.sum(table)
    edges = data.edge_index[0] * N + data.edge_index[1]
    assert float(count) == 2 * data.edge_index.shape[1]
    assert float(drawn[edges].sum()) == 0
    return drawn.nonzero().view(-1).tolist(), float(loss), group.sum(every).tolist()


def tgn(group: Any, dtype_name: str, report: Any) -> float:
    """Batches of events: each is a small graph of its own, whose vertices go to their owners."""
    dtype = getattr(torch, dtype_name)
    g = torch.Generator().manual_seed(9)
    n, count, batch = 30, 90, 30
    src, dst = torch.randint(n, (2, count), generator=g)
    t = torch.arange(count)
    msg = torch.randn(count, EDGE_WIDTH, generator=g, dtype=dtype)
    owner = torch.arange(n) % group.size

    def train(whole: bool) -> list[torch.Tensor]:
        torch.manual_seed(1)
        memory = TGNMemory(n, EDGE_WIDTH, 8, 6, IdentityMessage(EDGE_WIDTH, 8, 6), LastAggregator())
        memory = memory.to(dtype)
        embedding = TgnEmbedding(memory).to(dtype)
        model = embedding if whole else gnn.distribute(embedding, gnn.partition(_batch(0), owner=owner[_nodes(0)]))
        decoder = nn.Linear(8, 1).to(dtype)
        weights = nn.ModuleList([memory, embedding, decoder])
        results = []
        for start in range(0, count, batch):
            weights.zero_grad()
            data = _batch(start)
            part = data if whole else gnn.partition(data, owner=owner[_nodes(start)])
            if not whole:
                model.part = part
            rows = torch.arange(data.num_nodes) if whole else part.n_id
            # Of the whole batch: what LastAggregator gives a vertex without messages depends on how many are asked for.
            z, last = memory(_nodes(start))
            z = model(z[rows], last[rows], part.edge_index, part.t, part.msg)
            pairs = part.edge_label_index
            ends = (z[pairs[0]], z[pairs[1]]) if whole else links.ends(z, pairs)
            losses = F.softplus(-decoder(ends[0] * ends[1]))
            loss = losses.mean() if whole else gnn.global_mean(losses)
            loss.backward()
            if not whole:
                gnn.sum_gradients(weights)
            results += [loss.detach(), *(p.grad.clone() for p in weights.parameters() if p.grad is not None)]
            with torch.no_grad():
                for p in weights.parameters():
                    p -= 0.1 * p.grad if p.grad is not None else 0
            now = slice(start, start + batch)
            memory.update_state(src[now], dst[now], t[now], msg[now])
            memory.detach()
        return results

    def _nodes(start: int) -> torch.Tensor:
        return torch.cat([src[: start + batch], dst[: start + batch]]).unique()

    def _batch(start: int) -> Data:
        nodes, past = _nodes(start), slice(0, max(start, 1))
        local = [torch.searchsorted(nodes, each) for each in (src, dst)]
        now = slice(start, start + batch)
        return Data(
            num_nodes=len(nodes),
            edge_index=torch.stack([local[0][past], local[1][past]]),
            t=t[past],
            msg=msg[past],
            edge_label_index=torch.stack([local[0][now], local[1][now]]),
        )

    torch.set_default_dtype(dtype)  # TGNMemory's empty store of messages has it
    return float(group.max(torch.tensor(worst(train(whole=False), train(whole=True)))))
