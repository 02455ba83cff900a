# SPDX-License-Identifier: Apache-2.0
"""Attention over pairs against dense attention with a mask inside the softmax (G1, G11)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from offramp.torchgt.kernel import PatternTensors, sparse_attention
from offramp.torchgt.pattern import Pattern, pattern_of
from offramp.torchgt.reformation import reform
from torchgt_patterns import random_pattern, some_bucket

BOUNDS = np.array([0, 13, 13, 30, 37])


def dense_buckets(pattern: Pattern) -> torch.Tensor:
    dense = np.zeros((pattern.tokens, pattern.tokens), np.int64)
    dense[pattern.rows, pattern.indices] = pattern.buckets
    for (row, column), buckets in zip(pattern.corners.tolist(), pattern.block_buckets, strict=True):
        dense[row : row + pattern.block, column : column + pattern.block] = buckets
    return torch.from_numpy(dense)


def reference(q, k, v, table, pattern: Pattern) -> torch.Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if table is not None:
        scores = scores + table.T[:, dense_buckets(pattern)]
    mask = torch.from_numpy(pattern.dense())
    scores = scores.masked_fill(~mask & mask.any(-1, keepdim=True), -math.inf)  # no row of -inf alone: it would be NaN
    return (torch.softmax(scores, -1) * mask) @ v


def tensors(tokens: int, dtype=torch.float64, heads: int = 2, d: int = 5):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(heads, tokens, d, dtype=dtype, generator=generator).requires_grad_() for _ in range(3)]


@pytest.fixture(params=["scattered", "blocks", "no loops", "blocks alone"])
def pattern(request) -> Pattern:
    if request.param == "scattered":
        return random_pattern(37, 4)
    if request.param == "no loops":
        return random_pattern(37, 1, loops=False)
    reformed = reform(random_pattern(37, 4), BOUNDS, 1.0, some_bucket, block=3)
    assert len(reformed.corners)
    if request.param == "blocks":
        return reformed
    bare = pattern_of(37, np.zeros(0, np.int64), some_bucket)
    return Pattern(37, bare.indptr, bare.indices, bare.buckets, 3, reformed.corners, reformed.block_buckets)


@pytest.mark.parametrize("biased", [False, True])
def test_forward_and_gradients_are_those_of_masked_dense_attention(pattern: Pattern, biased: bool) -> None:
    table = torch.linspace(-2, 2, 8, dtype=torch.float64).reshape(4, 2).requires_grad_() if biased else None
    inputs = [*tensors(37), *([table] if table is not None else [])]
    out = sparse_attention(*inputs[:3], table, PatternTensors(pattern))
    expected = reference(*inputs[:3], table, pattern)
    torch.testing.assert_close(out, expected, atol=1e-12, rtol=1e-12)
    direction = torch.randn_like(expected)
    got = torch.autograd.grad(out, inputs, direction)
    want = torch.autograd.grad(expected, inputs, direction)
    for ours, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-11, rtol=1e-11)


def test_in_float32_to_1e_5() -> None:
    pattern = random_pattern(200, 6)
    inputs = tensors(200, torch.float32, 4, 16)
    torch.testing.assert_close(
        sparse_attention(*inputs, None, PatternTensors(pattern)),
        reference(*inputs, None, pattern),
        atol=1e-5,
        rtol=1e-5,
    )


def test_a_token_that_attends_to_nothing_gives_zero_and_no_nan() -> None:
    pattern = pattern_of(3, np.array([0, 1]), lambda rows, _: np.zeros(len(rows), np.int64))
    inputs = tensors(3)
    out = sparse_attention(*inputs, None, PatternTensors(pattern))
    assert not out[:, 1:].any()
    for gradient in torch.autograd.grad(out.sum(), inputs):
        assert gradient.isfinite().all()


def test_large_scores_do_not_overflow() -> None:
    q, k, v = tensors(20)
    assert sparse_attention(1e4 * q, k, v, None, PatternTensors(random_pattern(20, 3))).isfinite().all()


def test_rows_of_weights_sum_to_one(pattern: Pattern) -> None:
    q, k, _ = tensors(37)
    ones = torch.ones(2, 37, 1, dtype=torch.float64)
    out = sparse_attention(q, k, ones.expand(2, 37, 5), None, PatternTensors(pattern))
    attends = torch.from_numpy(pattern.dense().any(1)).double()
    torch.testing.assert_close(out, attends[:, None].expand_as(out), atol=1e-12, rtol=0)
