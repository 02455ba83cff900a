# SPDX-License-Identifier: Apache-2.0
"""PyG's layers, norms, aggregations, poolings and models, each on a shared graph beside its twin in one process."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import nn
from torch_geometric import nn as pyg
from torch_geometric.data import Data
from torch_geometric.nn import aggr, models, pool
from torch_geometric.utils import dropout_edge, softmax, to_dense_adj, to_dense_batch, to_undirected

from offramp import gnn
from offramp.gnn.row_layout import whole_rows
from offramp.gnn.tags import tag_of, tensors
from offramp_base.errors import OfframpError

N, E, F, D = 24, 90, 8, 4
SINGLE = frozenset({"pool-ASA", "pool-Cluster", "model-SGFormer", "util-dense-adj"})
"""What PyG computes in float32 only."""


def graph(dtype: torch.dtype = torch.float64) -> Data:
    """A directed graph, its edges by target, with all fields that PyG's layers take."""
    g = torch.Generator().manual_seed(3)
    index = torch.randint(N, (2, E), generator=g)
    index = index[:, torch.argsort(index[1] * N + index[0])].unique(dim=1)
    index = index[:, torch.argsort(index[1] * N + index[0])]
    count = index.shape[1]

    def rows(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=g, dtype=torch.float64).to(dtype)

    return Data(
        x=rows(N, F) - 0.5,
        h=rows(N, F) - 0.5,
        history=rows(N, 3, F),
        pos=rows(N, 3),
        normal=rows(N, 3),
        colour=torch.randint(3, (N,), generator=g),
        batch=torch.arange(N) // 8,
        edge_index=index,
        edge_attr=rows(count, D),
        edge_weight=rows(count) + 0.1,
        edge_type=torch.randint(3, (count,), generator=g),
    )


def mlp(inputs: int = F, outputs: int = F) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))


class Call(nn.Module):
    """A function of a layer and the graph's fields."""

    def __init__(self, layer: Any, function: Any) -> None:
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, **fields: Any) -> Any:
        return self.function(self.layer, x, edge_index, fields)


def conv(layer: Any, *names: str) -> Any:
    return layer, lambda m, x, e, d: m(x, e, *(d[name] for name in names))


def reduced(layer: Any) -> Any:
    """An aggregation over the graphs of a batch."""
    return layer, lambda m, x, _, d: m(x, d["batch"])


def at_targets(layer: Any) -> Any:
    """An aggregation at the targets of edges."""
    return pyg.SimpleConv(aggr=layer), lambda m, x, e, _: m(x, e)


DEG = torch.tensor([2, 5, 7, 4, 3, 2, 1, 1])

