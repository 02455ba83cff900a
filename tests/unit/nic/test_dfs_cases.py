# SPDX-License-Identifier: Apache-2.0
"""The cores that the paths of chunks get, without any agent: the rates are made up."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.nic import dfs

Affinity = Callable[[int], set[int]]


def cores(count: int) -> Affinity:
    def of(process: int) -> set[int]:
        assert process == 0, "this thread"
        return set(range(count))

    return of


def test_cores_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[dfs.DfsCase, int]] = []
    progress: list[tuple[int, int]] = []

    def rate(case: dfs.DfsCase, seconds: float, seed: int, compression: str) -> float:
        assert (seconds, compression) == (0.5, "zlib")
        tried.append((case, seed))
        return {"nic": 100, "mix": 10}.get(case.way, 1) * len(case.host) + (seed == 9)

    monkeypatch.setattr(os, "sched_getaffinity", cores(4))
    monkeypatch.setattr(dfs, "MOST_CORES", 3)
    monkeypatch.setattr(dfs, "rate_of", rate)
    result = dfs.measure(0.5, 3, seed=7, tell=lambda at, of: progress.append((at, of)))
    first = [(case.way, list(case.host), list(case.agent)) for case, seed in tried if seed == 7]
    assert first == [
        (dfs.CPU, [0], []),
        (dfs.CPU, [0, 1], []),
        (dfs.CPU, [0, 1, 2], []),
        ("nic", [0, 1, 2], [3]),
        ("nic", [0, 1], [2, 3]),
        ("nic", [0], [1, 2, 3]),
        ("mix", [0], [3]),
        ("mix", [0, 1], [2, 3]),
    ]
    assert [seed for _, seed in tried] == [7] * 8 + [8] * 8 + [9] * 8
    assert progress == [(at, 24) for at in range(1, 25)]
    assert result == dfs.Throughput([1, 2, 3], [300, 200, 100], [10, 20])  # medians


def test_one_core_is_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", cores(1))
    with pytest.raises(OfframpError, match="needs two processors"):
        dfs.measure(0.1, tell=lambda at, of: None)


def test_a_thread_is_where_it_was_afterwards() -> None:
    before = os.sched_getaffinity(0)
    one = {min(before)}
    with dfs._only_on([*one]):
        assert os.sched_getaffinity(0) == one
    assert os.sched_getaffinity(0) == before
