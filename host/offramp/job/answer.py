# SPDX-License-Identifier: Apache-2.0
"""The first question of somebody who opens a job's report: does an offload pay for this job?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offramp.job.planner import MATTERS
from offramp.report.units import duration, si


def answer(content: Mapping[str, Any]) -> str:
    """Whether an offload pays: by measured steps where the job ran plainly and by an offload, else by the plan."""
    plain = content["plain"]
    times = {way: each["step_s"] for way, each in content["measured"].items() if each["step_s"]}
    offloads = [way for way in times if way != plain]
    if plain not in times or not offloads:
        return _by_plan(content)
    best = min(offloads, key=lambda way: times[way])
    ours, theirs = f"{duration(times[best])} by {best}", f"{duration(times[plain])} by {plain}"
    if times[best] > times[plain] * (1 - MATTERS):
        said = f"No: a step took {theirs}, without an offload, and {ours}, the fastest offload that ran."
        return said + _sent(content, plain, best)
    gain = times[plain] / times[best]
    return f"Yes: a step took {ours} and {theirs}: {gain:.2f} times as fast." + _sent(content, best, plain)


def _by_plan(content: Mapping[str, Any]) -> str:
    taken, plain = content["taken"], content["plain"]
    rows = {row["offload"]: row for row in content["plan"]}
    if taken == plain:
        return f"Not by the plan ({rows[plain]['why']}). No offload ran, so none was measured."
    said = f"By the plan, yes ({rows[taken]['why']})."
    return f"{said} The job did not run without an offload (--ablate), so nothing was compared."


def _sent(content: Mapping[str, Any], first: str, second: str) -> str:
    """A sentence on the bytes that hosts sent by each of two ways; empty where they were not counted."""
    sums = []
    for way in (first, second):
        links = content["measured"][way]["bytes_by_link"]
        sums.append(sum(sent for sent, _ in links.values()))
    return f" Hosts sent {si(sums[0], 'B')} and {si(sums[1], 'B')}." if all(sums) else ""
