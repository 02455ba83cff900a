# SPDX-License-Identifier: Apache-2.0
"""Clusters and jobs from YAML, and what is said of files that are wrong."""

from __future__ import annotations

import re

import pytest

from offramp.dgtp.setup_file import parse_setup, read_setup
from offramp_base.errors import OfframpError

MACHINES = """
machines:
  - {name: a, count: 2, cpu: 8, gpu: 2, memory: 48GB, network: 10Gbps}
  - {name: b, cpu: 20, gpu: 4, memory: 256GiB, in: 100G, out: 5e10, speed: {worker: 2.5}, address: 10.0.0.9}
"""
JOB = """
job:
  sync: ps
  iterations: 985
  store: {seconds: 0.01}
  sampler: {each: 2, seconds: 0.02, cpu: 2, memory: 7GB}
  worker: {count: 3, seconds: 0.06, cpu: 1, gpu: 1, memory: 3GB}
  ps: {seconds: 0.003, cpu: 1, memory: 5GB}
  gathered: {mean: 100MB, spread: 0.05}
  subgraph: {samples: [90MB, 110MB]}
  model: 0.83MB
"""
GRAPH = """
tasks:
  - {name: read, home: b, seconds: 1}
  - {name: crunch, seconds: 2, cpu: 4}
  - {name: log, with: crunch}
edges:
  - {from: read, to: crunch, bytes: 1GB}
  - {from: crunch, to: log}
  - {from: log, to: read, lag: 1}
iterations: 7
"""


def test_a_job(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(MACHINES + JOB)
    setup = read_setup(path)
    problem = setup.problem
    assert (setup.name, setup.iterations) == ("cluster", 985)
    assert [m.name for m in problem.cluster.machines] == ["a0", "a1", "b"]
    b = problem.cluster.machines[2]
    assert (b.ingress_bps, b.egress_bps, b.address) == (100e9, 50e9, "10.0.0.9")
    assert b.capacity == {"cpu": 20, "gpu": 4, "memory": 256 * 2**30}
    kinds = [task.kind for task in problem.graph.tasks]
    assert kinds == ["store"] * 3 + ["sampler"] * 6 + ["worker"] * 3 + ["ps"]
    worker = kinds.index("worker")
    assert problem.seconds[worker].tolist() == [0.06, 0.06, pytest.approx(0.024)]
    volumes = {(problem.graph.tasks[e.source].kind, e.volume.mean) for e in problem.graph.edges}
    assert volumes == {("store", 100e6 / 3), ("sampler", 100e6), ("worker", 0.83e6), ("ps", 0.83e6)}
    assert len(problem.graph.edges) == 3 * 6 + 6 + 2 * 3


def test_any_graph():
    setup = parse_setup(MACHINES + GRAPH)
    tasks = setup.problem.graph.tasks
    assert setup.iterations == 7
    assert [t.home for t in tasks] == [2, None, None]
    assert tasks[2].follows == 1
    assert setup.problem.movable.tolist() == [1]
    assert setup.problem.data.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("network: 10Gbps", "network: 0", "machine a0: ingress_bps 0.0: expected more than 0 bit/s"),
        ("network: 10Gbps", "network: fast", "machines[0].network: fast: expected a number or text such as 1.5Gbps"),
        (", network: 10Gbps", "", "machines[0]: expected network, or in and out, such as 10Gbps"),
        ("name: b", "name: a1", "cluster: two machines are called a1"),
        ("cpu: 20", "cpu: -1", "machines[1].cpu: -1: expected a number of at least 0"),
        ("worker: 2.5", "worker: 0", "machine b: speed of worker 0.0: expected more than 0"),
        ("sync: ps", "sync: tree", "job: sync tree: expected one of ps, ring"),
        ("each: 2", "each: 0", "job.sampler.each: 0: expected a whole number of at least 1"),
        ("each: 2", "each: [1, 2]", "job: samplers (1, 2): expected at least 1 for each of 3 workers"),
        ("count: 3", "count: 2.5", "job.worker.count: 2.5: expected a whole number of at least 1"),
        ("iterations: 985", "iterations: 0", "job.iterations: 0: expected a whole number of at least 1"),
        ("model: 0.83MB", "model: 5 apples", "job.model: 5 apples: expected a number or text such as 1.5GB"),
        ("model: 0.83MB", "modle: 0.83MB", "job: modle: expected one of gathered, iterations, model,"),
        ("  gathered: {mean: 100MB, spread: 0.05}\n", "", "job: expected gathered"),
        ("mean: 100MB, ", "", "job.gathered: expected mean or samples"),
        ("samples: [90MB, 110MB]", "samples: []", "volume: expected at least one sample"),
        ("model: 0.83MB", "model: 0.83MB\n  shares: [1, 2]", "job: shares of stores (1.0, 2.0): expected one"),
        ("model: 0.83MB", "model: 0.83MB\n  ring_order: [0, 0, 1]", "job: ring order (0, 0, 1): expected each of 3"),
        ("model: 0.83MB", "model: 0.83MB\n  pipelined: 2", "job.pipelined: 2: expected true or false"),
        ("machines:", "machines: [", "not YAML"),
        ("job:", "jobs:", "file: jobs: expected one of cluster, edges, iterations, job, machines, tasks"),
    ],
)
def test_errors_of_jobs(old, new, message, tmp_path):
    text = MACHINES + JOB
    assert old in text
    path = tmp_path / "setup.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(OfframpError, match=re.escape(message)) as caught:
        read_setup(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lag: 1", "lag: 0", "task graph: tasks wait for each other: "),
        ("lag: 1", "lag: 2", "task graph: an edge over 2 iterations: expected 0 or 1"),
        ("to: log}", "to: nobody}", "edges[1].to: nobody: expected the name of a task"),
        ("to: log}", "to: log}\n  - {from: crunch, to: log}", "task graph: two edges from crunch to log"),
        ("home: b", "home: c", "tasks[0].home: c: expected one of a0, a1, b"),
        ("with: crunch", "with: nobody", "tasks[2].with: nobody: expected a task that stands before it"),
        ("with: crunch", "with: crunch, cpu: 1", "log: a task that follows another needs nothing"),
        ("name: crunch", "name: read", "tasks[1]: two tasks are called read"),
        ("seconds: 2", "seconds: soon", "tasks[1].seconds: soon: expected a number of at least 0"),
        ("edges:", "job: {}\nedges:", "file: expected either job, or tasks and edges"),
    ],
)
def test_errors_of_graphs(old, new, message):
    assert old in GRAPH
    with pytest.raises(OfframpError, match=re.escape(message)):
        parse_setup(MACHINES + GRAPH.replace(old, new))


