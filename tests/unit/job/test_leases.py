# SPDX-License-Identifier: Apache-2.0
"""What a plan says of switches before anything runs, against what is there when it does.

Blind to what other machines' jobs have, which only their ledgers know.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.allreduce.wire import PAGE
from offramp.job.kind import PlacedJob
from offramp.job.leases import leases_of
from offramp.job.ledger import folder_of
from offramp.job.network import ReductionNetwork
from offramp.job.planner import make_job_plan
from offramp.job.run import deployed
from offramp.job.settings import JobSettings
from offramp.job.shared_program import SHARED, page_bytes
from offramp.job.switches import PROGRAM

SWITCH = ReductionNetwork.SWITCH


def leases(job: JobSettings, cluster):
    plan = make_job_plan(job, cluster)
    assert plan.taken.way == SWITCH
    return {each.switch: each for each in leases_of(PlacedJob.on(job, cluster), plan.taken)}


def test_a_plan_names_programs_slots_and_room(lab, job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(folder_of(lab.switches[0]).parent.rglob("*"))
    known = leases(job, lab)
    assert sorted(folder_of(lab.switches[0]).parent.rglob("*")) == before
    assert list(known) == ["leaf1", "leaf2", "spine"]
    for each in known.values():
        assert (each.program, each.jobs, each.now) == (PROGRAM, 0, "room")
        assert each.leases == f"{job.pages} pages of {PAGE} slots of 1024 B ({job.pages * page_bytes(4)} B)"
    shared = leases(replace(job, share=True), lab)["spine"].program
    assert shared.startswith(f"{SHARED}: ")
    assert "aggregators of SwitchGNN" in shared
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ({}, "would be refused: "),
        ({"fallback": True}, "runs in the plain way: "),
        ({"wait_s": 90.0}, "waits up to 90 s: "),
        ({"wait_s": 90.0, "fallback": True}, "waits up to 90 s, then runs in the plain way: "),
    ],
)
def test_a_plan_says_what_a_job_without_room_does(lab, job, tmp_path, fields, then):
    most = replace(job, pages=10)
    with deployed(most, lab, [SWITCH], tmp_path):
        leaf = leases(replace(most, **fields), lab)["leaf1"]
        assert (leaf.program, leaf.jobs) == (PROGRAM, 1)
        assert leaf.now == f"{then}6 of 16 pages are free, the job needs 10"
        assert leases(replace(job, pages=1), lab)["leaf1"].now == "room"
        other = leases(replace(job, pages=1, segments=1), lab)["leaf1"]
        assert other.now == "would be refused: jobs that run there have 4 segments in a frame, this one 1"
    assert leases(most, lab)["leaf1"].now == "room"


def test_a_second_job_of_switchgnn_is_refused_with_the_reason(lab, tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "train.yaml"
    path.write_text("graph: karate\nhidden: 8\npartition: hash\nepochs: 3\n")
    graph = JobSettings(train=path, share=True, segments=1)
    plan = make_job_plan(graph, lab)
    choice = next(each for each in plan.choices if each.way == "switchgnn")
    small = replace(lab, switches=tuple(replace(switch, memory=400_000) for switch in lab.switches))
    with deployed(graph, small, ["switchgnn"], tmp_path):
        (leaf, *_) = leases_of(PlacedJob.on(graph, small), choice)
    assert leaf.program == SHARED
    reason = "a job that runs there has SwitchGNN for itself: its frames name blocks and aggregators, not jobs"
    assert leaf.now == f"would be refused: {reason}"
