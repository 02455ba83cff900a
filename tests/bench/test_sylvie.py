# SPDX-License-Identifier: Apache-2.0
"""Sylvie's quantiser beside a copy of the same array, in one run; docs/results has the table.

Processor time of the one thread that works, so that what else runs on the machine takes part in memory traffic only;
the best of several rounds in which copy and quantiser take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from offramp.sylvie.kernel import BITS
from offramp.sylvie.quantiser import dequantise, quantise, row_bytes

pytestmark = pytest.mark.bench
SIZE = 96 << 20
"""Bytes of float32 rows, three times the machine's last-level cache."""
ROUNDS = 7


def rates(works: dict[str, Callable[[], object]], size: int) -> dict[str, float]:
    """GB/s of float32 that each reads or writes."""
    best = dict.fromkeys(works, 0.0)
    for _ in range(ROUNDS):
        for name, work in works.items():
            start = time.thread_time()
            work()
            best[name] = max(best[name], size / (time.thread_time() - start) / 1e9)
    return best


@pytest.mark.parametrize("columns", [128, 256])
@pytest.mark.parametrize("bits", BITS)
def test_quantise_and_pack_beside_a_copy(bits: int, columns: int) -> None:
    rows = SIZE // 4 // columns
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns)).astype(np.float32)
    y, order = np.empty_like(x), np.arange(rows)
    scattered = rng.permutation(rows)
    into = np.empty((rows, row_bytes(columns, bits)), np.uint8)
    codes = quantise(x, order, bits, 1)
    works: dict[str, Callable[[], object]] = {
        "copy": lambda: np.copyto(y, x),
        "quantise": lambda: quantise(x, order, bits, 1, into=into),
        "compact": lambda: quantise(x, order, bits, 1, into=into, compact=True),
        "gather": lambda: np.take(x, scattered, axis=0, out=y, mode="clip"),
        "of scattered rows": lambda: quantise(x, scattered, bits, 1, into=into),
        "dequantise": lambda: dequantise(codes, bits, y, order),
        "add": lambda: dequantise(codes, bits, y, order, add=True),
    }
    for work in works.values():
        work()  # compiled, and every page there
    rates_by_name = rates(works, x.nbytes)
    text = ", ".join(f"{name} {rate:.1f}" for name, rate in rates_by_name.items())
    print(f"{bits} bits, {columns} columns, GB/s of float32: {text}")  # noqa: T201
    assert rates_by_name["quantise"] >= rates_by_name["copy"] / 2
    assert rates_by_name["compact"] >= rates_by_name["copy"] / 2
