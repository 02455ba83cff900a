# SPDX-License-Identifier: Apache-2.0
"""``offramp demo`` with few steps: a laboratory, a plan, runs that agree, a report, and nothing left.

Blind spot: which way is taken, and times, depend on the machine.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from offramp_cli.demo.demo import demo
from offramp_sim.lab.start import possible_mode
from offramp_sim.lab.state import running

pytest.importorskip("torch")


@pytest.mark.p4
@pytest.mark.parametrize(
    "mode", ["sockets", pytest.param("auto", marks=[pytest.mark.netns, pytest.mark.slow])], ids=str
)
def test_demo_plans_runs_and_reports(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    demo(mode=mode, steps=3, out=out, deadline=120.0)
    assert not [lab for lab in running() if lab.name == f"demo-{os.getpid()}"]  # others may run theirs
    printed = capsys.readouterr().out
    content = json.loads((out / "report.json").read_text("utf-8"))
    plan = {row["offload"]: row for row in content["plan"]}
    assert list(plan) == ["gloo", "allreduce", "hermod", "themis", "sylvie"]
    assert [way for way, row in plan.items() if row["taken"]] == [content["taken"]]
    assert "does not allow loss" in plan["sylvie"]["why"]
    assert {"gloo", "allreduce"} <= set(content["measured"])
    assert "'allreduce': {'all_reduce': {'calls': 3" in (out / "allreduce" / "rank-0.log").read_text()
    named = mode == "auto" and possible_mode()[0] != "sockets"
    assert ("network namespaces" if named else "Unix sockets, no rates") in " ".join(printed.split())
    assert all(check["holds"] for check in content["checks"])
    assert len(content["checks"]) >= (2 if named else 1)  # bytes only where links count them
    assert printed.count("yes ") >= len(content["checks"])
    assert str(out / "report.html") in printed
    page = (out / "report.html").read_text("utf-8")
    assert "What it shows" in page
    assert "http" not in page.replace("http-equiv", "")
    trace = json.loads((out / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in trace if event["ph"] == "X"} == {0, 1, 2, 3}


def test_a_demo_that_cannot_agree_says_so() -> None:
    from offramp_cli.demo.demo import checks

    content = {"plain": "gloo", "measured": {way: {"bytes_by_link": {"h1": [n, n]}} for way, n in
                                             (("gloo", 100), ("allreduce", 120))}}  # fmt: skip
    assert [check.holds for check in checks({"allreduce": 0.90, "gloo": 0.95}, content)] == [False, False]
    content["measured"]["allreduce"]["bytes_by_link"]["h1"][0] = 80
    assert [check.holds for check in checks({"allreduce": 0.951, "gloo": 0.95}, content)] == [True, True]
