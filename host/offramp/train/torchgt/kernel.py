"""Attention over a pattern: sampled products, segment softmax and sparse products of PyTorch (eq. 4.1; G1, G11).

Measured on two cores against gathers of edge ends with ``index_add``: 8 to 15 times faster, in a tenth of the memory.
FlexAttention has no backward pass on CPUs (PyTorch 2.13), and scattered topology leaves none of its blocks empty.
"""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.graph.csr import transposed

if TYPE_CHECKING:
    from offramp.graph.csr import IntArray
    from offramp.train.torchgt.pattern import Pattern

warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")


class PatternTensors:
    """A pattern as the kernel reads it; what backward needs is made when it is first asked for."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self.tokens, self.block = pattern.tokens, pattern.block
        self.indptr = torch.from_numpy(pattern.indptr)
        self._csr = _narrow(pattern.indptr), _narrow(pattern.indices)
        self.rows = torch.from_numpy(pattern.rows)
        self.buckets, self.block_buckets = (torch.from_numpy(b) for b in (pattern.buckets, pattern.block_buckets))
        inside = np.arange(pattern.block)
        first_row, first_column = pattern.corners.T
        self.block_rows = torch.from_numpy(first_row[:, np.newaxis] + inside)
        self.block_columns = torch.from_numpy(first_column[:, np.newaxis] + inside)

    @property
    def pairs(self) -> int:
        """Attended pairs."""
        return self._pattern.pairs

    @cached_property
    def transposed(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """CSR of the transposed pairs, and where each of them stands."""
        indptr, indices = transposed(self._pattern.indptr, self._pattern.indices)
        place = np.argsort(self._pattern.indices, kind="stable")
        return _narrow(indptr), _narrow(indices), torch.from_numpy(place)

    def matrix(self, values: torch.Tensor) -> torch.Tensor:
        """The scattered pairs with values, as a sparse matrix."""
        return _csr(*self._csr, values, self.tokens)

    def transposed_matrix(self, values: torch.Tensor) -> torch.Tensor:
        """The same, transposed."""
        indptr, indices, place = self.transposed
        return _csr(indptr, indices, values[place], self.tokens)

    def products(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """``(pairs,)`` dot products of row i of ``a`` with row j of ``b`` for each scattered pair."""
        pairs = self.matrix(a.new_zeros(len(self.rows)))
        found: torch.Tensor = torch.sparse.sampled_addmm(pairs, a, b.T, beta=0.0).values()
        return found


def sparse_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor | None, pattern: PatternTensors
) -> torch.Tensor:
    """``(heads, tokens, d)``: softmax over each row's pairs of q·k/√d plus bias, times ``v``; empty rows give 0.

    ``q``, ``k`` and ``v`` are ``(heads, tokens, d)``; ``table`` is the ``(entries, heads)`` bias by bucket, if any.
    """
    result: torch.Tensor = _SparseAttention.apply(q, k, v, table, pattern)  # type: ignore[no-untyped-call]
    return result


class _SparseAttention(torch.autograd.Function):
    """Only the weights of the pairs are kept for backward, not the ends of edges."""

    @staticmethod
    def forward(
        ctx: Any,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        table: torch.Tensor | None,
        pattern: PatternTensors,
    ) -> torch.Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        scale = 1 / math.sqrt(q.shape[-1])
        weights, block_weights = _scores(q * scale, k, table, pattern)
        _softmax(weights, block_weights, pattern)
        out = torch.stack([pattern.matrix(w) @ values for w, values in zip(weights, v, strict=True)])
        if len(pattern.block_rows):
            parts = block_weights @ v[:, pattern.block_columns]
            _add_rows(out, pattern.block_rows, parts)
        ctx.save_for_backward(q, k, v, weights, block_weights, out)
        ctx.pattern, ctx.scale, ctx.entries = pattern, scale, None if table is None else len(table)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        q, k, v, weights, block_weights, out = ctx.saved_tensors
        pattern: PatternTensors = ctx.pattern
        d_out = gradients[0].contiguous()
        delta = (d_out * out).sum(-1)  # of each row: what the softmax takes off
        d_q, d_k, d_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        d_scores = torch.empty_like(weights)
        for i, w in enumerate(weights):
            d_v[i] = pattern.transposed_matrix(w) @ d_out[i]
            d_s = w * (pattern.products(d_out[i], v[i]) - delta[i][pattern.rows])
            d_q[i] = pattern.matrix(d_s) @ k[i]
            d_k[i] = pattern.transposed_matrix(d_s) @ q[i]
            d_scores[i] = d_s
        d_blocks = block_weights
        if len(pattern.block_rows):
            rows, columns = pattern.block_rows, pattern.block_columns
            d_rows = d_out[:, rows]
            _add_rows(d_v, columns, block_weights.mT @ d_rows)
            d_blocks = block_weights * (d_rows @ v[:, columns].mT - delta[:, rows, None])
            _add_rows(d_q, rows, d_blocks @ k[:, columns])
            _add_rows(d_k, columns, d_blocks.mT @ q[:, rows])
        d_table = _table_gradient(d_scores, d_blocks, ctx.entries, pattern) if ctx.entries is not None else None
        return d_q * ctx.scale, d_k * ctx.scale, d_v, d_table, None


def _scores(
    q: torch.Tensor, k: torch.Tensor, table: torch.Tensor | None, pattern: PatternTensors
) -> tuple[torch.Tensor, torch.Tensor]:
    """``(heads, pairs)`` and ``(heads, blocks, block, block)``."""
    scattered = torch.stack([pattern.products(queries, keys) for queries, keys in zip(q, k, strict=True)])
    blocks = q[:, pattern.block_rows] @ k[:, pattern.block_columns].mT
    if table is not None:
        by_head = table.T.contiguous()
        scattered += by_head[:, pattern.buckets]
        if len(pattern.block_rows):
            blocks += by_head[:, pattern.block_buckets]
    return scattered, blocks


def _softmax(scattered: torch.Tensor, blocks: torch.Tensor, pattern: PatternTensors) -> None:
    """Scores to weights, in place; a row's pairs and blocks share one softmax."""
    rows = pattern.block_rows.reshape(-1)
    for i, scores in enumerate(scattered):
        most = _segments(scores, "max", pattern, -math.inf)
        if len(rows):
            most.scatter_reduce_(0, rows, blocks[i].amax(-1).reshape(-1), "amax")
        scores.sub_(most[pattern.rows]).exp_()
        total = _segments(scores, "sum", pattern, 0.0)
        if len(rows):
            blocks[i].sub_(most[pattern.block_rows][..., None]).exp_()
            total.index_add_(0, rows, blocks[i].sum(-1).reshape(-1))
            blocks[i].div_(total[pattern.block_rows][..., None])
        scores.div_(total[pattern.rows])


