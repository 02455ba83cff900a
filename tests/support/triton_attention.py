# SPDX-License-Identifier: Apache-2.0
"""Compares TorchGT's Triton kernels with PyTorch's operations: ``python triton_attention.py DEVICE [CASE…]``.

On ``cpu`` under TRITON_INTERPRET=1, on ``cuda`` as machine code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import torch

from offramp.torchgt import triton_pattern
from offramp.torchgt.kernel import PatternTensors, sparse_attention
from offramp.torchgt.pattern import Pattern, pattern_of
from offramp.torchgt.reformation import reform
from offramp.torchgt.triton_kernel import TritonAttention
from offramp.torchgt.triton_pattern import TritonPattern
from torchgt_patterns import random_pattern, some_bucket

BOUNDS = np.array([0, 7, 7, 15, 19])


def blocks() -> Pattern:
    """Scattered pairs and blocks of three."""
    pattern = reform(random_pattern(19, 4), BOUNDS, 1.0, some_bucket, block=3)
    assert len(pattern.corners)
    return pattern


def blocks_alone() -> Pattern:
    """No scattered pair."""
    reformed, bare = blocks(), pattern_of(19, np.zeros(0, np.int64), some_bucket)
    return Pattern(19, bare.indptr, bare.indices, bare.buckets, 3, reformed.corners, reformed.block_buckets)


def with_a_global_token() -> Pattern:
    """The last token attends to all, and all to it."""
    tokens = np.arange(29)
    pattern = random_pattern(29, 2)
    keys = [pattern.rows * 29 + pattern.indices, tokens * 29 + 28, 28 * 29 + tokens]
    return pattern_of(29, np.concatenate(keys), some_bucket)


CASES: dict[str, Callable[[], Pattern]] = {
    "scattered": lambda: random_pattern(19, 4),
    "no loops": lambda: random_pattern(11, 1, loops=False),
    "blocks": blocks,
    "blocks alone": blocks_alone,
    "empty rows": lambda: pattern_of(9, np.array([0, 1, 40]), some_bucket),
    "long rows": with_a_global_token,
    "bfloat16": lambda: random_pattern(9, 4),
}
WRONG = "wrong bias"
"""A case that fails: its kernel gets another tensor than PyTorch."""


def compare(case: str, device: torch.device) -> None:
    """Outputs and gradients of one pattern, with and without a bias.

    Raises:
        AssertionError: they differ.
    """
    pattern = CASES["scattered" if case == WRONG else case]()
    dtype = torch.bfloat16 if case == "bfloat16" else torch.float64
    triton_pattern.LONGEST = 8 if case == "long rows" else 1024  # type: ignore[misc]
    by_row = TritonPattern.of(pattern, device)
    assert (by_row.long_rows is not None) == (by_row.transposed.long_rows is not None) == (case == "long rows")
    generator = torch.Generator().manual_seed(1)
    for entries in (0, 4):
        inputs = [torch.randn(2, pattern.tokens, 5, dtype=torch.float64, generator=generator) for _ in range(3)]
        inputs = [x.to(dtype) for x in inputs]
        if entries:
            inputs.append(torch.randn(entries, 2, dtype=torch.float64, generator=generator).to(dtype))
        direction = torch.randn(2, pattern.tokens, 5, dtype=torch.float64, generator=generator).to(dtype)
        here = [x.double().requires_grad_() for x in inputs]
        there = [x.clone().to(device).requires_grad_() for x in inputs]
        if case == WRONG:
            there[-1].data[0] += 0.5
        want = sparse_attention(*here[:3], here[3] if entries else None, PatternTensors(pattern))
        got = TritonAttention.apply(*there[:3], there[3] if entries else None, by_row)
        wanted = [want, *torch.autograd.grad(want, here, direction.double())]
        given = [got, *torch.autograd.grad(got, there, direction.to(device))]
        for ours, theirs in zip(given, wanted, strict=True):
            near = 5e-2 if dtype == torch.bfloat16 else 1e-11
            torch.testing.assert_close(ours.cpu().double(), theirs, atol=near, rtol=near)


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        compare(name, torch.device(sys.argv[1]))
