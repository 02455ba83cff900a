# SPDX-License-Identifier: Apache-2.0
"""TorchGT's attention as a layer for any PyTorch model: each vertex attends to its in-neighbours.

    edges = Edges(data.edge_index, data.num_nodes)
    layer = EdgeAttention(64, heads=8)
    out = layer(x, edges)

It works without the rest of TorchGT: no sequences, no ranks, no reformation. On GPUs it is a Triton kernel.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from offramp.torchgt.kernel import PatternTensors, sparse_attention
from offramp.torchgt.pattern import Pattern
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt


class Edges:
    """The edges of a graph for attention; made once, used by every layer and step.

    Args:
        edge_index: ``(2, e)`` sources and targets, as in PyG; a target attends to its sources. Pairs are distinct.
        vertices: number of vertices, n.
        kinds: ``(e,)`` kind of each edge, for layers with a bias by kind; None if all are alike.

    Raises:
        OfframpError: an end is not a vertex, the number of kinds differs, or a pair occurs twice.
    """

    def __init__(self, edge_index: torch.Tensor, vertices: int, kinds: torch.Tensor | None = None) -> None:
        source, target = edge_index.cpu().numpy().astype(np.int64)
        if len(source) and not 0 <= min(source.min(), target.min()) <= max(source.max(), target.max()) < vertices:
            raise OfframpError(f"edge_index: expected vertices from 0 to {vertices - 1}")
        if kinds is not None and len(kinds) != len(source):
            raise OfframpError(f"kinds: expected {len(source)}, one for each edge, got {len(kinds)}")
        order = np.lexsort((source, target))
        source, target = source[order], target[order]
        twice = np.flatnonzero((source[1:] == source[:-1]) & (target[1:] == target[:-1]))
        if len(twice):
            pair = f"{source[twice[0]]} to {target[twice[0]]}"
            raise OfframpError(f"edge_index: the edge {pair} occurs twice; expected coalesced edges")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=vertices))])
        buckets: npt.NDArray[np.int64] = np.zeros(len(source), np.int64)
        if kinds is not None:
            buckets = kinds.cpu().numpy().astype(np.int64)[order]
        self.vertices, self.kinds = vertices, int(buckets.max(initial=-1)) + 1
        self._pattern = Pattern(vertices, indptr, source, buckets)
        self._on: dict[torch.device, PatternTensors] = {}

    def on(self, device: torch.device) -> PatternTensors:
        """The edges on a device, where they are cached."""
        if device not in self._on:
            self._on[device] = PatternTensors(self._pattern, device)
        return self._on[device]

    @cached_property
    def isolated(self) -> int:
        """Number of vertices that attend to none, and get zeros."""
        return int((np.diff(self._pattern.indptr) == 0).sum())


class EdgeAttention(nn.Module):
    """Multi-head scaled dot-product attention over edges, a softmax for each vertex and head (TorchGT, eq. 4.1).

    Args:
        hidden: width of the vertices' states, in and out.
        heads: number of heads, a divisor of ``hidden``.
        kinds: number of kinds of edges, each with a learned bias for each head; 0: no bias.

    Raises:
        OfframpError: ``hidden`` is not a multiple of ``heads``.
    """

    def __init__(self, hidden: int, heads: int, kinds: int = 0) -> None:
        super().__init__()
        if hidden % heads:
            raise OfframpError(f"hidden {hidden}: expected a multiple of heads {heads}")
        self.heads = heads
        self.project = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.bias = nn.Parameter(torch.zeros(kinds, heads)) if kinds else None

    def forward(self, x: torch.Tensor, edges: Edges) -> torch.Tensor:
        """The vertices' ``(n, hidden)`` states after attention.

        Raises:
            OfframpError: the edges have another number of vertices, or more kinds than there are biases.
        """
        if len(x) != edges.vertices:
            raise OfframpError(f"x: expected {edges.vertices} rows, one for each vertex, got {len(x)}")
        if self.bias is not None and edges.kinds > len(self.bias):
            raise OfframpError(f"kinds: edges have {edges.kinds}, the layer {len(self.bias)}")
        n, hidden = x.shape
        q, k, v = self.project(x).view(n, 3, self.heads, hidden // self.heads).permute(1, 2, 0, 3)
        mixed = sparse_attention(q, k, v, self.bias, edges.on(x.device))
        states: torch.Tensor = self.out(mixed.transpose(0, 1).reshape(n, hidden))
        return states
