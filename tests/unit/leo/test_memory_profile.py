# SPDX-License-Identifier: Apache-2.0
"""The machine's own memory as a link: what the loops do, and figures beside NumPy's in the same run."""

from __future__ import annotations

import time

import numpy as np
import pytest

from offramp.leo.profile import memory

pytest.importorskip("llvmlite")


def test_a_chain_is_followed_from_link_to_link() -> None:
    chain = np.array([3, 0, 1, 2], np.int64)
    chase = memory._functions()["chase"]
    assert [int(chase(chain, hops)) for hops in range(6)] == [0, 3, 2, 1, 0, 3]


def test_lines_and_blocks_are_copied_to_their_places_alone() -> None:
    source, into = np.arange(32, dtype=np.int64), np.zeros(32, np.int64)
    assert memory._functions()["scatter"](into, source, np.array([8, 24], np.int64), 2) == 2
    expected = np.where((source // 8) % 2 == 1, source, 0)
    assert into.tolist() == expected.tolist()
    into[:] = 0
    assert memory._functions()["move"](into, source, 10 * 8, 3) == 3
    assert into.tolist() == [*range(10), *[0] * 22]


def test_a_profile_is_of_the_order_of_what_numpy_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a factor of 30 either way, on whatever machine: milliseconds for nanoseconds would be noticed."""
    monkeypatch.setattr(memory, "_BYTES", 4 << 20)
    monkeypatch.setattr(memory, "_HOPS", 20_000)
    profile = memory.measure_memory(3)
    source, into = np.ones(4 << 17, np.int64), np.zeros(4 << 17, np.int64)

    def copied() -> float:
        begun = time.perf_counter()
        into[:] = source
        return time.perf_counter() - begun

    rate = 8 * source.nbytes / min(copied() for _ in range(5)) / 1e9
    assert rate / 30 < profile.bw_gbps < 30 * rate
    assert 0.3 < profile.latency_ns < 3000
    assert 1e9 / profile.mps < 30 * profile.latency_ns  # scattered copies overlap, chained loads do not
