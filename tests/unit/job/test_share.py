# SPDX-License-Identifier: Apache-2.0
"""Jobs of different systems on the same switches at once, which they leave as they were, in whatever order they end.

Blind to packets, which ``tests/p4/job`` sends, but for the slow test, whose ranks do.
"""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.allreduce.control import AllReduceControl, SwitchFullError
from offramp.cluster import parse_cluster
from offramp.job.kind import PlacedJob
from offramp.job.kinds.full_graph import FullGraph
from offramp.job.kinds.sums import SumsJob, deployment
from offramp.job.ledger import opened
from offramp.job.network import ReductionNetwork
from offramp.job.run import deployed, run_job
from offramp.job.settings import JobSettings
from offramp.job.shared_program import SHARED, page_bytes, sizes_for_pages, sizes_for_plans
from offramp.job.snapshot import SwitchSnapshot
from offramp.job.switches import with_switch
from offramp.job.watch import look
from offramp.switchgnn.control import SwitchGnnControl
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_sim.lab.holder import addressed, build

SUMS = JobSettings(command=("true",), all_reduce=10_000_000, segments=1, share=True)
ONE = """\
name: one
hosts: [{name: "h[1-4]"}]
switches: [{name: s, memory: 400kB}]
links: [{ends: ["h[1-4]", s], rate: 100mbit}]
"""


@pytest.fixture(scope="module")
def graph_job(tmp_path_factory) -> JobSettings:
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("train") / "train.yaml"
    path.write_text("graph: karate\nhidden: 8\npartition: hash\nepochs: 3\n")
    return JobSettings(train=path, share=True, segments=1)


@pytest.fixture
def lab(lab):
    """The laboratory with switches of less memory, which is read and compared as a whole."""
    return replace(lab, switches=tuple(replace(switch, memory=400_000) for switch in lab.switches))


def programs(lab) -> set[str]:
    names = set()
    for switch in lab.switches:
        with opened(switch) as ledger:
            names.add(ledger.program if ledger.jobs else "")
    return names


@pytest.mark.slow
@pytest.mark.parametrize("first", ["sums", "graph"])
def test_two_systems_share_switches_and_leave_them_in_any_order(lab, states, graph_job, tmp_path, first):
    before, jobs = states(), [(SUMS, ReductionNetwork.SWITCH), (graph_job, "switchgnn")]
    if first == "graph":
        jobs.reverse()
    for ends_first in (0, 1):
        stacks = [ExitStack(), ExitStack()]
        for stack, (job, way) in zip(stacks, jobs, strict=True):
            there = stack.enter_context(deployed(job, lab, [way], tmp_path))
            assert there.lost() == ""
        assert programs(lab) == {SHARED}
        seen = look(lab, None).switches["leaf1"]
        assert seen.answers
        assert len(seen.taken) == 1
        assert seen.passes["uploads"] == 0
        stacks[ends_first].close()
        assert programs(lab) == {SHARED}
        remaining = jobs[1 - ends_first][1]
        assert systems_on(lab) == ({"all-reduce"} if remaining == ReductionNetwork.SWITCH else {"SwitchGNN"})
        with deployed(*jobs[ends_first][:1], lab, [jobs[ends_first][1]], tmp_path):  # its place is free again
            assert systems_on(lab) == {"all-reduce", "SwitchGNN"}
        stacks[1 - ends_first].close()
        assert states() == before


def systems_on(lab) -> set[str]:
    """Systems with a job's entries on the first leaf."""
    names: set[str] = set()

    def ask(session: Session) -> None:
        if AllReduceControl(session)._taken():
            names.add("all-reduce")
        if session.read_table("SwitchGnnIngress.origin.members"):
            names.add("SwitchGNN")

    with_switch(lab.by_name["leaf1"], ask)
    return names


@pytest.mark.slow
def test_a_second_job_of_a_system_that_has_room_for_one_is_told_so(lab, states, graph_job, tmp_path):
    before = states()
    with deployed(graph_job, lab, ["switchgnn"], tmp_path):
        during = states()
        with pytest.raises(SwitchFullError, match=r"leaf1: a job that runs there has SwitchGNN for itself"):
            run_job(graph_job, lab, "switchgnn", tmp_path)
        assert states() == during
    assert states() == before


@pytest.mark.slow
def test_a_failure_of_the_second_system_leaves_the_first(lab, states, graph_job, tmp_path, monkeypatch):
    before = states()
    with deployed(SUMS, lab, [ReductionNetwork.SWITCH], tmp_path):
        during, calls = states(), []

        def fail(self, entries, plans) -> None:
            calls.append(self)
            self._write(entries.rows[:1], entries.groups)
            if len(calls) == 2:
                raise RuntimeError("a fault of the test's own")

        monkeypatch.setattr(SwitchGnnControl, "load_place", fail)
        with pytest.raises(RuntimeError, match="own"):
            run_job(graph_job, lab, "switchgnn", tmp_path)
        assert states() == during
    assert states() == before


@pytest.mark.full
def test_a_job_that_needs_more_than_its_part_is_told_before_anything_is_touched(lab, states, tmp_path):
    before = states()
    whole = replace(SUMS, pages=16, segments=32)
    with pytest.raises(OfframpError, match=rf"cluster.yaml:\d+: leaf1: memory 400000 B: {SHARED} needs \d+ B"):
        run_job(whole, lab, ReductionNetwork.SWITCH, tmp_path)
    refused = SumsJob().predict(PlacedJob.on(whole, lab), None).refused
    assert "needs" in refused[ReductionNetwork.SWITCH]
    assert states() == before


