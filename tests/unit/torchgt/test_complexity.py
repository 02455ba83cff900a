# SPDX-License-Identifier: Apache-2.0
"""The cost of sparse attention follows the pairs and not the square of the tokens (G12)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from offramp.torchgt.kernel import PatternTensors, sparse_attention
from torchgt_patterns import random_pattern


class Made(TorchDispatchMode):
    """Counts the elements of every dense tensor that operations return, and the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided:
                self.total += tensor.numel()
                self.largest = max(self.largest, tensor.numel())
        return result


def elements(tokens: int, degree: int) -> Made:
    pattern = PatternTensors(random_pattern(tokens, degree))
    q, k, v = (torch.randn(2, tokens, 4, requires_grad=True) for _ in range(3))
    table = torch.zeros(4, 2, requires_grad=True)
    with Made() as counter:
        sparse_attention(q, k, v, table, pattern).sum().backward()
    return counter


def test_work_is_linear_in_the_pairs() -> None:
    sizes = [256, 512, 1024, 2048, 4096]
    totals = [elements(tokens, 6).total for tokens in sizes]
    slope = np.polyfit(np.log(sizes), np.log(totals), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.02)
    assert elements(1024, 24).total == pytest.approx(4 * totals[2], rel=0.45)


def test_no_tensor_is_larger_than_the_pairs_of_all_heads() -> None:
    for tokens in (512, 4096):
        assert elements(tokens, 6).largest <= max(2 * 7 * tokens, 2 * tokens * 4 * 3)


@pytest.mark.full
def test_a_sequence_trains_whose_square_no_memory_holds() -> None:
    tokens = 300_000  # 360 GB of float32 scores for one head
    pattern = PatternTensors(random_pattern(tokens, 2))
    q, k, v = (torch.randn(1, tokens, 2, requires_grad=True) for _ in range(3))
    out = sparse_attention(q, k, v, None, pattern)
    out.sum().backward()
    for gradient in (q.grad, k.grad, v.grad):
        assert gradient is not None
        assert gradient.isfinite().all()
