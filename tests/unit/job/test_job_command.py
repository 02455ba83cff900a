# SPDX-License-Identifier: Apache-2.0
"""``offramp job``: what it shows of plans and runs, and which files of earlier runs it removes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import offramp.job
from offramp.job import JobSettings, leases
from offramp.job.engine import BatchEngine
from offramp.job.planner import JobPlan, PlannerChoice
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_cli.job import job as command

PLAN = JobPlan(
    (
        PlannerChoice("gloo", 0.2, taken=False, reason="plain"),
        PlannerChoice("allreduce", 0.1, taken=True, reason="half the time"),
        PlannerChoice("hermod", None, taken=False, reason="it sums nothing"),
    )
)


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=150)


def lines(console: Console) -> list[str]:
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_a_plan_in_lines_and_as_a_table(console: Console, job) -> None:
    assert command.plan_lines(PLAN) == [
        "gloo: a step 200 ms; plain",
        "allreduce: a step 100 ms; half the time",
        "hermod: cannot be taken; it sums nothing",
    ]
    command.show_plan(console, job, PLAN)
    shown = lines(console)
    assert "gloo 200 ms 200 ms model plain" in shown
    assert "allreduce yes 100 ms 200 ms model half the time" in shown
    assert "hermod 200 ms it sums nothing" in shown
    assert not any(line.startswith(f"{job.name}:") for line in shown)
    command.show_plan(console, job, command.forced(PLAN, "gloo"))
    assert f"{job.name}: plain" in lines(console)


def test_a_way_that_cannot_be_taken_is_not_forced() -> None:
    forced = command.forced(PLAN, "gloo")
    assert [each.taken for each in forced.choices] == [True, False, False]
    with pytest.raises(OfframpError, match="it sums nothing"):
        command.forced(PLAN, "hermod")


@pytest.mark.parametrize("requeued", [False, True])
def test_results_of_an_earlier_run_are_removed_unless_it_goes_on(tmp_path: Path, requeued: bool) -> None:
    folder = tmp_path / "out" / "gloo"
    command._fresh(folder, requeued=requeued)
    ours = {"rank-0.log", "steps-3.jsonl", "paths-1.json", "network.yaml", "train.json", "run.json"}
    theirs = {"notes.txt", "rank-0.txt"}
    for name in ours | theirs:
        (folder / name).touch()
    command._fresh(folder, requeued=requeued)
    assert {path.name for path in folder.iterdir()} == (ours | theirs if requeued else theirs)


def test_what_happens_to_ranks_is_said(console: Console, job, racks, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*given: Any) -> str:
        note = given[4]
        for what in ("deploying", "without", "restart"):
            note(what, f"rank of {what}")
        return "outcome"

    monkeypatch.setattr(offramp.job, "run_job", run)
    choice = PLAN.by("allreduce")
    assert command._run(console, job, racks, choice, Path("x"), None, []) == "outcome"
    said = [line for line in lines(console) if "deploying rank" not in line]
    assert "rank of without: it runs in the plain way" in said
    assert "allreduce: rank of restart: restarted" in said
    assert not any("rank of deploying:" in line for line in said)


@pytest.mark.parametrize("jobs", [0, 1, 2])
def test_leases_have_a_row_each_and_none_no_table(console: Console, job, racks, monkeypatch, jobs: int) -> None:
    lease = leases.SwitchLease("s1", "allreduce", "4 pages", jobs, "room")
    monkeypatch.setattr(leases, "leases_of", lambda *_: [lease])
    row = {"switch": "s1", "program": "allreduce", "leases": "4 pages", "jobs": jobs, "now": "room"}
    assert command.show_leases(console, job, racks, PLAN) == [row]
    beside = {0: "", 1: " beside 1 job", 2: " beside 2 jobs"}[jobs]
    assert f"s1 allreduce 4 pages room{beside}" in lines(console)
    monkeypatch.setattr(leases, "leases_of", lambda *_: [])
    assert command.show_leases(console, job, racks, PLAN) == []
    assert lines(console) == []


@pytest.mark.parametrize("best", ["allreduce", "gloo", None])
def test_measured_times_beside_the_predicted(console: Console, best: str | None) -> None:
    measured = {"allreduce": {"seconds": 3.0, "step_s": 0.25}, "gloo": {"seconds": 4.0, "step_s": None}}
    content = {"measured": measured, "best": best, "taken": "allreduce", "over_best": 1.256, "predicted_step_s": 0.2}
    command.show_outcome(console, content | {"error": 0.25 if best else None})
    shown = lines(console)
    assert shown[:2] == ["allreduce: 3 s, a step 250 ms", "gloo: 4 s"]
    fastest = {"gloo": "fastest measured: gloo; allreduce 1.26 of its time", "allreduce": "fastest measured: allreduce"}
    assert shown[2:] == ([fastest[best], "predicted 200 ms: +25%"] if best else [])


class Batch(BatchEngine):
    """A batch system, which is asked for nothing here."""

    def __init__(self) -> None:
        pass


Batch.__abstractmethods__ = frozenset()


@pytest.mark.parametrize(("measure", "engine"), [(True, None), (False, None), (True, Batch())])
def test_what_is_calibrated(console: Console, job, racks, monkeypatch, measure: bool, engine: Any) -> None:
    given: list[Any] = []
    monkeypatch.setattr(offramp.job, "make_job_plan", lambda job, cluster, probe: given.append(probe) or PLAN)
    monkeypatch.setattr("offramp.job.measuring.measurer", lambda *_, engine: ("measurer", engine))
    begun: list[str] = []
    monkeypatch.setattr(console, "status", lambda text: begun.append(text) or nullcontext())
    assert command.plan_of(console, job, racks, measure=measure, engine=engine) is PLAN
    calibrates = measure and engine is None
    assert given == [("measurer", None) if calibrates else None]
    assert begun == ["calibrating"] * calibrates
    assert lines(console) == []
    monkeypatch.setattr(offramp.job, "make_job_plan", lambda *_: replace(PLAN, reason="no [link] answers"))
    command.plan_of(console, job, racks, measure=measure, engine=engine)
    assert lines(console) == ["not calibrated: no [link] answers"]


def test_a_plan_is_shown_and_written(job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.yaml").write_text("name: sums\nranks: 2\nallreduce: {bytes: 1MB, steps: 3}\n")
    monkeypatch.setattr(JobSettings, "read", lambda _: job)
    monkeypatch.setattr(command, "plan_of", lambda *_, **__: PLAN)
    monkeypatch.setattr(leases, "leases_of", lambda *_: [])
    file = tmp_path / "two.yaml"
    file.write_text("hosts: [{name: a}, {name: b}]\nlinks: [{ends: [a, b], rate: 1gbit}]\n")
    words = ["job", "plan", str(tmp_path / "job.yaml"), "--on", str(file), "--json", str(tmp_path / "n.json")]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "150"})
    assert done.exit_code == 0, done.exception
    assert "allreduce yes 100 ms 200 ms model half the time" in [
        " ".join(line.split()) for line in done.output.splitlines()
    ]
    written = json.loads((tmp_path / "n.json").read_text())
    assert (written["name"], written["taken"], written["switches"]) == (job.name, "allreduce", [])
