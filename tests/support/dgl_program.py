# SPDX-License-Identifier: Apache-2.0
"""Run by an interpreter that has DGL: its layers on parts of a graph against DGL itself on the whole graph.

    torchrun --nproc-per-node 2 dgl_program.py FILE

Rank 0 writes the largest differences of losses, scores and gradients of two steps to FILE, by model.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("DGLBACKEND", "pytorch")

import dgl
import torch
import torch.distributed as dist
from dgl.nn import pytorch as layers
from torch import nn

from offramp import gnn
from offramp.gnn.dgl import rank_graph
from offramp_base.errors import OfframpError

VERTICES, EDGES, WIDTH, CLASSES = 60, 300, 6, 3


def graph() -> dgl.DGLGraph:
    """A directed graph with parallel edges, and a self-loop at each vertex."""
    generator = torch.Generator().manual_seed(5)
    ends = torch.randint(VERTICES, (2, EDGES), generator=generator)
    one = dgl.add_self_loop(dgl.graph((ends[0], ends[1]), num_nodes=VERTICES))
    one.ndata["feat"] = torch.randn(VERTICES, WIDTH, generator=generator, dtype=torch.float64)
    one.ndata["label"] = torch.randint(CLASSES, (VERTICES,), generator=generator)
    one.edata["w"] = torch.rand(one.num_edges(), 2, generator=generator, dtype=torch.float64)
    one.edata["kind"] = torch.randint(2, (one.num_edges(),), generator=generator)
    return one


class Net(nn.Module):
    """A layer of DGL's, a norm over all vertices, and a dense layer."""

    def __init__(self, layer: nn.Module, out: int, how: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.layer, self.norm, self.dense, self.how = layer, nn.BatchNorm1d(out), nn.Linear(out, CLASSES), how

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor, w: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        """Class scores."""
        rows = self.how(self.layer, graph, x, w, kind)
        return self.dense(torch.tanh(self.norm(rows.flatten(1))))


def simply(layer: nn.Module, graph: dgl.DGLGraph, x: torch.Tensor, w: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
    """Without fields of edges."""
    del w, kind
    return layer(graph, x)


def weighted(
    layer: nn.Module, graph: dgl.DGLGraph, x: torch.Tensor, w: torch.Tensor, kind: torch.Tensor
) -> torch.Tensor:
    """With edge features."""
    del kind
    return layer(graph, x, w)


def by_kind(
    layer: nn.Module, graph: dgl.DGLGraph, x: torch.Tensor, w: torch.Tensor, kind: torch.Tensor
) -> torch.Tensor:
    """With the kinds of edges."""
    del w
    return layer(graph, x, kind)


MODELS: dict[str, tuple[Callable[[], nn.Module], int, Callable[..., torch.Tensor]]] = {
    **{
        f"GraphConv {norm}": (lambda norm=norm: layers.GraphConv(WIDTH, 4, norm=norm), 4, simply)
        for norm in ("both", "right", "left", "none")
    },
    "GraphConv wider": (lambda: layers.GraphConv(WIDTH, 9), 9, simply),
    **{
        f"SAGEConv {kind}": (lambda kind=kind: layers.SAGEConv(WIDTH, 4, kind), 4, simply)
        for kind in ("mean", "gcn", "pool", "lstm")
    },
    "GATConv": (lambda: layers.GATConv(WIDTH, 2, 3, residual=True), 6, simply),
    "GATv2Conv": (lambda: layers.GATv2Conv(WIDTH, 2, 3), 6, simply),
    "EdgeGATConv": (lambda: layers.EdgeGATConv(WIDTH, 2, 2, 3), 6, weighted),
    "GINConv": (lambda: layers.GINConv(nn.Linear(WIDTH, 4), "max", learn_eps=True), 4, simply),
    "EdgeConv": (lambda: layers.EdgeConv(WIDTH, 4), 4, simply),
    "AGNNConv": (layers.AGNNConv, WIDTH, simply),
    "DotGatConv": (lambda: layers.DotGatConv(WIDTH, 2, 3), 6, simply),
    "NNConv": (lambda: layers.NNConv(WIDTH, 2, nn.Linear(2, 2 * WIDTH), "mean"), 2, weighted),
    "RelGraphConv": (lambda: layers.RelGraphConv(WIDTH, 4, 2, "basis", 2), 4, by_kind),
    "CFConv": (lambda: layers.CFConv(WIDTH, 2, 5, 4), 4, weighted),
    "GINEConv": (lambda: layers.GINEConv(nn.Linear(WIDTH, 4)), 4, lambda la, g, x, w, _: la(g, x, w.repeat(1, 3))),
}


def steps(model: nn.Module, run: Callable[[], torch.Tensor], mean: Callable[[torch.Tensor], torch.Tensor],
          labels: torch.Tensor, add: Callable[[nn.Module], None]) -> list[torch.Tensor]:  # fmt: skip
    """Losses and gradients of two steps."""
    optimiser, seen = torch.optim.SGD(model.parameters(), 0.3), []
    for _ in range(2):
        optimiser.zero_grad()
        loss = mean(nn.functional.cross_entropy(run(), labels, reduction="none"))
        loss.backward()
        add(model)
        optimiser.step()
        seen += [loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]
    return seen


def differences() -> dict[str, float]:
    """The largest difference of each model."""
    whole, seen = graph(), {}
    part = gnn.partition(whole, owner=[v * 7 % dist.get_world_size() for v in range(VERTICES)])
    block = rank_graph(part)
    for name, (make, out, how) in MODELS.items():
        torch.manual_seed(3)
        alone = Net(make(), out, how).double()
        torch.manual_seed(3)
        shared = gnn.distribute(Net(make(), out, how).double(), part)
        fields = whole.edata["w"], whole.edata["kind"]
        x, labels = whole.ndata["feat"], whole.ndata["label"]
        expected = steps(alone, lambda: alone(whole, x, *fields), torch.mean, labels, lambda _: None)  # noqa: B023
        actual = steps(
            shared, lambda: shared(block, part.x, part.edge_w, part.edge_kind), gnn.global_mean, part.y,  # noqa: B023
            gnn.sum_gradients,
        )  # fmt: skip
        gaps = [float((a - b).abs().max()) for a, b in zip(actual, expected, strict=True)]
        seen[name] = max(gaps)
    return seen


def refusals() -> dict[str, str]:
    """Messages of layers that are not distributed."""
    part, seen = gnn.partition(graph(), owner="hash"), {}
    for name, layer in {"SGConv": layers.SGConv(WIDTH, 4, k=2), "TAGConv": layers.TAGConv(WIDTH, 4)}.items():
        try:
            gnn.distribute(layer, part)
        except OfframpError as error:
            seen[name] = str(error)
    dropping = gnn.distribute(layers.GATConv(WIDTH, 2, 2, attn_drop=0.5).double(), part)
    try:
        dropping(rank_graph(part), part.x)
    except OfframpError as error:
        seen["dropout"] = str(error)
    dropping.eval()
    dropping(rank_graph(part), part.x)
    return seen


def read_graphbolt(folder: Path) -> None:
    """Write what GraphBolt reads of a data set beside it."""
    from dgl import graphbolt

    data = graphbolt.OnDiskDataset(str(folder)).load()
    csc, task = data.graph, data.tasks[0]
    arrays = {"indptr": csc.csc_indptr, "indices": csc.indices, "x": data.feature.read("node", None, "feat")}
    for name in ("train_set", "validation_set", "test_set"):
        ids, labels = zip(*(getattr(task, name)[i] for i in range(len(getattr(task, name)))), strict=True)
        arrays |= {f"{name} ids": torch.stack(ids), f"{name} labels": torch.stack(labels)}
    torch.save(arrays, folder.parent / "graphbolt.pt")


def main(path: Path) -> None:
    """Compare, and write what files other tests read."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    results = {"version": dgl.__version__, "differences": differences(), "refusals": refusals()}
    if dist.get_rank() == 0:
        dgl.distributed.partition_graph(graph(), "parts", 2, str(path.parent / "parts"), part_method="random")
        dgl.save_graphs(str(path.parent / "whole.dgl"), [graph()])
        if (path.parent / "bolt").exists():
            read_graphbolt(path.parent / "bolt")
        path.write_text(json.dumps(results), encoding="utf-8")
    dist.barrier()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