def test_systems_that_do_not_fit_together_on_a_tofino_are_named(racks, graph_job):
    cluster = replace(racks, switches=tuple(replace(switch, target="tna") for switch in racks.switches))
    line = r"leaf1: target tna: a pipe of a Tofino has 48 stateful units: SwitchGNN 38 and all-reduce 38 do not fit"
    refused = SumsJob().predict(PlacedJob.on(replace(SUMS, hosts=None), cluster), None).refused
    assert re.search(line, refused[ReductionNetwork.SWITCH])
    with pytest.raises(OfframpError, match=line):
        FullGraph().model_s(PlacedJob.on(replace(graph_job, share=False), cluster), "switchgnn+allreduce")


def test_each_system_has_what_its_job_needs_and_the_other_what_is_left(racks):
    switch = racks.switches[0]
    first = sizes_for_pages(switch, "file:1", 2, 4)
    assert first.aggregators * 128 == switch.memory // 2
    assert first.pages * page_bytes(4) <= switch.memory // 2 < (first.pages + 1) * page_bytes(4)
    sizes = dict.fromkeys(("FANOUT_ENTRIES", "SLOT_ENTRIES", "OWNER_ENTRIES", "HOSTS"), 9)
    second = sizes_for_plans(switch, "file:1", sizes | {"SEGMENTS": 2, "AGGREGATORS": 20_000}, 32)
    assert (second.pages, second.segments) == (1, 32)
    assert (second.aggregators, second.gnn_segments) == (20_000, 2)
    third = sizes_for_plans(switch, "file:1", sizes | {"SEGMENTS": 2, "AGGREGATORS": 30_000}, 32)
    assert third.segments == 4  # no page of 32 segments fits
    with pytest.raises(OfframpError, match=r"file:1: leaf1: memory 8000000 B: job/v1model.p4 needs"):
        sizes_for_plans(switch, "file:1", sizes | {"SEGMENTS": 2, "AGGREGATORS": 31_200}, 32)


@pytest.mark.full
def test_two_systems_on_one_switch(lab, graph_job, tmp_path):
    """All-reduce brings the program, SwitchGNN joins it and stays when all-reduce leaves."""
    switch = lab.by_name["leaf1"]
    before = snapshot(switch)
    graph = FullGraph().deployment(PlacedJob.on(graph_job, lab), ["switchgnn"], 8, tmp_path).steps[0]
    sums = deployment(SUMS, lab, lab.hosts, 7)[0]
    for step in (sums, graph):
        step.apply()
    assert [step.holds() for step in (sums, graph)] == ["", ""]
    assert systems_on(lab) == {"all-reduce", "SwitchGNN"}
    seen = look(lab, None).switches["leaf1"]
    assert (len(seen.taken), seen.passes["uploads"]) == (1, 0)
    sums.undo()
    assert systems_on(lab) == {"SwitchGNN"}
    graph.undo()
    assert snapshot(switch) == before


@pytest.mark.full
def test_frames_are_forwarded_while_a_job_has_a_switch_for_itself(lab, graph_job, tmp_path):
    own = replace(graph_job, share=False)
    step = FullGraph().deployment(PlacedJob.on(own, lab), ["switchgnn"], 9, tmp_path).steps[0]
    step.apply()
    there: list[int] = []
    with_switch(step.switch, lambda session: there.append(len(session.read_table("SwitchGnnIngress.bridge.macs"))))
    step.undo()
    assert there == [len(lab.hosts)]


def snapshot(switch) -> SwitchSnapshot:
    taken: list[SwitchSnapshot] = []
    with_switch(switch, lambda session: taken.append(SwitchSnapshot.take(session)))
    return taken[0]


PROGRAM = """
import torch
import torch.distributed as dist
import offramp.torch

torch.set_num_threads(1)
dist.init_process_group("offramp")
for number in range(30):
    values = torch.full((20_000,), float(dist.get_rank() + number))
    dist.all_reduce(values)
    assert (values == 2 * number + 1).all()
print(offramp.torch.counters())
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_ranks_of_both_at_once_get_what_they_get_alone(tmp_path, graph_job):
    """Hosts 1 and 2 train a graph, hosts 3 and 4 sum, over one switch."""
    (tmp_path / "sums.py").write_text(PROGRAM)
    words = (sys.executable, str(tmp_path / "sums.py"))
    sums = JobSettings(command=words, all_reduce=80_000, segments=1, share=True, hosts="h[3-4]", port=29611)
    train = replace(graph_job, hosts="h[1-2]", port=29612)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        lab = build(addressed(parse_cluster(ONE)), folder, "sockets", stack).lab.cluster()
        (tmp_path / "alone").mkdir()
        run_job(replace(train, share=False), lab, "switchgnn", tmp_path / "alone")
        met = []
        with ThreadPoolExecutor(2) as pool:
            runs = []
            for name, job, way in (("s", sums, ReductionNetwork.SWITCH), ("t", train, "switchgnn")):
                (tmp_path / name).mkdir()
                note = lambda what, step: met.append(programs(lab)) if what == "start" else None  # noqa: E731
                runs.append(pool.submit(run_job, job, lab, way, tmp_path / name, note))
            for run in runs:
                run.result()
    assert {SHARED} in met
    assert "'allreduce': {'all_reduce': {'calls': 30" in (tmp_path / "s/rank-0.log").read_text()
    alone, shared = (json.loads((tmp_path / name / "train.json").read_text()) for name in ("alone", "t"))
    assert [row["loss"] for row in shared["per_epoch"]] == [row["loss"] for row in alone["per_epoch"]]