def test_files_that_are_none(tmp_path):
    with pytest.raises(OfframpError, match=r"none\.yaml: cannot be read: No such file or directory"):
        read_setup(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OfframpError, match=r"bytes\.yaml: cannot be read: it is not UTF-8 text"):
        read_setup(tmp_path / "bytes.yaml")
    with pytest.raises(OfframpError, match="file: expected fields by name"):
        parse_setup("- 1")
    with pytest.raises(OfframpError, match="cluster: expected at least one machine"):
        parse_setup("machines: []\njob: {}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("count: 2", "count: 1000000000", "machines[0].count: 1000000000: expected at most 1024 machines in all"),
        ("each: 2", "each: 1000000000", "job: expected at most 16384 workers, servers, and samplers of each worker"),
        ("count: 3", "count: 1000000000", "job: expected at most 16384 workers, servers, and samplers of each worker"),
        ("each: 2", "each: 6000", "job: 18010 tasks and 72006 edges: expected at most 16384 and 524288"),
        ("network: 10Gbps", "network: 1e300", "machines[0].network: 1e+300: expected a number or text such as 1.5Gbps"),
        ("cpu: 20", f"cpu: 1{'0' * 120}", f"machines[1].cpu: 1{'0' * 120}: expected a number of at least 0"),
        ("cpu: 20", f"cpu: 1{'0' * 400}", "line 4: not YAML: a number of more than 128 characters"),
    ],
)
def test_a_small_file_does_not_take_all_memory_or_time(old: str, new: str, message: str) -> None:
    text = (MACHINES + JOB).replace(old, new, 1)
    with pytest.raises(OfframpError) as caught:
        parse_setup(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("with: crunch", "with: [crunch]", "tasks[2].with: ['crunch']: expected a task that stands before it"),
        ("to: crunch, bytes", "to: {a: 1}, bytes", "edges[0].to: {'a': 1}: expected the name of a task"),
        ("lag: 1", f"lag: {2**63}", f"edges[2].lag: {2**63}: expected a whole number of at least 0"),
    ],
)
def test_values_of_another_kind_in_a_graph(old: str, new: str, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        parse_setup((MACHINES + GRAPH).replace(old, new, 1))
    assert str(caught.value) == message
