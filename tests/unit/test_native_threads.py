# SPDX-License-Identifier: Apache-2.0
"""Machine code made by several threads at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from offramp.hermod.matching import kernel
from offramp_base.native.library import compiled

THREADS = 6


def test_threads_compile_at_once():
    together = threading.Barrier(THREADS)

    def bound(_: int) -> int:
        together.wait(60)
        rows, full = np.array([0, 4, 1, 2, 0, 3, 5, 0, 0]), np.empty(9, np.int64)
        return compiled(kernel.stuff)(rows, full, np.empty(3, np.int64), np.empty(3, np.int64), 3)

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(bound, range(THREADS))) == [7] * THREADS
