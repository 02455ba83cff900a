# SPDX-License-Identifier: Apache-2.0
"""Act ``job``: a data-parallel job is planned, run by what was chosen and without it, and compared."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offramp.job import JobSettings
from offramp.job.report import report, write
from offramp.report import Outcome, ReportCheck
from offramp.report.units import percent, si
from offramp_base import parse_json
from offramp_base.documents import read_text
from offramp_cli.demo.laboratory import RANKS
from offramp_cli.demo.rank import ACCURACY, compute_s, gradient_bytes, write_digits
from offramp_cli.job.job import carry_out, plan_of, show_plan
from offramp_cli.train import command_line

if TYPE_CHECKING:
    from offramp.job import JobPlan
    from offramp_cli.demo.acts import Scene
    from offramp_cli.demo.settings import DemoSettings

ACCURACY_POINTS: Final = 0.5
"""Largest difference between the test accuracies of two ways, in percentage points."""
SWITCH: Final = "allreduce"


def play(scene: Scene) -> Outcome:
    """Plan, run, compare."""
    folder = scene.out / "job"
    job, cluster, console = job_of(scene.settings, folder), scene.laboratory.cluster(), scene.stage.console
    plan = plan_of(console, job, cluster, measure=True)
    show_plan(console, job, plan)
    runs = carry_out(console, job, cluster, plan, ways_of(plan), folder)
    content = report(job, cluster, plan, runs, folder, command_line())
    claims = checks({way: accuracy(folder / way) for way in content["measured"]}, content)
    content["checks"] = [{"claim": each.claim, "holds": each.holds} for each in claims]
    write(content, folder)
    outcome = Outcome.from_dict(content["outcome"])
    trace = f"job/{outcome.trace}" if outcome.trace else ""
    return replace(outcome, checks=(*outcome.checks, *claims), trace=trace)


def ways_of(plan: JobPlan) -> list[str]:
    """The chosen way, the plain way, and sums in the switches where they are possible."""
    possible = {each.way for each in plan.choices if each.step_s is not None}
    wanted = dict.fromkeys((plan.taken.way, plan.plain.way, SWITCH))
    return [way for way in wanted if way in possible]


def job_of(settings: DemoSettings, folder: Path) -> JobSettings:
    """Data-parallel training on four ranks, with its images in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = folder.absolute() / "digits.npz"
    write_digits(digits)
    return JobSettings(
        name="data-parallel training",
        command=(sys.executable, "-m", "offramp_cli.demo.rank", str(settings.steps), str(settings.seed), str(digits)),
        all_reduce=gradient_bytes(),
        compute_s=compute_s(RANKS),
        steps=settings.steps,
        deadline_s=settings.deadline_s,
    )


def accuracy(folder: Path) -> float:
    """Test accuracy that rank 0 of a run measured at its end."""
    return float(parse_json(read_text(folder / ACCURACY))["accuracy"])


def checks(accuracies: Mapping[str, float], content: Mapping[str, Any]) -> list[ReportCheck]:
    """Checks of the runs; of bytes only if links count them."""
    plain = content["plain"]
    claims = []
    for way, value in accuracies.items():
        if way != plain:
            apart = 100 * abs(value - accuracies[plain])
            text = f"Test accuracy by {way} is {apart:.2f} points from the {percent(accuracies[plain])} by {plain}"
            claims.append(ReportCheck(f"{text} (at most {ACCURACY_POINTS}).", apart <= ACCURACY_POINTS))
    sent = {way: sum(up for up, _ in each["bytes_by_link"].values()) for way, each in content["measured"].items()}
    if SWITCH in sent and sent[plain]:
        ours, theirs = sent[SWITCH], sent[plain]
        claim = f"Hosts sent {si(ours, 'B')} where the switches add, and {si(theirs, 'B')} by {plain}."
        claims.append(ReportCheck(claim, ours < theirs))
    return claims