def _segments(values: torch.Tensor, reduce: str, pattern: PatternTensors, empty: float) -> torch.Tensor:
    """``values`` of the scattered pairs reduced for each row."""
    if not len(values):
        return values.new_full((pattern.tokens,), empty)
    return torch.segment_reduce(values, reduce, offsets=pattern.indptr, initial=empty)


def _add_rows(into: torch.Tensor, rows: torch.Tensor, parts: torch.Tensor) -> None:
    """Add ``(heads, blocks, block, d)`` to the rows ``(blocks, block)`` of ``(heads, tokens, d)``."""
    into.index_add_(1, rows.reshape(-1), parts.flatten(1, 2))


def _table_gradient(
    scattered: torch.Tensor, blocks: torch.Tensor, entries: int, pattern: PatternTensors
) -> torch.Tensor:
    """``(entries, heads)``: gradients of scores summed by bucket."""
    buckets = torch.cat([pattern.buckets, pattern.block_buckets.reshape(-1)])
    both = torch.cat([scattered, blocks.flatten(1)], 1)
    sums = [torch.bincount(buckets, row.double(), entries) for row in both]  # float32 would lose long sums
    return torch.stack(sums, 1).to(scattered.dtype)


def _narrow(indices: IntArray) -> torch.Tensor:
    """The 32 bits that sparse products take without a copy."""
    return torch.from_numpy(indices.astype(np.int32))


def _csr(indptr: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, size: int) -> torch.Tensor:
    return torch.sparse_csr_tensor(indptr, indices, values, (size, size), check_invariants=False)
