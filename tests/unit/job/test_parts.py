# SPDX-License-Identifier: Apache-2.0
"""Agents, bitstreams and queues that a job brings: there while it runs, gone after it, and after a failure at any step.

Blind to real agents, boards and interfaces: the agent is a script with an agent's manners, the board's loader writes
down what it is told to load.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.cluster.model import Agent, Card, Cluster
from offramp.cluster.read import parse_cluster
from offramp.cluster.write import cluster_text
from offramp.hermod.deploy import load_plan
from offramp.hermod.plan_file import plan_document
from offramp.hermod.switch.control import HermodControl
from offramp.job.kind import PlacedJob
from offramp.job.network import ReductionNetwork
from offramp.job.parts import CommandStep, StartedAgent, device_steps, queue_steps
from offramp.job.run import deployed, run_job
from offramp.job.settings import JobSettings
from offramp.job.switches import with_switch
from offramp.job.transaction import Transaction
from offramp_base.errors import OfframpError

AGENT = f"""#!{sys.executable}
import pathlib, sys
socket = pathlib.Path(sys.argv[sys.argv.index("--socket") + 1])
if socket.name == "refused.sock":
    sys.exit("offramp-nic-agent: no such interface")
socket.write_text("")
print("ready", flush=True)
sys.stdin.read()
socket.unlink()
"""
LOADER = """#!/bin/sh
for last; do :; done
echo "$last" >> "$(dirname "$0")/loaded"
case "$last" in *broken*) exit 1;; esac
"""
BITSTREAM = b"\xff\x00Part: LFE5U-85F-6CABGA381\x00\xff\xff\xbd\xb3" + bytes(64)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "agent"
    path.write_text(AGENT)
    path.chmod(0o755)
    return path


@pytest.fixture
def lab(lab: Cluster, tmp_path: Path) -> Cluster:
    """The laboratory with switches of less memory, which is read and compared as a whole."""
    return replace(lab, switches=tuple(replace(switch, memory=400_000) for switch in lab.switches))


def agent_of(lab: Cluster, program: Path, name: str = "agent.sock") -> StartedAgent:
    agent = Agent(name="nic", socket=str(program.with_name(name)), start=True, program=str(program))
    return StartedAgent(agent, lab.hosts[0], "file:1")


def gone(path: Path) -> bool:
    """Whether a process that removes a file when it ends has done so, a while after its input ended."""
    deadline = time.monotonic() + 20
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not path.exists()


def test_an_agent_lives_as_long_as_its_step(lab, program):
    step = agent_of(lab, program)
    assert "has ended" in step.holds()
    step.apply()
    assert step.holds() == ""
    assert (program.parent / "agent.sock").exists()
    step.undo()
    assert gone(program.parent / "agent.sock")
    step.undo()  # nothing is left to end


def test_an_agent_that_does_not_start_says_why(lab, program):
    step = agent_of(lab, program, "refused.sock")
    with pytest.raises(OfframpError, match=r"^file:1: agent nic: offramp-nic-agent: no such interface$"):
        step.apply()
    missing = agent_of(lab, program.with_name("nothing"))
    with pytest.raises(OfframpError, match=r"file:1: .*nothing: No such file"):
        missing.apply()


@pytest.mark.parametrize("failing", range(4))
@pytest.mark.each
def test_what_was_done_is_taken_back_in_reverse(lab, program, tmp_path, failing):
    log = tmp_path / "log"

    def step(name: str, fails: bool) -> CommandStep:
        words = [["sh", "-c", f"echo {what} {name} >> {log}{last}"] for what, last in
                 (("do", "; exit 3" if fails else ""), ("undo", ""))]  # fmt: skip
        return CommandStep(name, lab.hosts[0], "file:1", *words, atomic=name != "card")

    names = ("one", "card", "two")
    agent = agent_of(lab, program)

    def run() -> None:
        with Transaction() as transaction:
            transaction.apply(agent)
            for number, name in enumerate(names):
                transaction.apply(step(name, number == failing))
            raise OfframpError("ranks")

    with pytest.raises(OfframpError, match=rf"file:1: {names[failing]}: status 3" if failing < 3 else "ranks"):
        run()
    begun = list(names[: failing + 1])
    undone = [name for name in reversed(begun) if name != names[min(failing, 2)] or failing == 3 or name == "card"]
    assert log.read_text().split("\n")[:-1] == [f"do {name}" for name in begun] + [f"undo {name}" for name in undone]
    assert gone(program.parent / "agent.sock")


def test_files_of_clusters_keep_agents_and_cards(lab, program):
    card = Card(name="fpga", board="ulx3s", bitstream="/bits/job.bit", idle="/bits/idle.bit")
    agent = agent_of(lab, program).agent
    whole = replace(lab, hosts=(replace(lab.hosts[0], agents=(agent,), cards=(card,)), *lab.hosts[1:]))
    again = parse_cluster(cluster_text(whole)).hosts[0]
    assert (again.agents, again.cards) == ((agent,), (card,))
    steps = device_steps(PlacedJob.on(JobSettings(command=("true",)), whole))
    assert [step.name for step in steps] == ["start of agent nic on h1", "bitstream of card fpga of h1"]
    assert isinstance(steps[1], CommandStep)
    assert "/bits/idle.bit" in steps[1].back


@pytest.fixture
def plan_path(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan_document(load_plan("gpt3-13b"))))
    return path


@pytest.mark.full
def test_queues_of_a_switch_are_the_jobs_while_it_runs(lab, plan_path):
    job = JobSettings(command=("true",), queues=plan_path)
    step = queue_steps(PlacedJob.on(job, lab), 7)[0]
    step.apply()
    assert step.holds() == ""
    states: list[object] = []
    with_switch(lab.by_name["leaf1"], lambda session: states.append(HermodControl(session, forwarding=False).read()))
    assert any("HermodIngress.classify.classes" in str(key) and key[1] for key in states[0])
    step.undo()


@pytest.mark.slow
@pytest.mark.parametrize("failing", ["", "agent", "bitstream", "all-reduce on leaf2", "Hermod on leaf1", "broken"])
def test_everything_of_a_job_or_nothing(lab, states, program, plan_path, tmp_path, monkeypatch, failing):
    before = states()
    loader = tmp_path / "bin/openFPGALoader"
    loader.parent.mkdir()
    loader.write_text(LOADER)
    loader.chmod(0o755)
    monkeypatch.setenv("PATH", f"{loader.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("job", "idle", "broken"):
        (tmp_path / f"{name}.bit").write_bytes(BITSTREAM)
    first = "broken" if failing == "broken" else "job"
    card = Card(name="fpga", bitstream=str(tmp_path / f"{first}.bit"), idle=str(tmp_path / "idle.bit"))
    agent = agent_of(lab, program).agent
    cluster = replace(lab, hosts=(replace(lab.hosts[0], agents=(agent,), cards=(card,)), *lab.hosts[1:]))
    job = JobSettings(command=("true",), all_reduce=10_000_000, segments=1, queues=plan_path)
    applied: list[str] = []

    def note(what: str, name: str) -> None:
        if what == "applied":
            applied.append(name)
        if failing and what == "apply" and failing in name:
            raise OfframpError("a fault of the test's own")

    if failing:
        with pytest.raises(OfframpError):
            run_job(job, cluster, ReductionNetwork.SWITCH, tmp_path, note)
    else:
        run_job(job, cluster, ReductionNetwork.SWITCH, tmp_path, note)
        systems = [name.partition(" on ")[0].partition(" of ")[0] for name in applied]
        assert systems == ["start", "bitstream", *["all-reduce"] * 3, *["Hermod"] * 3]
    loaded = (loader.parent / "loaded").read_text().split() if failing != "agent" and failing != "bitstream" else []
    assert [Path(each).stem for each in loaded] == ([first, "idle"] if loaded else [])
    assert gone(program.parent / "agent.sock")
    assert states() == before
    with deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path) as there:  # nothing is in its way
        assert there.lost() == ""
