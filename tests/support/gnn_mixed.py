# SPDX-License-Identifier: Apache-2.0
"""What models do to rows of vertices beside message passing, on ranks and in one process: values and gradients."""

from __future__ import annotations

import copy
import random
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
import torch.utils.checkpoint
from torch import nn

from offramp import gnn
from offramp_base.errors import OfframpError

N, WIDTH = 40, 8


def graph() -> SimpleNamespace:
    g = torch.Generator().manual_seed(0)
    return SimpleNamespace(
        num_nodes=N,
        x=torch.randn(N, WIDTH, generator=g, dtype=torch.float64),
        edge_index=torch.randint(N, (2, 160), generator=g),
        batch=torch.arange(N) // 10,
    )


@torch.jit.script
def centred(z: torch.Tensor) -> torch.Tensor:
    return z - z.mean(0)


class Standardise(torch.autograd.Function):
    """A function with a backward of its own."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor) -> torch.Tensor:
        return z - z.mean(0)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient - gradient.mean(0)


def assigned(z: torch.Tensor, write: Any) -> torch.Tensor:
    z = z.clone()
    write(z)
    return z


def filled(z: torch.Tensor, write: Any) -> torch.Tensor:
    out = torch.zeros(len(z), z.shape[1], dtype=z.dtype)
    write(out)
    return out


def items(z: torch.Tensor, change: Any) -> torch.Tensor:
    z = z.clone()
    for k in range(3):
        z[k] = change(z[k])
    return z


def transposed_view(z: torch.Tensor) -> torch.Tensor:
    z = z.clone()
    z.t()[0].mul_(2)
    return z


EXACT: dict[str, Any] = {
    "transposed": lambda z, e, b: z @ (z.t() @ z),
    "all pairs": lambda z, e, b: torch.softmax(z @ z.t(), -1) @ z,
    "softmax over rows": lambda z, e, b: torch.softmax(z, 0),
    "sorted": lambda z, e, b: z.sort(dim=0)[0],
    "reversed edges": lambda z, e, b: z[e.flip(0)[0]].mean(0) + z,
    "exchanged ends": lambda z, e, b: z + torch.zeros_like(z).index_add(0, e[[1, 0]][1], z[e[[1, 0]][0]]),
    "columns": lambda z, e, b: z.t()[:, e[0]].mean(1) + z,
    "joined": lambda z, e, b: torch.cat([z, z])[N:] + z[:1],
    "einsum": lambda z, e, b: torch.einsum("nf,mf->nm", z, z) @ z,
    "largest at sources": lambda z, e, b: torch.zeros(N, WIDTH).double().scatter_reduce(
        0, e[0][:, None].expand(-1, WIDTH), z[e[1]], "amax"
    ),
    "by list": lambda z, e, b: z - z[[0, 1, 2]].sum(0),
    "by mask": lambda z, e, b: z - z[z[:, 0] > 0].mean(0),
    "by two": lambda z, e, b: z - z[:3, 1].sum() + z[[0, 1], [2, 3]].sum(),
    "by None": lambda z, e, b: (z[None, :, None] * 2)[0, :, 0],
    "by numbers of others": lambda z, e, b: z[(e[0] + 1) % N].sum(0) + z,
    "by numbers of rows": lambda z, e, b: z + z[b],
    "negative": lambda z, e, b: z - z[-1],
    "strided": lambda z, e, b: z - z[::2].mean(0),
    "permutation": lambda z, e, b: z + z[torch.randperm(len(z))],
    "random rows": lambda z, e, b: z * torch.rand_like(z),
    "random whole": lambda z, e, b: z * torch.rand(z.shape, dtype=z.dtype),
    "in place random": lambda z, e, b: z + torch.empty(len(z), 1, dtype=z.dtype).uniform_(),
    "bernoulli": lambda z, e, b: z * torch.bernoulli(torch.full((len(z), 1), 0.5, dtype=z.dtype)),
    "distribution": lambda z, e, b: z + torch.distributions.Normal(z, 1.0).rsample(),
    "feature dropout": lambda z, e, b: F.dropout1d(z[None])[0],
    "NumPy's generator": lambda z, e, b: z * float(np.random.rand()),  # noqa: NPY002
    "Python's generator": lambda z, e, b: z + z[random.sample(range(len(z)), 5)].mean(0),
    "whole array": lambda z, e, b: z - torch.from_numpy(np.asarray(z.detach()).mean(0)),
    "iteration": lambda z, e, b: z - sum(row for row in z) / len(z),
    "max of Python": lambda z, e, b: z - max(float(row.sum()) for row in z),
    "decision": lambda z, e, b: z * 2 if z.sum() > 0 else z * 3,
    "format": lambda z, e, b: z * len(f"{z.shape}{z.sum().item():.3f}"),
    "numbers of rows": lambda z, e, b: z + torch.arange(len(z))[:, None],
    "eye": lambda z, e, b: torch.eye(len(z), dtype=z.dtype) @ z,
    "identity rows": lambda z, e, b: z[torch.arange(z.size(0))] + z,
    "layout of lines": lambda z, e, b: z * torch.linspace(0, 1, len(z), dtype=z.dtype)[:, None],
    "view": lambda z, e, b: z.view(len(z), 2, 4).transpose(1, 2).reshape(len(z), -1),
    "view over rows": lambda z, e, b: z.reshape(2, N // 2, WIDTH).mean(0).repeat(2, 1),
    "flat": lambda z, e, b: z + z.flatten().std(),
    "assign row": lambda z, e, b: assigned(z, lambda w: w.__setitem__(5, 0.0)),
    "assign slice": lambda z, e, b: assigned(z, lambda w: w.__setitem__(slice(3, 9), w[9:15] * 2)),
    "assign column": lambda z, e, b: assigned(z, lambda w: w.__setitem__((slice(None), 2), w[:, 3])),
    "assign mask": lambda z, e, b: assigned(z, lambda w: w.__setitem__(z[:, 0] > 0, 0.5)),
    "assign masked rows": lambda z, e, b: assigned(z, lambda w: w.__setitem__(z[:, 0] > 0, z[z[:, 0] > 0] * 2)),
    "add at rows": lambda z, e, b: filled(z, lambda o: o.index_add_(0, b, z)),
    "add in place": lambda z, e, b: assigned(z, lambda w: w.add_(w.mean(0)).mul_(2)),
    "put": lambda z, e, b: filled(z, lambda o: o.index_put_((b,), z, accumulate=True)),
    "copy": lambda z, e, b: filled(z, lambda o: o.copy_(z)) + z,
    "loop": lambda z, e, b: items(z, lambda row: row * 2),
    "transposed view": lambda z, e, b: transposed_view(z),
    "deep copy": lambda z, e, b: z + copy.deepcopy(z.detach()).mean(0),
    "convolution": lambda z, e, b: z + F.conv1d(z.t()[None], torch.ones(8, 8, 3, dtype=z.dtype), padding=1)[0].t(),
    "pooling": lambda z, e, b: z + F.adaptive_avg_pool1d(z.t()[None], 1)[0].t(),
    "distances": lambda z, e, b: torch.cdist(z, z).mean(1, keepdim=True) + z,
    "attention": lambda z, e, b: z + F.scaled_dot_product_attention(z[None], z[None], z[None])[0],
    "causal attention": lambda z, e, b: z + F.scaled_dot_product_attention(*[z[None]] * 3, is_causal=True)[0],
    "attention in a row": lambda z, e, b: F.scaled_dot_product_attention(*[z.view(-1, 2, 4)] * 3).reshape(-1, WIDTH),
    "masked": lambda z, e, b: z - torch.masked_select(z, z > 0).mean(),
    "counts": lambda z, e, b: z * torch.bincount(b).double().mean() + (z > 0).sum() + torch.count_nonzero(z),
    "where": lambda z, e, b: torch.where(z > 0, z, torch.zeros(len(z), 1, dtype=z.dtype)) + len(torch.where(z > 0)[0]),
    "nonzero": lambda z, e, b: z + z[(z[:, 0] > 0).nonzero().flatten()].sum(0),
    "variance of all": lambda z, e, b: z / z.var() + z.std(0, unbiased=False) + z.var(dim=(0, 1), keepdim=True),
    "norms": lambda z, e, b: z / z.norm() + torch.linalg.vector_norm(z, dim=0) + F.normalize(z, dim=0),
    "any and all": lambda z, e, b: z * (z > 2).any() + z * (z > -9).all(0),
    "unique": lambda z, e, b: z + torch.unique((z[:, 0] * 3).long()).numel(),
    "loss inside": lambda z, e, b: z * F.cross_entropy(z, b),
    "one hot": lambda z, e, b: F.one_hot(b).double() @ torch.ones(4, WIDTH, dtype=z.dtype) + z,
    "embedding": lambda z, e, b: z + F.embedding(b, torch.ones(4, WIDTH, dtype=z.dtype)),
    "sparse": lambda z, e, b: torch.sparse_coo_tensor(e, torch.ones(e.shape[1], dtype=z.dtype), (N, N)) @ z,
    "degrees": lambda z, e, b: z / (1 + torch.bincount(e[1], minlength=len(z)))[:, None],
    "edge numbers": lambda z, e, b: z + (e[0] * len(z) + e[1]).double().mean() + e.max(),
    "edge count": lambda z, e, b: z * e.shape[1] / e.numel(),
    "first edges": lambda z, e, b: z + z[e[0, :5]].sum(0),
    "kept edges": lambda z, e, b: z + torch.zeros_like(z).index_add(0, *ends(z, e[:, e[0] < e[1]])),
    "random edges": lambda z, e, b: z + torch.zeros_like(z).index_add(0, *ends(z, e[:, torch.rand(e.shape[1]) < 0.5])),
    "sorted edges": lambda z, e, b: z + z[e[0][torch.argsort(e[1])]].cumsum(0)[-1],
    "cells": lambda z, e, b: z + torch.gru_cell(z, z, *weights(3)) + torch.lstm_cell(z, (z, z), *weights(4))[0],
    "backward of one's own": lambda z, e, b: z + Standardise.apply(z),
    "script": lambda z, e, b: z + centred(z),
    "checkpoint": lambda z, e, b: torch.utils.checkpoint.checkpoint(
        lambda w: w * w.mean(0), z, use_reentrant=True, preserve_rng_state=False
    ),
    "type of another": lambda z, e, b: z.to(torch.ones(3, 8, dtype=z.dtype)).type_as(torch.ones(5, dtype=z.dtype)),
    "padded": lambda z, e, b: F.pad(z, (0, 0, 1, 0))[:-1] + z,
    "fourier": lambda z, e, b: torch.fft.fft(z, dim=0).real + torch.fft.fft(z, dim=1).real,
    "decomposition": lambda z, e, b: z + torch.linalg.svdvals(z)[0] + torch.linalg.qr(z)[0].abs(),
    "split": lambda z, e, b: torch.cat(z.split(7)[::-1]) + torch.cat(z.chunk(2, 1)[::-1], 1),
    "stack": lambda z, e, b: torch.stack([z, z * 2, z.mean(0).expand(len(z), -1)]).sum(0),
    "meshgrid": lambda z, e, b: z + torch.meshgrid(z[:, 0], z[:, 1], indexing="ij")[0].mean(),
    "roll": lambda z, e, b: z.roll(1, 0) + z.roll(1, 1) + z.flip(0) + z.flip(1),
    "triangle": lambda z, e, b: torch.tril(z @ z.t()) @ z,
    "readout": lambda z, e, b: torch.zeros(4, WIDTH, dtype=z.dtype).index_add(0, b, z)[b],
}  # fmt: skip

REFUSED: dict[str, tuple[Any, str]] = {
    "written view": (lambda z, e, b: assigned(z, lambda w: w[:5].zero_()), "zero_ writes into a view"),
    "memory": (lambda z, e, b: z * z.data_ptr(), "data_ptr shows the memory"),
    "strides": (lambda z, e, b: z.as_strided((2, 2), (1, 1)), "as_strided shows the memory"),
    "exported": (lambda z, e, b: torch.utils.dlpack.to_dlpack(z.detach()), "to_dlpack shows the memory"),
    "NumPy's import": (lambda z, e, b: np.from_dlpack(z.detach()), "__dlpack__ shows the memory"),
    "vmap": (lambda z, e, b: z - torch.vmap(lambda c: c.mean(), in_dims=1)(z), "vmap"),
    "gradient inside": (lambda z, e, b: torch.autograd.grad(z.sum(), z)[0], "gradients of this rank's share"),
    "hook": (lambda z, e, b: z.register_hook(abs) and z, "gradients of this rank's share"),
    "recomputed": (
        lambda z, e, b: torch.utils.checkpoint.checkpoint(lambda w: w - w.mean(0), z, use_reentrant=False),
        "use_reentrant=True",
    ),
    "in place argument": (lambda z, e, b: F.dropout1d(z[None], inplace=True)[0], "writes into an argument"),
    "shape in place": (lambda z, e, b: assigned(z, lambda w: w.t_()), "t_ changes the shape"),
    "foreign rows": (lambda z, e, b: torch.ones(7, WIDTH, dtype=z.dtype) + z, "7 rows meet 40 vertices"),
    "pickle": (lambda z, e, b: __import__("pickle").dumps(z.detach()), "__reduce_ex__ shows the memory"),
    "changed edges": (lambda z, e, b: e.add_(1) * z, "changes an edge index in place"),
}


def ends(z: torch.Tensor, edges: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Targets, and rows by sources."""
    return edges[1], z[edges[0]]


