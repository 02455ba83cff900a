# SPDX-License-Identifier: Apache-2.0
"""The sweep runner: the same results in this process, in others and on a Dask cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from math import sqrt  # a function that every process can import
from types import SimpleNamespace

import pytest

from offramp.sweep import on_dask, sweep
from offramp_base.errors import OfframpError
from offramp_base.progress import listen
from trainers import trainers_python

__all__ = ["trainers_python"]


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


@pytest.mark.slow
def test_on_a_real_ray_of_this_machine():
    """The others see a stand-in for Ray, which takes half a minute to start."""
    pytest.importorskip("ray")
    progress = []
    with listen(lambda _, done, __: progress.append(done)):
        assert sweep(sqrt, [9, 4, 16], dask="ray:local") == [3, 2, 4]
    assert progress == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="math domain error"):
        sweep(sqrt, [4, -1], dask="ray:local")


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


def _ray(failure: Exception | None = None) -> SimpleNamespace:
    """As much of Ray as a sweep asks of it, in this process."""

    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        cause: Exception

    def get(futures):
        if isinstance(futures, list):
            return [get(each) for each in futures]
        function, arguments = futures
        if failure is not None:
            raise failure
        try:
            return function(*arguments)
        except Exception as error:
            wrapped = RayTaskError("in a worker")
            wrapped.cause = error
            raise wrapped from None

    def init(address, **_):
        calls.append(address)
        if address == "nowhere:1":
            raise ConnectionError

    calls: list[str] = []
    return SimpleNamespace(
        calls=calls,
        init=init,
        remote=lambda function: SimpleNamespace(remote=lambda *arguments: (function, arguments)),
        wait=lambda futures: ([futures[-1]], futures[:-1]),  # the last one is done first
        get=get,
        shutdown=lambda: calls.append("shutdown"),
        exceptions=SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError),
    )


def test_on_a_ray_cluster(monkeypatch):
    ray = _ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    progress = []
    with listen(lambda _, done, __: progress.append(done)), on_dask("ray://head:10001"):
        assert sweep(sqrt, [9, 4]) == [3, 2]
    assert progress == [0, 1, 2]
    with pytest.raises(OfframpError, match="case -1: expected at least 0"):
        sweep(_root, [4, -1], dask="ray:local")
    with pytest.raises(OfframpError, match=r"^dask ray:nowhere:1: no Ray cluster answers there$"):
        sweep(_root, [4], dask="ray:nowhere:1")
    assert ray.calls == ["ray://head:10001", "shutdown", "local", "shutdown", "nowhere:1"]
    monkeypatch.setitem(sys.modules, "ray", _ray(ray.exceptions.RayError("a worker died")))
    sys.modules["ray"].exceptions = ray.exceptions
    with pytest.raises(OfframpError, match=r"^dask ray:local: a worker died$"):
        sweep(_root, [4], dask="ray:local")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OfframpError, match=r"^dask ray:local: needs the package ray: "):
        sweep(_root, [4], dask="ray:local")


@pytest.mark.slow
def test_a_cluster_of_ray_computes_what_this_process_does(trainers_python):
    code = "from math import sqrt; from offramp.sweep import sweep; print(sweep(sqrt, [9, 4, 1], dask='ray:local'))"
    done = subprocess.run([trainers_python, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines()[-1:] == ["[3.0, 2.0, 1.0]"], done.stderr
