# SPDX-License-Identifier: Apache-2.0
"""The end of a job in JSON and HTML: predicted beside measured, bytes by link, what did not pay, how to repeat it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from offramp.cluster.model import Cluster
from offramp.cluster.write import cluster_text
from offramp.job.answer import answer
from offramp.job.kind import kind_of
from offramp.job.pictures import pictures, terms
from offramp.job.planner import JobPlan
from offramp.job.run import RunResult
from offramp.job.settings import JobSettings
from offramp.report import sections
from offramp.report.model import Check, Table
from offramp.report.origin import origin
from offramp.report.page import framed
from offramp.report.units import duration, percent, si
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
            "correction": each.correction,
            "why": each.why,
        }
        for each in plan.choices
    ]


def report(
    job: JobSettings, cluster: Cluster, plan: JobPlan, outcomes: Mapping[str, RunResult], folder: Path, command: str
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
    taken, kind = plan.taken, kind_of(job)
    measured: dict[str, dict[str, Any]] = {
        str(way): {
            "seconds": outcome.seconds,
            "step_s": kind.step_s(folder / str(way)),
            "attempts": outcome.attempts,
            "bytes_by_link": {name: list(both) for name, both in outcome.bytes_by_link.items()},
            "steps": outcome.steps,
        }
        for way, outcome in outcomes.items()
    }
    found = measured[str(taken.way)]["step_s"]
    times = {way: each["step_s"] for way, each in measured.items() if each["step_s"]}
    best = min(times, key=lambda way: times[way]) if len(times) > 1 and found else None
    return {
        "job": asdict(job) | ({} if job.file is None else {job.kind: str(job.file)}),
        "cluster": cluster_text(cluster),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "plan": rows_of(plan),
        "taken": str(taken.way),
        "plain": str(plan.plain.way),
        "predicted_step_s": taken.step_s,
        "measured_step_s": found,
        "error": None if not found or not taken.step_s else found / taken.step_s - 1,
        "best": best,
        "over_best": None if best is None else found / times[best],
        "measured": measured,
        "command": command,
        "origin": origin(),
    }


def write(content: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """``report.json`` and ``report.html``; their paths."""
    text, page = folder / "report.json", folder / "report.html"
    write_text(text, json.dumps({"schema": "offramp.job/1", **content}, indent=2) + "\n")
    write_text(page, html(content))
    return text, page


def html(content: Mapping[str, Any]) -> str:
    """One page without any outside resource."""
    tables = [_plan_table(content), _measured_table(content), _links_table(content)]
    claims = [Check(each["claim"], each["holds"]) for each in content.get("checks", [])]
    parts = [f'<h2>Does an offload pay for this job?</h2><p class="answer">{escape(answer(content))}</p>']
    parts.append(pictures(content))
    parts += [f"<h2>What it shows</h2>{sections.checks(claims)}"] if claims else []
    for each in tables:
        shown = sections.card(sections.table(each))
        shown = f'<div class="sentences">{shown}</div>' if each.columns[-1] == "why" else shown
        parts.append(f"<h2>{escape(each.title)}</h2>{shown}")
    parts.append(terms(content))
    parts.append(f"<h2>Repeat it</h2><pre>{escape(content['command'])}\n\n{escape(content['cluster'])}</pre>")
    parts.append(f'<p class="note">{escape(content["origin"])}</p>')
    return framed(content["job"]["name"], _lead(content), parts)


def _lead(content: Mapping[str, Any]) -> str:
    said = f"By {content['taken']}, {content['when']}."
    if content["error"] is not None:
        said += f" A step was predicted to take {duration(content['predicted_step_s'])} and took"
        said += f" {duration(content['measured_step_s'])} ({content['error']:+.0%})."
    return said


def _plan_table(content: Mapping[str, Any]) -> Table:
    rows = [
        [
            row["offload"],
            "yes" if row["taken"] else "no",
            duration(row["step_s"]) if row["step_s"] is not None else "",
            f"{row['correction']:.2f}" if row["step_s"] is not None else "",
            row["why"],
        ]
        for row in content["plan"]
    ]
    return Table("Plan", ["offload", "taken", "predicted step", "measured over model", "why"], rows)


def _measured_table(content: Mapping[str, Any]) -> Table:
    rows = [
        [way, duration(each["step_s"]) if each["step_s"] else "", duration(each["seconds"]), str(each["attempts"])]
        for way, each in content["measured"].items()
    ]
    return Table("Measured", ["offload", "step", "job", "starts"], rows)


def _links_table(content: Mapping[str, Any]) -> Table:
    rows: list[list[str]] = []
    plain: dict[str, list[int]] = content["measured"].get(content["plain"], {}).get("bytes_by_link", {})
    for name, (sent, received) in content["measured"][content["taken"]]["bytes_by_link"].items():
        share = percent(sent / plain[name][0]) if plain.get(name, [0])[0] else ""
        rows.append([name, si(sent, "B"), si(received, "B"), share])
    return Table("Bytes by link", ["host", "sent", "received", "of the plain way's"], rows)
