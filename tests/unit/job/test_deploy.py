# SPDX-License-Identifier: Apache-2.0
"""Deploying is all or nothing: a failure at every single step leaves every switch as it was, compared state by state.

Blind spot: counters are not compared; a program that comes back counts from zero.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from offramp.allreduce.control import AllReduceControl, SwitchFullError
from offramp.cluster.model import Agent
from offramp.cluster.write import cluster_text
from offramp.job import gnn_switches
from offramp.job import switches as on_switches
from offramp.job.kinds.sums import deployment
from offramp.job.ledger import folder_of, opened
from offramp.job.network import ReductionNetwork
from offramp.job.run import deployed, run_job
from offramp.job.settings import JobSettings
from offramp.job.switches import release_ended, with_switch
from offramp.switchgnn.control import SwitchGnnControl
from offramp_base.ending.owner import is_process, owner_of
from offramp_base.errors import OfframpError

STEPS = [f"all-reduce on {name}" for name in ("leaf1", "leaf2", "spine")]


class Injected(RuntimeError):
    """A fault of the test's own."""


def test_a_run_leaves_everything_as_it_was(lab, states, job, tmp_path):
    before = states()
    assert all(snapshot.config and snapshot.entities for snapshot in before.values())
    events: list[str] = []
    outcome = run_job(job, lab, ReductionNetwork.SWITCH, tmp_path, lambda what, name: events.append(f"{what} {name}"))
    assert [e for e in events if e.startswith(("applied", "undone"))] == [
        *(f"applied {name}" for name in STEPS),
        *(f"undone {name}" for name in reversed(STEPS)),
    ]
    assert outcome.attempts == 1
    assert states() == before
    assert not any((folder_of(switch) / "before").exists() for switch in lab.switches)


@pytest.mark.full
def test_a_job_changes_the_switches_while_it_runs(lab, states, job, tmp_path):
    before = states()
    with deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path):
        there = states()
        assert all(there[name].config != before[name].config for name in before)
    assert states() == before


@pytest.fixture(scope="module")
def graph_job(tmp_path_factory) -> JobSettings:
    """Full-graph training, whose way through the switch brings another program and other entries."""
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("train") / "train.yaml"
    path.write_text("graph: karate\nhidden: 8\npartition: hash\n")
    return JobSettings(train=path)


SLOW = pytest.mark.slow
MOMENTS = [
    ("all-reduce", "apply"),
    ("SwitchGNN", "applied"),
    *(pytest.param("all-reduce", when, marks=SLOW) for when in ("undo", "applied", "undone")),
    *(pytest.param("SwitchGNN", when, marks=SLOW) for when in ("apply", "undo", "undone")),
]


@pytest.mark.full
@pytest.mark.parametrize(("what", "when"), MOMENTS)
def test_a_failure_at_any_step(lab, states, job, graph_job, tmp_path, what, when):
    """It may strike while deploying, or while undoing a deployment whose ranks could not be started."""
    before = states()
    chosen, way = (job, ReductionNetwork.SWITCH) if what == "all-reduce" else (graph_job, "switchgnn")
    for name in ("leaf1", "leaf2", "spine"):
        met = []

        def fail(now: str, step: str, at: str = f"{what} on {name}", met: list[str] = met) -> None:
            if (now, step) == (when, at) or (now == "start" and when in ("undo", "undone")):
                met.append(now)
                raise Injected

        with pytest.raises((Injected, OfframpError)):
            run_job(chosen, lab, way, tmp_path, fail)
        assert met[-1] == when
        assert states() == before
        assert not any(ledger_jobs(switch) for switch in lab.switches)


