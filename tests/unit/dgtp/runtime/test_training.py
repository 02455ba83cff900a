# SPDX-License-Identifier: Apache-2.0
"""Runs on placements against the same training in one process, to the bit; processes are threads, but for slow tests.

Blind to: several machines, and a sum of gradients in another order, which the reference shares.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from dgtp_threads import run_in_threads
from offramp.dgtp.runtime.profile import measured, with_cards
from offramp.dgtp.runtime.reference import train_alone
from offramp.dgtp.runtime.run import HostPlace, TrainingJob
from offramp.dgtp.runtime.settings import PlacedTraining
from offramp.dgtp.setup_file import parse_setup
from offramp.graph.load import load
from offramp_base.errors import OfframpError

SETUP = """
machines:
  - {{name: a, cpu: 4, gpu: 1, network: 200Mbps}}
  - {{name: b, cpu: 4, gpu: 2, network: 400Mbps, speed: {{worker: 2}}}}
job:
  sync: {sync}
  store: {{seconds: 0.001}}
  sampler: {{each: {each}, seconds: 0.001, cpu: 1}}
  worker: {{count: {workers}, seconds: 0.004, gpu: 1}}
  ps: {{count: {servers}, seconds: 0.001, cpu: 0.1}}
  gathered: 20KB
  subgraph: 20KB
  model: 20KB
"""
SETTINGS = PlacedTraining(graph="sbm:n=200,k=3", batch=8, fanout=(4, 3), hidden=8, iterations=6, profile=3)
HOSTS = [HostPlace()] * 2


def problem_of(sync: str = "ps", workers: int = 2, each: object = 1, servers: int = 2):
    text = SETUP.format(sync=sync, workers=workers, each=each, servers=servers)
    return with_cards(parse_setup(text).problem, 0.9)


def placement(problem, rng):
    """Any placement, fit or not: it changes nothing but the time."""
    return problem.whole(rng.integers(len(problem.cluster), size=len(problem.movable)))


@pytest.fixture(scope="module")
def graph():
    return load(SETTINGS.graph, 0)


@pytest.mark.parametrize("sync", ["ps", "ring"])
def test_any_placement_trains_what_one_process_trains(sync, graph):
    each = [2, 1]
    problem = problem_of(sync, each=each)
    job = TrainingJob(problem, graph, SETTINGS.sampling(2))
    expected, state = train_alone(graph, job.settings, each, 6, ring=sync == "ring")
    assert expected[-1] < expected[0]
    rng, at, losses = np.random.default_rng(1), job.initial, []
    for first in (0, 3):
        jobs = job.jobs(placement(problem, rng), HOSTS, at, first, 3, "oes")
        run = job.joined(jobs, run_in_threads(jobs), first)
        losses, at = [*losses, *run.losses], run.state
    assert losses == expected.tolist()
    assert np.array_equal(at.parameters, state.parameters)
    assert np.array_equal(at.square, state.square)
    assert at.steps == 6


def test_flows_keep_their_rates_and_everything_is_measured(graph):
    problem = problem_of(workers=1, servers=1)
    job = TrainingJob(problem, graph, SETTINGS.sampling(2))
    names = [task.name for task in problem.graph.tasks]
    machine = np.array([1 if name in ("store 1", "worker 0") else 0 for name in names])
    jobs = job.jobs(machine, HOSTS, job.initial, 0, 4, "fifo")
    run = job.joined(jobs, run_in_threads(jobs), 0)
    times = run.times
    assert len(times.task) == 4 * len(names)
    (to_worker,) = [k for k, e in enumerate(problem.graph.edges) if names[e.target] == "worker 0" and e.lag == 0]
    mine = times.edge == to_worker
    card = min(problem.egress[0], problem.ingress[1])
    assert mine.sum() == 4
    assert ((times.flow_end - times.flow_start)[mine] >= times.flow_bytes[mine] / card).all()
    assert (times.task_end - times.task_start - times.task_waited).min() >= 0.001
    assert (times.flow_granted >= 0.99 * times.flow_bytes).all()
    profiled = measured(problem, machine, run)
    by_name = dict(zip(names, profiled.graph.tasks, strict=True))
    took = (times.task_end - times.task_start)[times.task == names.index("worker 0")]
    assert by_name["worker 0"].seconds == pytest.approx(2 * took.mean())  # its machine is twice as fast
    for edge in profiled.graph.edges:
        assert edge.volume is None or len(edge.volume.samples) == (4 if edge.lag == 0 else 3)
        assert edge.volume is None or edge.volume.samples != (20e3,)
    assert run.structure_bytes > 0


def test_a_setup_without_a_job_is_refused(graph):
    text = "machines: [{name: a, network: 1Gbps}]\ntasks: [{name: x, seconds: 1}]\nedges: []\n"
    with pytest.raises(OfframpError, match="expected a job, whose tasks are stores, samplers and workers"):
        TrainingJob(parse_setup(text).problem, graph, SETTINGS.sampling(1))


def test_settings_that_cannot_be():
    with pytest.raises(OfframpError, match="expected fewer than the 6"):
        PlacedTraining(iterations=6, profile=6)


COMMAND = [
    *(sys.executable, "-m", "offramp", "dgtp", "run", "setup.yaml", "--graph", "sbm:n=400,k=3", "--batch", "8"),
    *("--fanout", "4,3", "--hidden", "8", "--network", "loopback"),
]


@pytest.mark.slow
def test_a_killed_process_ends_the_run_with_one_line(tmp_path):
    (tmp_path / "setup.yaml").write_text(SETUP.format(sync="ps", workers=2, each=1, servers=1))
    command = [*COMMAND, "--iterations", "100000", "--profile", "99999"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        workers: list[int] = []
        deadline = time.monotonic() + 120
        while not workers and time.monotonic() < deadline:
            time.sleep(0.5)
            workers = _trainers(process.pid)
        time.sleep(2)
        os.kill(workers[-1], signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    lines = errors.strip().splitlines()
    assert process.returncode == 2
    assert len(lines) == 1
    assert re.search(r"(store|sampler|worker|ps) \d on [ab] was killed .*; the run has ended", lines[0])


def _trainers(pid: int) -> list[int]:
    """Processes below ``pid`` that hold a TCP connection: those of the run."""
    trainers = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            links = [str(each.readlink()) for each in (status.parent / "fd").iterdir()]
        except OSError:
            continue
        if sum(link.startswith("socket:") for link in links) > 10 and _below(parent, pid):
            trainers.append(int(status.parent.name))
    return sorted(trainers)


def _below(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return False
