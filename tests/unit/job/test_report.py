# SPDX-License-Identifier: Apache-2.0
"""Reports of jobs: JSON and a page that hold what was predicted and measured, and traces of steps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chromium import browser
from offramp.job.kind import KINDS
from offramp.job.network import Way
from offramp.job.pictures import TERMS
from offramp.job.planner import make_job_plan
from offramp.job.report import report, write
from offramp.job.run import RunResult
from offramp.job.steps import FOLDER, chrome_trace, mean_step_s, step
from offramp.job.training import RESULT
from offramp_base.errors import OfframpError


def test_a_report_of_sums(racks, job, tmp_path, monkeypatch):
    for way in (Way.SWITCH, Way.GLOO):
        (tmp_path / way).mkdir()
        monkeypatch.setenv(FOLDER, str(tmp_path / way))
        for number in range(3):
            with step(number), step(number, "backward"):
                pass
    moved = {"h1": (1_000_000, 900_000)}
    runs = {Way.SWITCH: RunResult(3.0, 1, moved, ["start"]), Way.GLOO: RunResult(4.0, 1, {"h1": (1_500_000, 1)}, [])}
    plan = make_job_plan(job, racks)
    content = report(job, racks, plan, runs, tmp_path, "offramp job run <job>")
    text, page = write(content, tmp_path)
    found = json.loads(text.read_text())
    assert found["schema"] == "offramp.job/1"
    assert found["error"] == pytest.approx(found["measured_step_s"] / plan.taken.step_s - 1)
    assert found["best"] in ("allreduce", "gloo")
    html = page.read_text()
    assert "66.7" in html or "67" in html  # per cent of gloo's bytes
    assert "offramp job run &lt;job&gt;" in html
    for expected in ("Time of a step", "h1, gloo: 1.5 MB", "h1, allreduce: 1 MB", "<dt>hermod</dt>", found["origin"]):
        assert expected in html


def test_every_way_has_a_line_that_says_what_it_is():
    ways = {str(way) for name in KINDS.names() for way in KINDS.get(name).ways}
    assert ways == TERMS.keys()


def test_a_report_in_chromium(racks, job, tmp_path):
    """Nothing scrolls sideways but the command and the cluster, and a sentence has the width of the page."""
    plan = make_job_plan(job, racks)
    choices = tuple(replace(each, why=f"{each.why}, of which there is more to say here") for each in plan.choices)
    runs = {Way.SWITCH: RunResult(3.0, 1, {"h1": (1_000_000, 900_000)}, [])}
    page = write(report(job, racks, replace(plan, choices=choices), runs, tmp_path, "x"), tmp_path)[1]
    cell = "document.querySelector('.sentences td:last-child').getBoundingClientRect()"
    with browser(tmp_path) as there:
        for width in (390, 600, 800, 1280):
            there.open(page.as_uri(), width, 900)
            there.wait(f"location.href == {page.as_uri()!r} && document.readyState == 'complete'")
            assert there.evaluate("document.documentElement.scrollWidth") <= width
            wide = "[...document.querySelectorAll('.card')].filter(it => it.scrollWidth > it.clientWidth).length"
            assert there.evaluate(wide) == 0
            assert (there.evaluate(f"{cell}.width") > 0.75 * width) == (width < 720)


def test_a_report_of_full_graph_training(racks, job, tmp_path):
    mine = replace(job, command=(), train=Path("train.yaml"))
    (tmp_path / "p2p").mkdir()
    rows = [{"seconds": seconds} for seconds in (9.0, 1.0, 3.0)]
    (tmp_path / "p2p" / RESULT).write_text(json.dumps({"per_epoch": rows}))
    plan = make_job_plan(job, racks)
    choices = tuple(
        replace(c, taken=c.way is Way.GLOO, way="p2p" if c.way is Way.GLOO else c.way) for c in plan.choices
    )
    content = report(mine, racks, replace(plan, choices=choices), {"p2p": RunResult(20.0, 1)}, tmp_path, "x")
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