@pytest.mark.full
@pytest.mark.parametrize("inside", ["entries", "load_place", "push"])
def test_a_failure_inside_a_step_of_switchgnn(lab, states, graph_job, tmp_path, inside, monkeypatch):
    before, calls = states(), []

    def fail() -> None:
        calls.append(inside)
        if len(calls) == 2:
            raise Injected

    if inside == "push":
        monkeypatch.setattr(gnn_switches, "p4_text", lambda *_: "this is no P4")
    else:
        target = (on_switches, "entries") if inside == "entries" else (SwitchGnnControl, "load_place")
        whole = getattr(*target)
        monkeypatch.setattr(*target, lambda *a: (fail(), whole(*a))[1])
    with pytest.raises((Injected, OfframpError)):
        run_job(graph_job, lab, "switchgnn", tmp_path)
    assert states() == before


@pytest.mark.slow
def test_programs_that_leave_no_room_for_each_other_are_refused(lab, states, job, graph_job, tmp_path):
    before = states()
    with deployed(graph_job, lab, ["switchgnn"], tmp_path) as there:
        assert there.lost() == ""
        during = states()
        with pytest.raises(OfframpError, match=r"cluster.yaml:\d+: leaf1: jobs that run there have it for switchgnn/"):
            run_job(job, lab, ReductionNetwork.SWITCH, tmp_path)
        assert states() == during
    with deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path):
        during = states()
        with pytest.raises(OfframpError, match=r"leaf1: jobs that run there have it for allreduce/v1model.p4, which"):
            run_job(graph_job, lab, "switchgnn", tmp_path)
        assert states() == during
    assert states() == before


def test_an_agent_that_is_not_there_is_named_before_anything_is_touched(lab, states, graph_job, tmp_path):
    absent = Agent(name="nic", socket=str(tmp_path / "agent.sock"), interface="eth0")
    first, *others = lab.hosts
    cluster = replace(lab, hosts=(replace(first, agents=(absent,)), *others))
    before, events = states(), []
    with pytest.raises(OfframpError, match=r"cluster.yaml:\d+: agent nic of h1 does not answer"):
        run_job(graph_job, cluster, "switchgnn", tmp_path, lambda *said: events.append(said))
    assert events == []
    assert states() == before


@pytest.mark.parametrize("inside", ["entries", "admit", "push", "ranks"])
def test_a_failure_inside_a_step(lab, states, job, tmp_path, inside, monkeypatch):
    before, calls = states(), []

    def fail(*_: object) -> None:
        calls.append(inside)
        if len(calls) == 2:  # of the second switch: the first one has to be undone
            raise Injected

    if inside == "ranks":
        job = replace(job, command=("no-such-program",))
    elif inside == "push":
        monkeypatch.setattr(on_switches, "p4_text", lambda *_: "this is no P4")
    else:
        target = (on_switches, "entries") if inside == "entries" else (AllReduceControl, "admit")
        whole = getattr(*target)
        monkeypatch.setattr(*target, lambda *a: (fail(), whole(*a))[1])
    with pytest.raises((Injected, OfframpError)):
        run_job(job, lab, ReductionNetwork.SWITCH, tmp_path)
    assert states() == before


def test_a_rank_that_fails_is_named_and_everything_is_undone(lab, states, failing, tmp_path):
    before = states()
    with pytest.raises(OfframpError, match=r"job job: rank \d on h\d ended with exit code 3: no such data"):
        run_job(failing, lab, ReductionNetwork.SWITCH, tmp_path)
    assert states() == before


@pytest.mark.full
def test_a_rank_that_died_has_the_job_started_again(lab, job, tmp_path):
    text = 'test "$RANK" != 2 -o "$TORCHELASTIC_RESTART_COUNT" -ge 2 || kill -9 $$'
    job = replace(job, command=("sh", "-c", text), restarts=2)
    assert run_job(job, lab, ReductionNetwork.GLOO, tmp_path).attempts == 3
    with pytest.raises(OfframpError, match="rank 2 on h3 was killed by SIGKILL"):
        run_job(replace(job, restarts=1), lab, ReductionNetwork.GLOO, tmp_path)


def pages(lab, name: str) -> dict[int, set[int]]:
    """Pages of each job on a switch."""
    pages_by_job: dict[int, set[int]] = {}

    def look(session) -> None:
        for page, number in AllReduceControl(session)._taken().items():
            pages_by_job.setdefault(number, set()).add(page)

    with_switch(next(each for each in lab.switches if each.name == name), look)
    return pages_by_job


