# SPDX-License-Identifier: Apache-2.0
"""Reports of jobs: JSON and a page that hold what was predicted and measured, and traces of steps."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from offramp.job.kind import KINDS
from offramp.job.network import ReductionNetwork
from offramp.job.planner import make_job_plan
from offramp.job.report import report, write
from offramp.job.run import JobRunResult
from offramp.job.steps import FOLDER, chrome_trace, mean_step_s, step
from offramp.job.terms import TERMS
from offramp.job.training import RESULT
from offramp.report import Outcome
from offramp_base.errors import OfframpError


def test_a_report_of_sums(racks, job, tmp_path, monkeypatch):
    for way in (ReductionNetwork.SWITCH, ReductionNetwork.GLOO):
        (tmp_path / way).mkdir()
        monkeypatch.setenv(FOLDER, str(tmp_path / way))
        for number in range(3):
            with step(number), step(number, "backward"):
                pass
    host, spine = racks.links[0], racks.links[-1]
    ours = JobRunResult(
        3.0, 1, {"h1": (1_000_000, 900_000)}, ["start"], {host: (1_000_000, 900_000), spine: (7_000_000, 1)}
    )
    theirs = JobRunResult(4.0, 1, {"h1": (1_500_000, 1)}, [], {host: (1_500_000, 1)})
    plan = make_job_plan(job, racks)
    content = report(
        job,
        racks,
        plan,
        {ReductionNetwork.SWITCH: ours, ReductionNetwork.GLOO: theirs},
        tmp_path,
        "offramp job run <job>",
    )
    text, page = write(content, tmp_path)
    document = json.loads(text.read_text())
    assert document["schema"] == "offramp.job/1"
    assert document["error"] == pytest.approx(document["measured_step_s"] / plan.taken.step_s - 1)
    assert document["best"] in ("allreduce", "gloo")
    assert document["measured"]["gloo"]["bytes_by_link"] == {"h1": [1_500_000, 1]}
    assert {row["correction"] for row in document["plan"]} == {None}  # nothing was calibrated
    outcome = Outcome.from_dict(document["outcome"])
    assert outcome.verdict.answer == "unknown"  # two steps each
    by_name = {each.name: each for each in outcome.alternatives}
    assert [name for name, each in by_name.items() if each.measured_s] == ["gloo", "allreduce"]
    assert median(by_name["gloo"].measured_s) == document["measured"]["gloo"]["step_s"]
    links = {link.ends: link.bytes_by for link in outcome.fabric.links}
    assert links["leaf2", "spine"] == {"allreduce": (7_000_000, 1)}
    assert links["h1", "leaf1"] == {"allreduce": (1_000_000, 900_000), "gloo": (1_500_000, 1)}
    assert {node.name: node.rack for node in outcome.fabric.nodes}["h3"] == "leaf2"
    html = page.read_text()
    assert "offramp job run &lt;job&gt;" in html
    expected = ("Time of one step", "gloo: 1.50 MB from h1, 1 B from leaf1", "gloo: not counted", "<dt>hermod</dt>")
    for words in (*expected, "7.00 MB from leaf2", document["origin"], "Cannot be told on this machine"):
        assert words in html


def test_an_unfinished_calibration_is_said(racks, job, tmp_path):
    plan = replace(make_job_plan(job, racks), reason="it had not ended within 60 s")
    content = report(job, racks, plan, {ReductionNetwork.SWITCH: JobRunResult(3.0, 1)}, tmp_path, "x")
    assert "The plan rests on models alone: it had not ended within 60 s." in content["outcome"]["notes"]
    assert "models alone" in content["outcome"]["verdict"]["sentence"]
    page = write(content, tmp_path)[1].read_text()
    assert "not measured" in page
    assert 'class="measured"' not in page


def test_start_up_ends_where_counted_steps_begin(racks, job, tmp_path, monkeypatch):
    (tmp_path / "gloo").mkdir()
    monkeypatch.setenv(FOLDER, str(tmp_path / "gloo"))
    begun = time.time_ns()
    for number in range(2):
        with step(number):
            time.sleep(0.02)
    plan = make_job_plan(job, racks)
    taken = JobRunResult(3.0, 1)
    run = JobRunResult(3.0, 1, begun_ns=begun - 5_000_000_000)
    (first, *_) = report(job, racks, plan, {ReductionNetwork.SWITCH: taken, ReductionNetwork.GLOO: run}, tmp_path, "x")[
        "outcome"
    ]["alternatives"]
    assert 5.02 <= first["startup_s"] < 5.02 + (time.time_ns() - begun) / 1e9


def test_every_way_has_a_line_that_says_what_it_is():
    ways = {str(way) for name in KINDS.names() for way in KINDS.get(name).ways}
    assert ways == TERMS.keys()


def test_a_report_of_full_graph_training(racks, job, tmp_path):
    mine = replace(job, command=(), train=Path("train.yaml"))
    (tmp_path / "p2p").mkdir()
    rows = [{"seconds": seconds} for seconds in (9.0, 1.0, 3.0)]
    (tmp_path / "p2p" / RESULT).write_text(json.dumps({"per_epoch": rows}))
    plan = make_job_plan(job, racks)
    choices = tuple(
        replace(c, taken=c.way is ReductionNetwork.GLOO, way="p2p" if c.way is ReductionNetwork.GLOO else c.way)
        for c in plan.choices
    )
    content = report(mine, racks, replace(plan, choices=choices), {"p2p": JobRunResult(20.0, 1)}, tmp_path, "x")
    assert content["measured_step_s"] == 2.0
    assert json.loads(write(content, tmp_path)[0].read_text())["job"]["train"] == "train.yaml"


def test_traces_of_steps(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        for number in range(2 + rank):
            with step(number):
                pass
    with (tmp_path / "steps-1.jsonl").open("a") as file:
        file.write('{"step": 7, "what"')  # a line that is being written
    events = [event for event in chrome_trace(tmp_path)["traceEvents"] if event["ph"] == "X"]
    assert [(event["pid"], event["name"]) for event in events] == [(0, "step 1"), (1, "step 1")]
    assert min(event["ts"] for event in events) == 0
    assert mean_step_s(tmp_path) >= 0
    with pytest.raises(OfframpError, match="no rank has written step 9"):
        chrome_trace(tmp_path, 9)