def weights(gates: int) -> list[torch.Tensor]:
    return [torch.ones(gates * WIDTH, WIDTH, dtype=torch.float64) / 9 for _ in range(2)]


class Model(nn.Module):
    """A linear layer, sums over neighbours, and a function of their rows."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.first, self.last, self.function = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3), function

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        row, col = edge_index
        z = self.first(torch.zeros_like(x).index_add(0, col, x[row])).tanh()
        return self.last(self.function(z, edge_index, batch))


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002


def outcome(group: Any, function: Any, part: Any) -> str:
    """``exact``, ``refused: …``, or what differs."""
    data = graph()
    torch.manual_seed(1)
    model = Model(function).double()
    twin = copy.deepcopy(model)
    weight = torch.rand(N, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    seed(2)
    try:
        expected = model(data.x, data.edge_index, data.batch)
        (expected * weight).sum().backward()
    except Exception:
        expected = None
    distributed = gnn.distribute(twin, part)
    seed(2 + group.rank)
    try:
        scores = distributed(part.x, part.edge_index, part.batch)
    except OfframpError as error:
        return f"refused: {error}"
    if expected is None:
        return "one process fails, ranks do not"
    if scores.shape != expected[part.n_id].shape:
        return f"shape {tuple(scores.shape)}"
    far = float((scores - expected[part.n_id]).detach().abs().max()) if len(scores) else 0.0
    (scores * weight[part.n_id]).sum().backward()
    gnn.sum_gradients(distributed)
    for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
        far = max(far, float((ours.grad - theirs.grad).abs().max()))  # type: ignore[operator]
    worst = float(group.max(torch.tensor(far, dtype=torch.float64)))
    return "exact" if worst < 1e-9 else f"differs by {worst:.1e}"


def compare(group: Any, names: list[str], report: Any) -> dict[str, str]:
    """What each function comes to."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    others = [1 + k % (group.size - 1) for k in range(15)] if group.size > 1 else [0] * 15
    part = gnn.partition(graph(), owner=[0] * 25 + others)
    functions = EXACT | {name: function for name, (function, _) in REFUSED.items()}
    results = {}
    for name in names or functions:
        try:
            results[name] = outcome(group, functions[name], part)
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"
        report(f"{group.rank} {name}: {results[name]}")
    return results


def some_edges(group: Any, _: Any, report: Any) -> float:
    """Farthest from one process: a model of some of the edges, which are all that the first rank has."""
    data = graph()
    owner = torch.tensor([0] * 25 + [1] * 15)
    chosen = (owner[data.edge_index[1]] == 0) | (torch.arange(160) % 2 == 0)
    torch.manual_seed(1)
    model = Model(lambda z, e, b: z).double()
    expected = model(data.x, data.edge_index[:, chosen], data.batch)
    part = gnn.partition(data, owner=owner)
    distributed = gnn.distribute(copy.deepcopy(model), part)
    kept = chosen[part.edges["", "edge_index", ""].ids]
    far = float((distributed(part.x, part.edge_index[:, kept], part.batch) - expected[part.n_id]).detach().abs().max())
    report(far)
    return far
