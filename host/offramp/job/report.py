# SPDX-License-Identifier: Apache-2.0
"""The end of a job in JSON and HTML: its outcome, how it was planned, what the ways are, how to repeat it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from offramp.cluster.model import Cluster
from offramp.cluster.write import cluster_text
from offramp.job.kind import kind_of
from offramp.job.outcome import outcome_of
from offramp.job.planner import JobPlan
from offramp.job.run import JobRunResult
from offramp.job.settings import JobSettings
from offramp.job.terms import TERMS
from offramp.report import sections
from offramp.report.model import ReportCheck, ReportTable
from offramp.report.origin import origin
from offramp.report.outcome import Outcome
from offramp.report.outcomes import outcomes_page
from offramp.report.units import duration
from offramp_base.ending.files import write_text


def rows_of(plan: JobPlan) -> list[dict[str, Any]]:
    """The plan's table: a row for each way."""
    plain = plan.plain.step_s
    return [
        {
            "offload": str(each.way),
            "taken": each.taken,
            "step_s": each.step_s,
            "without_s": plain,
            "model_s": each.model_s,
            "correction": each.correction if each.correction != 1.0 else None,  # 1.0: nothing was measured
            "why": each.reason,
        }
        for each in plan.choices
    ]


def report(
    job: JobSettings,
    cluster: Cluster,
    plan: JobPlan,
    outcomes: Mapping[str, JobRunResult],
    folder: Path,
    command: str,
) -> dict[str, Any]:
    """Everything that is known of a run, ready for JSON.

    Args:
        job: the job.
        cluster: the cluster that it ran on.
        plan: the plan, with its predictions.
        outcomes: results by way: first of the one that was taken, then of those that were run to compare.
        folder: the folder in which ranks wrote.
        command: the command that repeats the run.
    """
    chosen, kind = plan.taken, kind_of(job)
    outcome = outcome_of(job, cluster, plan, outcomes, folder)
    steps = {each.name: each.measured_s for each in outcome.alternatives}
    measured: dict[str, dict[str, Any]] = {
        str(way): {
            "seconds": run.seconds,
            "step_s": median(steps[str(way)]) if steps[str(way)] else kind.step_s(folder / str(way)),
            "attempts": run.attempts,
            "bytes_by_link": {name: list(pair) for name, pair in run.bytes_by_link.items()},
            "steps": run.steps,
            **({"without": run.without} if run.without else {}),
            **({"account": run.account} if run.account else {}),
        }
        for way, run in outcomes.items()
    }
    took = measured[str(chosen.way)]["step_s"]
    times = {way: each["step_s"] for way, each in measured.items() if each["step_s"]}
    best = min(times, key=lambda way: times[way]) if len(times) > 1 and took else None
    return {
        "job": asdict(job) | ({} if job.file is None else {job.kind: str(job.file)}),
        "cluster": cluster_text(cluster),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "plan": rows_of(plan),
        "taken": str(chosen.way),
        "plain": str(plan.plain.way),
        "predicted_step_s": chosen.step_s,
        "measured_step_s": took,
        "error": None if not took or not chosen.step_s else took / chosen.step_s - 1,
        "best": best,
        "over_best": None if best is None else took / times[best],
        "measured": measured,
        "command": command,
        "origin": origin(),
        "outcome": outcome.as_dict(),
    }


def write(content: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """``report.json`` and ``report.html``; their paths."""
    text, page = folder / "report.json", folder / "report.html"
    write_text(text, json.dumps({"schema": "offramp.job/1", **content}, indent=2) + "\n")
    write_text(page, html(content, folder))
    return text, page


def html(content: Mapping[str, Any], folder: Path) -> str:
    """One page without any outside resource; ``folder`` is where the step's trace lies."""
    outcome = Outcome.from_dict(content["outcome"])
    checks = tuple(ReportCheck(each["claim"], each["holds"]) for each in content.get("checks", []))
    outcome = replace(outcome, checks=(*outcome.checks, *checks))
    command = f"{content['command']}\n\n{content['cluster']}"
    extra = _model_table(content) + sections.terms({way: TERMS[way] for way in _ways(content) if way in TERMS})
    return outcomes_page(
        content["job"]["name"], _lead(content), [outcome], command, content["origin"], extra, folder=folder
    )


def _ways(content: Mapping[str, Any]) -> list[str]:
    return [row["offload"] for row in content["plan"]]


def _lead(content: Mapping[str, Any]) -> str:
    text = f"By {content['taken']}, {content['when']}."
    row = content["measured"][content["taken"]]
    if "without" in row:
        text += f" It ran in the plain way: {row['without']}."
    if account := row.get("account"):
        text += f" {account['engine']} job {account['job']} on {account['nodes']}, {account['run_time']},"
        text += f" restarted {account['restarts']} times."
    if content["error"] is not None:
        text += f" A step was predicted to take {duration(content['predicted_step_s'])} and took"
        text += f" {duration(content['measured_step_s'])} ({content['error']:+.0%})."
    return text


def _model_table(content: Mapping[str, Any]) -> str:
    """The basis of the plan: models, and by how much a calibration corrected them."""
    rows = [
        [
            row["offload"],
            duration(row["model_s"]) if row["model_s"] is not None else "not modelled",
            f"{row['correction']:.2f}" if row["correction"] is not None else "not measured",
        ]
        for row in content["plan"]
    ]
    columns = ["", "what is offloaded, by its model", "calibration measured, times the model"]
    return f"<h2>What the plan rests on</h2>{sections.card(sections.table(ReportTable('', columns, rows)))}"
