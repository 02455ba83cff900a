# SPDX-License-Identifier: Apache-2.0
"""Decomposition: dense and quantised matrices in one run, and the bounds of issue 5."""

from __future__ import annotations

import time

import numpy as np
import pytest

from offramp.hermod.matching import bound
from offramp.hermod.matching.decompose import QUANTUM, decompose

pytestmark = pytest.mark.bench


def best_of(repeats: int, matrix: np.ndarray, quantum: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        decompose(matrix, quantum=quantum)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(("size", "limit_s", "repeats"), [(64, 0.05, 5), (256, 5.0, 2)])
def test_dense_and_quantised(size: int, limit_s: float, repeats: int) -> None:
    matrix = np.random.default_rng(0).integers(1, 1_000_000, (size, size))
    np.fill_diagonal(matrix, 0)
    decompose(matrix[:2, :2])  # compiles
    dense, quantised = best_of(repeats, matrix, 0), best_of(repeats, matrix, QUANTUM)
    print(f"{size}: dense {dense * 1e3:.1f} ms, quantised {quantised * 1e3:.2f} ms")  # noqa: T201
    assert dense < limit_s
    assert quantised < limit_s / 10
    assert quantised < dense / 2
    assert decompose(matrix).total == bound(matrix)
