# SPDX-License-Identifier: Apache-2.0
"""Compares Sylvie's Triton kernels with its quantiser, byte for byte: ``python triton_quantiser.py DEVICE``."""

from __future__ import annotations

import sys

import numpy as np
import torch

from offramp.sylvie import quantiser, triton_kernel


def rows_of(columns: int, rng: np.random.Generator) -> np.ndarray:
    """Ordinary rows, constant ones, tiny and huge ranges, negative zeros, values that bfloat16 has and has not."""
    x = rng.standard_normal((23, columns)).astype(np.float32)
    x[3] = 1.5
    x[4] *= np.float32(1e-38)
    x[5] *= np.float32(1e37)
    x[6] = -0.0
    x[7] = x[7].view(np.uint32) & np.uint32(0xFFFF0000)
    x[8, 0] = 3e38
    x[9] += np.float32(1e6)
    return x


def compare(device: torch.device) -> None:
    """Codes, bounds and values of all widths, with and without compact bounds.

    Raises:
        AssertionError: they differ.
    """
    rng = np.random.default_rng(5)
    for columns in (1, 7, 32, 100, 300):
        x = rows_of(columns, rng)
        rows = rng.permutation(len(x))[:19]
        there, numbers = torch.from_numpy(x).to(device), torch.from_numpy(rows).to(device)
        for bits in (1, 2, 4, 8):
            for compact in (False, True):
                seed = int(rng.integers(1 << 63)) * 2 + bits
                want = quantiser.quantise(x, rows, bits, seed, compact=compact)
                got = triton_kernel.quantise(there, numbers, bits, seed, compact=compact)
                assert not got.bad.any()
                for ours, theirs in zip(got, want, strict=False):
                    np.testing.assert_array_equal(ours.cpu().numpy(), theirs)
                for add in (False, True):
                    here, far = x.copy(), there.clone()
                    quantiser.dequantise(want, bits, here, rows, add=add)
                    triton_kernel.dequantise(got.packed, (got.least, got.greatest), bits, far, numbers, add=add)
                    np.testing.assert_array_equal(far.cpu().numpy().view(np.uint32), here.view(np.uint32))
    x[2, 1], x[5, 0] = np.nan, np.inf
    x[7, :2] = 3e38, -3e38
    bad = triton_kernel.quantise(torch.from_numpy(x).to(device), torch.arange(23, device=device), 4, 1, compact=False)
    assert np.flatnonzero(bad.bad.cpu().numpy()).tolist() == [2, 5, 7]


if __name__ == "__main__":
    compare(torch.device(sys.argv[1]))