LAYERS: dict[str, Any] = {
    "AGNNConv": lambda: conv(pyg.AGNNConv()),
    "APPNP": lambda: conv(pyg.APPNP(3, 0.1)),
    "ARMAConv": lambda: conv(pyg.ARMAConv(F, 6, 2, 2)),
    "AntiSymmetricConv": lambda: conv(pyg.AntiSymmetricConv(F)),
    "CGConv": lambda: conv(pyg.CGConv(F, D), "edge_attr"),
    "ChebConv": lambda: conv(pyg.ChebConv(F, 6, 3)),
    "ClusterGCNConv": lambda: conv(pyg.ClusterGCNConv(F, 6)),
    "DNAConv": lambda: (pyg.DNAConv(F, heads=2, groups=4), lambda m, _, e, d: m(d["history"], e)),
    "DirGNNConv": lambda: conv(pyg.DirGNNConv(pyg.GCNConv(F, 6, add_self_loops=False))),
    "EGConv": lambda: conv(pyg.EGConv(F, 6, aggregators=["sum", "mean", "max", "symnorm"], num_heads=3)),
    "EdgeConv": lambda: conv(pyg.EdgeConv(mlp(2 * F, 6))),
    "FAConv": lambda: (pyg.FAConv(F), lambda m, x, e, d: m(x, d["h"], e)),
    "FastRGCNConv": lambda: conv(pyg.FastRGCNConv(F, 6, 3), "edge_type"),
    "FeaStConv": lambda: conv(pyg.FeaStConv(F, 6, 2)),
    "FiLMConv": lambda: conv(pyg.FiLMConv(F, 6, 3), "edge_type"),
    "GATConv": lambda: conv(pyg.GATConv(F, 6, 2, edge_dim=D), "edge_attr"),
    "GATv2Conv": lambda: conv(pyg.GATv2Conv(F, 6, 2, edge_dim=D), "edge_attr"),
    "GCN2Conv": lambda: (pyg.GCN2Conv(F, 0.1), lambda m, x, e, d: m(x, d["h"], e)),
    "GCNConv": lambda: conv(pyg.GCNConv(F, 6), "edge_weight"),
    "GCNConv-backward": lambda: conv(pyg.GCNConv(F, 6, flow="target_to_source")),
    "GENConv": lambda: conv(pyg.GENConv(F, 6, edge_dim=D, learn_t=True), "edge_attr"),
    "GINConv": lambda: conv(pyg.GINConv(mlp(), train_eps=True)),
    "GINEConv": lambda: conv(pyg.GINEConv(mlp(), edge_dim=D), "edge_attr"),
    "GMMConv": lambda: conv(pyg.GMMConv(F, 6, D, 3), "edge_attr"),
    "GPSConv": lambda: conv(pyg.GPSConv(F, pyg.GCNConv(F, F), 2), "batch"),
    "GPSConv-one": lambda: conv(pyg.GPSConv(F, pyg.SAGEConv(F, F), 2)),
    "GPSConv-performer": lambda: conv(pyg.GPSConv(F, pyg.GCNConv(F, F), 2, attn_type="performer"), "batch"),
    "GatedGraphConv": lambda: conv(pyg.GatedGraphConv(F, 2)),
    "GeneralConv": lambda: conv(pyg.GeneralConv(F, 6, D, attention=True), "edge_attr"),
    "GraphConv": lambda: conv(pyg.GraphConv(F, 6, aggr="max")),
    "HEATConv": lambda: (
        pyg.HEATConv(F, 6, 3, 3, 4, D, 4, heads=2),
        lambda m, x, e, d: m(x, e, d["colour"], d["edge_type"], d["edge_attr"]),
    ),
    "HypergraphConv": lambda: conv(pyg.HypergraphConv(F, 6)),
    "HypergraphConv-attention": lambda: (
        pyg.HypergraphConv(F, 6, use_attention=True, heads=2),
        lambda m, x, e, d: m(x, e, hyperedge_attr=d["h"]),
    ),
    "LEConv": lambda: conv(pyg.LEConv(F, 6)),
    "LGConv": lambda: conv(pyg.LGConv()),
    "MFConv": lambda: conv(pyg.MFConv(F, 6, 4)),
    "MixHopConv": lambda: conv(pyg.MixHopConv(F, 6)),
    "NNConv": lambda: conv(pyg.NNConv(F, 6, nn.Linear(D, 6 * F)), "edge_attr"),
    "PANConv": lambda: (pyg.PANConv(F, 6, 2), lambda m, x, e, _: m(x, e)[0]),
    "PDNConv": lambda: conv(pyg.PDNConv(F, 6, D, 5), "edge_attr"),
    "PNAConv": lambda: conv(
        pyg.PNAConv(F, 6, ["mean", "max", "std", "var"], ["identity", "amplification", "linear"], DEG, edge_dim=D),
        "edge_attr",
    ),
    "PPFConv": lambda: (pyg.PPFConv(mlp(F + 4, 6)), lambda m, x, e, d: m(x, d["pos"], d["normal"], e)),
    "PointGNNConv": lambda: (
        pyg.PointGNNConv(mlp(F, 3), mlp(F + 3, F), mlp(F, F)),
        lambda m, x, e, d: m(x, d["pos"], e),
    ),
    "PointNetConv": lambda: (pyg.PointNetConv(mlp(F + 3, 6)), lambda m, x, e, d: m(x, d["pos"], e)),
    "PointTransformerConv": lambda: (pyg.PointTransformerConv(F, 6), lambda m, x, e, d: m(x, d["pos"], e)),
    "RGATConv": lambda: conv(pyg.RGATConv(F, 6, 3, edge_dim=D), "edge_type", "edge_attr"),
    "RGCNConv": lambda: conv(pyg.RGCNConv(F, 6, 3, num_bases=2), "edge_type"),
    "ResGatedGraphConv": lambda: conv(pyg.ResGatedGraphConv(F, 6, edge_dim=D), "edge_attr"),
    "SAGEConv": lambda: conv(pyg.SAGEConv(F, 6, project=True)),
    "SAGEConv-lstm": lambda: conv(pyg.SAGEConv(F, 6, aggr="lstm")),
    "SAGEConv-median": lambda: conv(pyg.SAGEConv(F, 6, aggr="median")),
    "SGConv": lambda: conv(pyg.SGConv(F, 6, 2)),
    "SSGConv": lambda: conv(pyg.SSGConv(F, 6, 0.1, 2)),
    "SignedConv": lambda: (pyg.SignedConv(F, 6, first_aggr=True), lambda m, x, e, _: m(x, e, e.flip(0))),
    "SimpleConv": lambda: conv(pyg.SimpleConv("mean", combine_root="cat")),
    "SuperGATConv": lambda: conv(pyg.SuperGATConv(F, 6, 2, attention_type="SD", is_undirected=False)),
    "TAGConv": lambda: conv(pyg.TAGConv(F, 6, 2)),
    "TransformerConv": lambda: conv(pyg.TransformerConv(F, 6, 2, edge_dim=D, beta=True), "edge_attr"),
    "WLConv": lambda: (pyg.WLConv(), lambda m, _, e, d: m(d["colour"], e)),
    "WLConvContinuous": lambda: conv(pyg.WLConvContinuous(), "edge_weight"),
    # Norms
    **{
        f"norm-{name}": (
            lambda make=make, batch=batch: (make(), lambda m, x, _, d: m(x, d["batch"]) if batch else m(x))
        )
        for name, make, batch in [
            ("BatchNorm", lambda: pyg.BatchNorm(F), False),
            ("DiffGroupNorm", lambda: pyg.DiffGroupNorm(F, 3), False),
            ("GraphNorm", lambda: pyg.GraphNorm(F), False),
            ("GraphNorm-batch", lambda: pyg.GraphNorm(F), True),
            ("GraphSizeNorm", pyg.GraphSizeNorm, False),
            ("GraphSizeNorm-batch", pyg.GraphSizeNorm, True),
            ("InstanceNorm", lambda: pyg.InstanceNorm(F), False),
            ("InstanceNorm-batch", lambda: pyg.InstanceNorm(F), True),
            ("LayerNorm", lambda: pyg.LayerNorm(F), False),
            ("LayerNorm-batch", lambda: pyg.LayerNorm(F), True),
            ("LayerNorm-node", lambda: pyg.LayerNorm(F, mode="node"), False),
            ("MeanSubtractionNorm", pyg.MeanSubtractionNorm, False),
            ("MeanSubtractionNorm-batch", pyg.MeanSubtractionNorm, True),
            ("PairNorm", pyg.PairNorm, False),
            ("PairNorm-batch", pyg.PairNorm, True),
        ]
    },
    "norm-HeteroBatchNorm": lambda: (pyg.HeteroBatchNorm(F, 3), lambda m, x, _, d: m(x, d["colour"])),
    "norm-HeteroLayerNorm": lambda: (pyg.HeteroLayerNorm(F, 3), lambda m, x, _, d: m(x, d["colour"])),
    "norm-MessageNorm": lambda: (pyg.MessageNorm(True), lambda m, x, _, d: m(x, d["h"])),
    # Aggregations over the graphs of a batch, and at the targets of edges
    **{
        f"{where}-{name}": (lambda make=make, use=use: use(make()))
        for where, use in (("readout", reduced), ("aggregation", at_targets))
        for name, make in {
            "sum": aggr.SumAggregation,
            "mean": aggr.MeanAggregation,
            "max": aggr.MaxAggregation,
            "min": aggr.MinAggregation,
            "mul": aggr.MulAggregation,
            "var": aggr.VarAggregation,
            "std": aggr.StdAggregation,
            "softmax": lambda: aggr.SoftmaxAggregation(learn=True),
            "powermean": lambda: aggr.PowerMeanAggregation(learn=True),
            "median": aggr.MedianAggregation,
            "quantile": lambda: aggr.QuantileAggregation([0.2, 0.7]),
            "lstm": lambda: aggr.LSTMAggregation(F, F),
            "gru": lambda: aggr.GRUAggregation(F, F),
            "multi": lambda: aggr.MultiAggregation(["mean", "max", "std"]),
            "attentional": lambda: aggr.AttentionalAggregation(nn.Linear(F, 1)),
            "set2set": lambda: aggr.Set2Set(F, 2),
            "deepsets": lambda: aggr.DeepSetsAggregation(mlp(), mlp()),
            "settransformer": lambda: aggr.SetTransformerAggregation(F, 2, heads=2),
            "sort": lambda: aggr.SortAggregation(3),
            "variance": aggr.VariancePreservingAggregation,
            "degreescaler": lambda: aggr.DegreeScalerAggregation(["mean"], ["amplification", "attenuation"], DEG),
            "lcm": lambda: aggr.LCMAggregation(F, F),
            "mlp": lambda: aggr.MLPAggregation(F, F, 30, num_layers=1),
            "multiset": lambda: aggr.GraphMultisetTransformer(F, 3, heads=2),
        }.items()
    },
    # Pooling
    "pool-global_mean": lambda: (None, lambda _, x, __, ___: pyg.global_mean_pool(x, None)),
    "pool-global_add": lambda: (None, lambda _, x, __, d: pyg.global_add_pool(x, d["batch"])),
    "pool-global_max": lambda: (None, lambda _, x, __, d: pyg.global_max_pool(x, d["batch"])),
    "pool-TopK": lambda: (pool.TopKPooling(F), lambda m, x, e, d: m(x, e, batch=d["batch"])[0]),
    "pool-SAG": lambda: (pool.SAGPooling(F), lambda m, x, e, d: m(x, e, batch=d["batch"])[0]),
    "pool-ASA": lambda: (pool.ASAPooling(F), lambda m, x, e, d: m(x, e, batch=d["batch"])[0]),
    "pool-Edge": lambda: (pool.EdgePooling(F), lambda m, x, e, d: m(x, e, d["batch"])[0]),
    "pool-Mem": lambda: (pool.MemPooling(F, 6, 2, 3), lambda m, x, _, d: m(x, d["batch"])[0]),
    "pool-Cluster": lambda: (pool.ClusterPooling(F), lambda m, x, e, d: m(x, e, d["batch"])[0]),
    "pool-PAN": lambda: (
        nn.ModuleList([pyg.PANConv(F, F, 2), pool.PANPooling(F)]),
        lambda m, x, e, _: m[1](*m[0](x, e))[0],
    ),
    "pool-max": lambda: (
        None,
        lambda _, x, e, d: pool.max_pool(d["colour"], Data(x=x, edge_index=e, batch=d["batch"])).x,
    ),
    "pool-avg": lambda: (None, lambda _, x, e, d: pool.avg_pool(d["colour"], Data(x=x, edge_index=e)).x),
    "pool-knn-interpolate": lambda: (
        nn.Linear(F, F),
        lambda m, x, _, __: m(x) - m(x).topk(3, dim=0).values.mean(0),
    ),
    # Models
    "model-GraphUNet": lambda: conv(models.GraphUNet(F, 8, 6, depth=2)),
    "model-LINKX": lambda: (models.LINKX(N, F, 8, 6, 2), lambda m, x, e, d: m(x, e, d["edge_weight"])),
    "model-DeepGraphInfomax": lambda: (infomax(), lambda m, x, e, _: m(x, e)),
    "model-GAE": lambda: (models.GAE(pyg.GCNConv(F, 6)), lambda m, x, e, _: m.decode(m.encode(x, e), e)),
    "model-GAE-all": lambda: (models.GAE(pyg.GCNConv(F, 6)), lambda m, x, e, _: m.decoder.forward_all(m.encode(x, e))),
    "model-VGAE": lambda: (models.VGAE(Variational()), lambda m, x, e, _: (m.encode(x, e), m.kl_loss())),
    "model-JumpingKnowledge": lambda: (
        models.JumpingKnowledge("lstm", F, 2),
        lambda m, x, _, d: m([x, d["h"], x * d["h"]]),
    ),
    "model-AttentiveFP": lambda: (
        models.AttentiveFP(F, 8, 6, D, 2, 2),
        lambda m, x, e, d: m(x, e, d["edge_attr"], d["batch"]),
    ),
    "model-RECT": lambda: (models.RECT_L(F, 8), lambda m, x, e, d: m(x, e, d["edge_weight"])),
    "model-LabelPropagation": lambda: (models.LabelPropagation(3, 0.5), lambda m, _, e, d: m(d["colour"], e)),
    "model-DeepGCN": lambda: conv(models.DeepGCNLayer(pyg.GENConv(F, F), nn.LayerNorm(F), nn.ReLU(), "res+", 0.0)),
    "model-GroupAddRev": lambda: conv(models.GroupAddRev(pyg.SAGEConv(F // 2, F // 2), num_groups=2)),
    "model-MLP": lambda: (models.MLP([F, 8, 6], norm="layer_norm"), lambda m, x, _, __: m(x)),
    "model-MLP-batch": lambda: (models.MLP([F, 8, 6]), lambda m, x, _, __: m(x)),
    "model-PMLP": lambda: conv(models.PMLP(F, 8, 6, 2)),
    "model-MetaLayer": lambda: (Meta(), lambda m, x, e, d: m(x, e, d["edge_attr"], d["batch"])),
    "model-NeuralFingerprint": lambda: conv(models.NeuralFingerprint(F, 8, 6, 2), "batch"),
    "model-SGFormer": lambda: conv(models.SGFormer(F, 8, 6, trans_dropout=0.0, gnn_dropout=0.0), "batch"),
    "model-Polynormer": lambda: conv(
        models.Polynormer(F, 8, 6, in_dropout=0.0, dropout=0.0, global_dropout=0.0), "batch"
    ),
    "model-MaskLabel": lambda: (models.MaskLabel(3, F), lambda m, x, _, d: m(x, d["colour"], d["colour"] > 0)),
    "model-GIN": lambda: conv(models.GIN(F, 8, 2, 6, norm="batch", jk="max")),
    "model-EdgeCNN": lambda: conv(models.EdgeCNN(F, 8, 2, 6)),
    "model-LightGCN": lambda: (models.LightGCN(N, 6, 2), lambda m, _, e, __: m.get_embedding(e)),
    "model-CorrectAndSmooth": lambda: (
        models.CorrectAndSmooth(2, 0.5, 2, 0.5),
        lambda m, x, e, d: m.smooth(x[:, :3].softmax(-1), d["colour"][d["colour"] > 0], d["colour"] > 0, e),
    ),
    # Functions
    "util-softmax": lambda: (None, lambda _, x, e, __: softmax(x[e[0]], e[1])),
    "util-softmax-sources": lambda: (None, lambda _, x, e, __: softmax(x[e[1]], e[0])),
    "util-dense-batch": lambda: (None, lambda _, x, __, d: to_dense_batch(x, d["batch"])[0]),
    "util-dense-adj": lambda: (None, lambda _, x, e, __: to_dense_adj(e, max_num_nodes=N)[0] @ x),
    "util-dropout-edge": lambda: (pyg.GraphConv(F, 6), lambda m, x, e, _: m(x, dropout_edge(e, 0.4)[0])),
    "util-undirected": lambda: (pyg.GraphConv(F, 6), lambda m, x, e, _: m(x, to_undirected(e))),
    "util-sparse": lambda: (
        None,
        lambda _, x, e, d: torch.sparse_coo_tensor(e.flip(0), d["edge_weight"], (N, N)) @ x,
    ),
}


def infomax() -> nn.Module:
    return models.DeepGraphInfomax(
        8,
        Encoder(),
        summary=summary,
        corruption=corruption,
    )


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = pyg.GCNConv(F, 8)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.conv(x, edge_index).relu()


class Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mu, self.logstd = pyg.GCNConv(F, 6), pyg.GCNConv(F, 6)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> Any:
        return self.mu(x, edge_index), self.logstd(x, edge_index)


def summary(z: torch.Tensor, *_: Any) -> torch.Tensor:
    return z.mean(dim=0).sigmoid()


def corruption(x: torch.Tensor, edge_index: torch.Tensor) -> Any:
    return x[torch.randperm(x.size(0))], edge_index


class Meta(nn.Module):
    """PyG's example of a MetaLayer."""

    def __init__(self) -> None:
        super().__init__()
        self.edge, self.node, self.whole = nn.Linear(2 * F + D + F, D), nn.Linear(F + D, F), nn.Linear(2 * F, F)
        self.layer = models.MetaLayer(self.edges, self.nodes, self.all)
        self.start = nn.Parameter(torch.rand(3, F))

    def edges(self, source, target, attr, u, batch):
        return self.edge(torch.cat([source, target, attr, u[batch]], 1)).relu()

    def nodes(self, x, edge_index, attr, u, batch):
        col = edge_index[1]
        return self.node(torch.cat([x, pyg.SumAggregation()(attr, col, dim_size=x.size(0))], 1)).relu()

    def all(self, x, edge_index, attr, u, batch):
        return self.whole(torch.cat([u, pyg.global_mean_pool(x, batch)], 1))

    def forward(self, x, edge_index, attr, batch):
        return self.layer(x, edge_index, attr, self.start, batch)


FIELDS = ("h", "history", "pos", "normal", "colour", "batch", "edge_attr", "edge_weight", "edge_type")


def _whole(value: torch.Tensor) -> torch.Tensor:
    tag = tag_of(value)
    return value if tag is None else whole_rows(value, tag.layout, tag.dim)


def _run(model: nn.Module, data: Any, share: float, parameters: list[torch.Tensor]) -> tuple[list[Any], list[Any]]:
    fields = {name: getattr(data, name) for name in FIELDS}
    outputs = [_whole(each) for each in tensors(model(data.x, data.edge_index, **fields)) if each.is_floating_point()]
    copies = [each.detach().clone() for each in outputs]  # as reversible layers free theirs on the way back
    loss: Any = 0.0
    for number, out in enumerate(outputs):
        weight = torch.rand(out.shape, generator=torch.Generator().manual_seed(number), dtype=torch.float64)
        loss = loss + (out * weight).nan_to_num().sum()
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        (loss * share).backward()
    return copies, [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]


def _far(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    if [a.shape for a in actual] != [b.shape for b in expected]:
        return float("inf")
    return max(
        (float(((a - b).abs() / b.abs().clamp(min=1)).nan_to_num().max()) for a, b in zip(actual, expected, strict=True)
         if a.numel()), default=0.0,
    )  # fmt: skip


def compare(group: Any, names: list[str], report: Any) -> dict[str, str]:
    """For each layer ``exact``, ``gathered`` (exact, from whole tensors), ``refused: …`` or what differs."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    results: dict[str, str] = {}
    owner = torch.randint(group.size, (N,), generator=torch.Generator().manual_seed(1))
    for name in names or LAYERS:
        torch.manual_seed(7)
        dtype = torch.float32 if name in SINGLE else torch.float64
        model, whole = Call(*LAYERS[name]()).to(dtype), graph(dtype)
        part = gnn.partition(whole, owner=owner)
        twin = copy.deepcopy(model)
        torch.manual_seed(2)
        try:
            expected, gradients = _run(model, whole, 1.0, list(model.parameters()))
        except Exception as error:
            results[name] = f"fails in one process: {type(error).__name__}: {str(error)[:100]}"
            continue
        torch.manual_seed(2 + group.rank)
        distributed = gnn.distribute(twin, part)
        try:
            actual, shares = _run(distributed, part, 1 / group.size, list(twin.parameters()))
            sums = [group.sum(each.clone(memory_format=torch.contiguous_format)) for each in shares]
            far = _far(actual, expected), _far(sums, gradients)
            buffers = _far([b.double() for b in twin.buffers()], [b.double() for b in model.buffers()])
            exact = "gathered" if distributed.gathered else "exact"
            results[name] = (
                exact if max(*far, buffers) < (1e-4 if name in SINGLE else 1e-9) else f"DIFFERENT: {far} {buffers}"
            )
        except OfframpError as error:
            results[name] = f"refused: {error}"
        except Exception as error:
            results[name] = f"DIFFERENT: {type(error).__name__}: {str(error)[:200]}"
        report(f"{group.rank} {name}: {results[name]} {dict(distributed.gathered)}")
    return results
