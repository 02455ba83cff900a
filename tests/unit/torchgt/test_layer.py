# SPDX-License-Identifier: Apache-2.0
"""Attention as a layer of its own against PyG's TransformerConv, and the bias against dense attention."""

from __future__ import annotations

import math

import pytest
import torch

from offramp.torchgt.layer import EdgeAttention, Edges
from offramp_base.errors import OfframpError


def edges_of(n: int, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(n, (2, count), generator=generator).unique(dim=1)


def test_outputs_and_gradients_are_those_of_pygs_layer() -> None:
    pyg = pytest.importorskip("torch_geometric.nn")
    n, hidden, heads = 50, 24, 3
    index = edges_of(n, 300)
    torch.manual_seed(0)
    ours = EdgeAttention(hidden, heads).double()
    theirs = pyg.TransformerConv(hidden, hidden // heads, heads, root_weight=False).double()
    with torch.no_grad():
        for place, name in enumerate(("query", "key", "value")):
            own = slice(place * hidden, (place + 1) * hidden)
            linear = getattr(theirs, f"lin_{name}")
            linear.weight.copy_(ours.project.weight[own])
            linear.bias.copy_(ours.project.bias[own])
    x = torch.randn(n, hidden, dtype=torch.float64)
    edges = Edges(index, n)
    ins = [x.clone().requires_grad_() for _ in range(2)]
    got, want = ours(ins[0], edges), ours.out(theirs(ins[1], index))
    torch.testing.assert_close(got, want, atol=1e-12, rtol=1e-12)
    direction = torch.randn_like(want)
    torch.testing.assert_close(
        torch.autograd.grad(got, ins[0], direction)[0],
        torch.autograd.grad(want, ins[1], direction)[0],
        atol=1e-11,
        rtol=1e-11,
    )
    assert edges.isolated == n - len(index[1].unique())


def test_kinds_of_edges_have_a_bias_for_each_head() -> None:
    n, hidden, heads = 20, 8, 2
    index = edges_of(n, 90)
    kinds = torch.arange(index.shape[1]) % 3
    torch.manual_seed(1)
    layer = EdgeAttention(hidden, heads, kinds=3).double()
    with torch.no_grad():
        layer.bias.copy_(torch.randn(3, heads))
    x = torch.randn(n, hidden, dtype=torch.float64)
    q, k, v = layer.project(x).view(n, 3, heads, hidden // heads).permute(1, 2, 0, 3)
    scores = torch.full((heads, n, n), -math.inf, dtype=torch.float64)
    source, target = index
    scores[:, target, source] = ((q[:, target] * k[:, source]).sum(-1) / math.sqrt(hidden // heads)) + layer.bias[
        kinds
    ].T
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    want = layer.out((weights @ v).transpose(0, 1).reshape(n, hidden))
    torch.testing.assert_close(layer(x, Edges(index, n, kinds)), want, atol=1e-12, rtol=1e-12)


def test_bad_input_is_one_line() -> None:
    index = torch.tensor([[0, 1, 0], [1, 2, 1]])
    for make, line in (
        (lambda: Edges(index, 3), "edge_index: the edge 0 to 1 occurs twice; expected coalesced edges"),
        (lambda: Edges(index, 2), "edge_index: expected vertices from 0 to 1"),
        (lambda: Edges(index[:, :2], 3, torch.zeros(3)), "kinds: expected 2, one for each edge, got 3"),
        (lambda: EdgeAttention(10, 3), "hidden 10: expected a multiple of heads 3"),
        (lambda: EdgeAttention(4, 2)(torch.zeros(2, 4), Edges(index[:, :2], 3)), "x: expected 3 rows, one for each"),
        (
            lambda: EdgeAttention(4, 2, 1)(torch.zeros(3, 4), Edges(index[:, :2], 3, torch.tensor([0, 1]))),
            "kinds: edges have 2, the layer 1",
        ),
    ):
        with pytest.raises(OfframpError, match=line):
            make()


def test_half_precision_rounds_the_result_alone() -> None:
    n, hidden = 40, 16
    edges = Edges(edges_of(n, 200), n)
    layer = EdgeAttention(hidden, 2)
    x = torch.randn(n, hidden)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = layer(x, edges)
    torch.testing.assert_close(mixed.float(), layer(x, edges), atol=5e-2, rtol=5e-2)
