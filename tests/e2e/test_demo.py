# SPDX-License-Identifier: Apache-2.0
"""``offramp demo`` act by act with few steps: outcomes whose checks hold, a report, and nothing left.

Blind spot: which way is taken, times and verdicts depend on the machine.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from offramp_cli.demo.demo import demo
from offramp_sim.lab import possible_mode, running

pytest.importorskip("torch")

MODES = ["sockets", pytest.param("auto", marks=[pytest.mark.netns, pytest.mark.slow])]


def run(act: str, mode: str, out: Path, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content of the report, and the outcome of its only act."""
    demo(act=(act,), mode=mode, out=out, **settings)
    assert not [lab for lab in running() if lab.name == f"demo-{os.getpid()}"]  # others may run theirs
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert content["schema"] == "offramp.demo/1"
    (outcome,) = content["acts"]
    assert outcome["name"] == act
    assert outcome["verdict"]["answer"] in ("yes", "no", "unknown")
    assert not outcome["verdict"]["sentence"].startswith("Cannot be told on this machine, because the act did not run")
    assert all(check["holds"] for check in outcome["checks"])
    page = (out / "report.html").read_text("utf-8")
    assert outcome["question"] in page
    assert "http" not in page.replace("http-equiv", "")
    return content, outcome


def rated(mode: str) -> bool:
    return mode == "auto" and possible_mode()[0] != "sockets"


@pytest.mark.p4
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_gnn_is_equal_to_one_process(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, outcome = run("gnn", mode, tmp_path / "demo", steps=6)
    assert [each["name"] for each in outcome["alternatives"]] == ["p2p", "switchgnn"]
    assert all(len(each["measured_s"]) >= 2 for each in outcome["alternatives"])
    assert all(each["modelled_s"] is None for each in outcome["alternatives"])
    assert sum("to the last bit" in check["claim"] for check in outcome["checks"]) == 2
    assert len(outcome["checks"]) == 2 + rated(mode)  # bytes only where links count them
    if rated(mode):
        between = [each for each in outcome["fabric"]["links"] if "spine" in each["ends"]]
        assert all(sum(each["bytes_by"]["switchgnn"]) > 0 for each in between)
    printed = " ".join(capsys.readouterr().out.split())
    assert ("network namespaces" if rated(mode) else "on Unix sockets: no namespaces") in printed


@pytest.mark.slow
@pytest.mark.p4
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_job_is_planned_run_and_compared(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    content, outcome = run("job", mode, out, steps=3, deadline=120.0)
    names = [each["name"] for each in outcome["alternatives"]]
    assert names == ["gloo", "allreduce", "hermod", "themis", "sylvie"]
    assert {"gloo", "allreduce"} <= {each["name"] for each in outcome["alternatives"] if each["measured_s"]}
    assert "does not allow loss" in next(each["note"] for each in outcome["alternatives"] if each["name"] == "sylvie")
    assert "'allreduce': {'all_reduce': {'calls': 3" in (out / "job" / "allreduce" / "rank-0.log").read_text()
    assert len(outcome["checks"]) >= 1 + rated(mode)
    trace = json.loads((out / outcome["trace"]).read_text())["traceEvents"]
    assert {event["pid"] for event in trace if event["ph"] == "X"} == {0, 1, 2, 3}
    printed = capsys.readouterr().out
    assert f"trace  {out / outcome['trace']} (job)" in printed
    assert str(out / "report.html") in printed
    assert content["seconds"] >= outcome["seconds"]


def test_hermod_is_modelled_without_namespaces(tmp_path: Path) -> None:
    _, outcome = run("hermod", "sockets", tmp_path / "demo")
    assert outcome["verdict"]["answer"] == "unknown"
    assert [each["measured_s"] for each in outcome["alternatives"]] == [[], []]
    one_queue, by_priority = (each["modelled_s"] for each in outcome["alternatives"])
    assert by_priority < one_queue


@pytest.mark.p4
@pytest.mark.netns
@pytest.mark.slow
def test_hermod_measures_coflows(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("namespaces of threads need root")
    _, outcome = run("hermod", "auto", tmp_path / "demo")
    assert all(len(each["measured_s"]) >= 6 for each in outcome["alternatives"])
    counted = [sum(link["bytes_by"]["priorities"]) for link in outcome["fabric"]["links"]]
    assert len(counted) == 4
    assert min(counted) > 0


@pytest.mark.slow
def test_leo_runs_without_tools_for_rtl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offramp_cli.demo.act_leo.rtl_or_reason", lambda _: ({}, "No iverilog on PATH."))
    _, outcome = run("leo", "sockets", tmp_path / "demo")
    by_name = {each["name"]: each for each in outcome["alternatives"]}
    assert len(by_name["processor"]["measured_s"]) == 5
    assert by_name["FPGA"]["measured_s"] == []
    assert by_name["FPGA"]["modelled_s"] > 0
    assert "No iverilog on PATH." in outcome["notes"]