@pytest.mark.full
def test_jobs_share_a_switch_and_the_last_one_puts_it_back(lab, states, job, tmp_path):
    before = states()
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path))
        alone = pages(lab, "spine")
        second.enter_context(deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path))
        pages_now = pages(lab, "spine")
        assert len(pages_now) == 2
        assert not set.intersection(*pages_now.values())
        assert alone.items() <= pages_now.items()
        full = replace(job, pages=16, segments=32)
        with pytest.raises(OfframpError, match=r"cluster.yaml:\d+: leaf1: memory 8000000 B: the job needs"):
            deployment(full, lab, full.hosts_of(lab), 1)
        other = replace(job, segments=1)
        with pytest.raises(OfframpError, match="leaf1: jobs that run there have 4 segments in a frame, this one 1"):
            run_job(other, lab, ReductionNetwork.SWITCH, tmp_path)
        first.close()
        assert pages(lab, "spine") == {n: each for n, each in pages_now.items() if n not in alone}
    assert states() == before


@pytest.mark.full
def test_a_job_waits_for_room_or_goes_without_as_its_file_says(lab, states, job, tmp_path):
    before = states()
    job = replace(job, pages=9)
    first, moments = ExitStack(), list[str]()
    with first:
        first.enter_context(deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path))
        with pytest.raises(SwitchFullError, match="needs 9 pages of slots, the switch has 7 of 16 left beside 1 other"):
            run_job(replace(job, wait_s=0.01), lab, ReductionNetwork.SWITCH, tmp_path)
        outcome = run_job(replace(job, fallback=True), lab, ReductionNetwork.SWITCH, tmp_path)
        assert "7 of 16 left" in outcome.without
        assert "offloads: []" in (tmp_path / "network.yaml").read_text()

        def note(what: str, _name: str) -> None:
            moments.append(what)
            if what == "wait":
                first.close()

        outcome = run_job(replace(job, wait_s=60.0), lab, ReductionNetwork.SWITCH, tmp_path, note)
    assert moments.count("wait") == 1
    assert (outcome.attempts, outcome.without) == (1, "")
    assert states() == before


DEPLOY = """
import sys, time
from pathlib import Path
from offramp.cluster import read_cluster
from offramp.job.network import ReductionNetwork
from offramp.job.run import deployed
from offramp.job.settings import JobSettings
job = JobSettings(command=("true",), all_reduce=1, segments=4)
with deployed(job, read_cluster(sys.argv[1]), [ReductionNetwork.SWITCH], Path(sys.argv[2])):
    print("there", flush=True)
    time.sleep(60)
"""


@pytest.mark.full
def test_what_a_killed_job_has_left_is_taken_away(lab, states, tmp_path):
    before = states()
    with subprocess.Popen(
        [sys.executable, "-c", DEPLOY, lab.origin, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.kill()
    assert states() != before
    assert [len(release_ended(switch)) for switch in lab.switches] == [1, 1, 1]
    assert states() == before


@pytest.mark.full
def test_a_signal_to_the_command_leaves_the_undoing_to_a_process_of_its_own(lab, states, tmp_path):
    before = states()
    (tmp_path / "job.yaml").write_text("command: [sleep, '60']\nsegments: 4\nall_reduce: 1MB\n")
    (tmp_path / "c.yaml").write_text(cluster_text(lab))
    words = ["job", "run", "job.yaml", "--on", "c.yaml", "--by", "allreduce", "--out", "out"]
    with subprocess.Popen(
        [sys.executable, "-m", "offramp", *words], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "out/allreduce/rank-3.log").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        there = states()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 143
        gone = owner_of(process.pid)
    assert there != before
    assert not is_process(gone)
    deadline = time.monotonic() + 30
    while any(ledger_jobs(switch) for switch in lab.switches) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert states() == before


def ledger_jobs(switch) -> dict[int, str]:
    with opened(switch) as ledger:
        return ledger.jobs
