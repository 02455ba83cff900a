# SPDX-License-Identifier: Apache-2.0
"""Triton kernels as machine code of the GPU; tests/unit/torchgt and tests/unit/sylvie run them in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import triton_attention  # noqa: E402
import triton_quantiser  # noqa: E402
from offramp.models.dropout import VertexDropout  # noqa: E402
from offramp.sylvie import quantiser, triton_kernel  # noqa: E402
from offramp.torchgt.kernel import PatternTensors, sparse_attention  # noqa: E402
from torchgt_patterns import random_pattern  # noqa: E402

CUDA = torch.device("cuda")


@pytest.mark.parametrize("case", triton_attention.CASES)
def test_attention_and_its_gradients_are_those_of_pytorch(case: str) -> None:
    triton_attention.compare(case, CUDA)


@pytest.mark.parametrize("d", [8, 24, 64, 128])
def test_attention_over_many_pairs_in_float32(d: int) -> None:
    pattern = random_pattern(3000, 20)
    generator = torch.Generator().manual_seed(d)
    q, k, v, direction = (torch.randn(4, 3000, d, generator=generator) for _ in range(4))
    table = torch.randn(4, 4, generator=generator)
    here = [x.double().requires_grad_() for x in (q, k, v, table)]
    there = [x.to(CUDA).requires_grad_() for x in (q, k, v, table)]
    want = sparse_attention(*here, PatternTensors(pattern))
    got = sparse_attention(*there, PatternTensors(pattern, CUDA))
    wanted = torch.autograd.grad(want, here, direction.double())
    given = torch.autograd.grad(got, there, direction.to(CUDA))
    for ours, theirs in zip((got, *given), (want, *wanted), strict=True):
        scale = float(theirs.abs().max())
        torch.testing.assert_close(ours.cpu().double(), theirs, atol=1e-5 * scale, rtol=1e-5)


def test_attention_does_not_depend_on_when_programs_run() -> None:
    pattern = PatternTensors(random_pattern(2000, 30), CUDA)
    q, k, v = (torch.randn(8, 2000, 16, device=CUDA).requires_grad_() for _ in range(3))
    runs = []
    for _ in range(3):
        out = sparse_attention(q, k, v, None, pattern)
        runs.append([out, *torch.autograd.grad(out.square().sum(), (q, k, v))])
    for again in runs[1:]:
        assert all(map(torch.equal, again, runs[0]))


def test_codes_are_those_of_the_quantiser_to_the_bit() -> None:
    triton_quantiser.compare(CUDA)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_a_million_values_have_the_same_codes(bits: int) -> None:
    rng = np.random.default_rng(bits)
    x = (rng.standard_normal((10_000, 100)) * np.exp(rng.standard_normal((10_000, 1)) * 5)).astype(np.float32)
    want = quantiser.quantise(x, None, bits, 7, compact=True)
    got = triton_kernel.quantise(torch.from_numpy(x).to(CUDA), torch.arange(len(x), device=CUDA), bits, 7, compact=True)
    for ours, theirs in zip(got, want, strict=False):
        np.testing.assert_array_equal(ours.cpu().numpy(), theirs)


def test_dropout_drops_the_same_elements() -> None:
    drop = VertexDropout(0.37, seed=9)
    drop.step = 4
    ids = np.random.default_rng(0).permutation(5000)[:777]
    kept = drop(torch.ones(777, 33, device=CUDA), ids, 2).cpu()
    assert torch.equal(kept, drop(torch.ones(777, 33), ids, 2))
