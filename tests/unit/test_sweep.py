# SPDX-License-Identifier: Apache-2.0
"""The sweep runner: the same results in this process, in others and on a Dask cluster."""

from __future__ import annotations

import os
from math import sqrt  # a function that every process can import

import pytest

from offramp.sweep import on_dask, sweep
from offramp_base.errors import OfframpError
from offramp_base.progress import listen


def _root(case: int) -> float:
    if case < 0:
        raise OfframpError(f"case {case}: expected at least 0")
    return case**0.5


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_order(processes):
    progress = []
    with listen(lambda *news: progress.append(news)):
        assert sweep(sqrt, [9, 4, 1, 0], processes=processes, what="roots") == [3, 2, 1, 0]
    assert progress == [("roots", done, 4) for done in range(5)]


def test_errors_of_a_case_are_those_of_the_sweep():
    with pytest.raises(OfframpError, match="case -1: expected at least 0"):
        sweep(_root, [4, -1], processes=1)
    with pytest.raises(OfframpError, match="processes 0: expected at least 1"):
        sweep(_root, [4], processes=0)


def test_a_process_that_dies_is_told():
    with pytest.raises(OfframpError, match="a process ended with exit code 3 before its result"):
        sweep(os._exit, [3, 3], processes=2)


def test_nothing_to_do():
    assert sweep(_root, []) == []


def test_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    local = {"protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **local) as cluster:
        progress = []
        with listen(lambda _, done, __: progress.append(done)):
            assert sweep(sqrt, [9, 4], dask=cluster.scheduler_address) == [3, 2]
        assert progress == [0, 1, 2]
        with on_dask(cluster.scheduler_address):
            assert sweep(sqrt, [16, 25]) == [4, 5]


def test_no_scheduler(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("offramp.sweep._CONNECT_S", 1)
    with pytest.raises(OfframpError, match=r"dask tcp://127.0.0.1:1: no Dask scheduler answers there"):
        sweep(_root, [1], dask="tcp://127.0.0.1:1")


def test_sweeps_within_go_where_the_outer_one_says(monkeypatch):
    """Without a cluster: what is asked for everywhere is what a sweep asks for; one of its own comes first."""
    asked = []
    monkeypatch.setattr(
        "offramp.sweep._on_dask", lambda _function, cases, address, _on_result: asked.append(address) or cases
    )
    with on_dask("tcp://a:1"), on_dask(None):
        assert sweep(_root, [1]) == [1]
        sweep(_root, [1], dask="tcp://b:2")
    assert sweep(_root, [4], processes=1) == [2]
    assert asked == ["tcp://a:1", "tcp://b:2"]
