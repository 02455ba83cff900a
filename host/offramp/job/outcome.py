# SPDX-License-Identifier: Apache-2.0
"""The outcome of a job: its plan's predictions, the measurements of its runs, and the bytes on every link."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offramp.cluster.model import Cluster, ClusterHost
from offramp.cluster.reach import is_here
from offramp.job.answer import QUESTION, Circumstances, verdict
from offramp.job.kind import kind_of
from offramp.job.load import processors
from offramp.job.planner import JobPlan
from offramp.job.record import RunRecord, read_record
from offramp.job.run import JobRunResult
from offramp.job.settings import JobSettings
from offramp.report.outcome import Alternative, DrawnFabric, FabricLink, FabricMachine, Outcome

TRACE: Final = "trace.json"
"""File of the last step of the first run, in the folder of the report."""
_PARTS: Final = (
    "A rank sends while a collective is under way, whatever it computes meanwhile, and waits while another has not yet "
    "begun the collective; the rest is computing."
)
_UNITS: Final = {"command": "step", "leo": "request"}
"""The name of a kind's unit of work; ``epoch`` for the others."""


def outcome_of(
    job: JobSettings,
    cluster: Cluster,
    plan: JobPlan,
    runs: Mapping[str, JobRunResult],
    folder: Path,
) -> Outcome:
    """The outcome of a job's plan and runs.

    Args:
        job: the job.
        cluster: the cluster that it ran on.
        plan: the plan, with its predictions.
        runs: results by way.
        folder: the folder in which ranks wrote, a folder for each way.
    """
    kind, unit = kind_of(job), _UNITS.get(job.kind, "epoch")
    one_clock = all(is_here(host) for host in job.hosts_of(cluster))
    alternatives = []
    for choice in plan.choices:
        way = str(choice.way)
        record = read_record(kind, folder / way, one_clock=one_clock) if way in runs else RunRecord()
        alternatives.append(
            Alternative(
                way,
                predicted_s=choice.step_s,
                measured_s=record.seconds,
                startup_s=_startup_s(runs[way], record, unit) if way in runs else None,
                parts_s=record.parts,
                curve=record.curve,
                note=choice.reason,
                taken=choice.taken,
                bound=str(getattr(choice, "bound", "") or ""),
            )
        )
    known = _circumstances(plan, runs)
    notes = [f"The plan rests on models alone: {plan.reason}."] if plan.reason else []
    if any("waiting" in each.parts_s for each in alternatives):
        notes.append(_PARTS)
    notes += [f"{known.load[0].upper()}{known.load[1:]}."] if known.load else []
    return Outcome(
        name="job",
        title=job.name,
        question=QUESTION,
        verdict=verdict(alternatives, known),
        step=unit,
        alternatives=tuple(alternatives),
        fabric=fabric_of(cluster, runs),
        trace=TRACE if (folder / TRACE).is_file() else "",
        notes=tuple(notes),
        seconds=sum(each.seconds for each in runs.values()) or None,
    )


def _circumstances(plan: JobPlan, runs: Mapping[str, JobRunResult]) -> Circumstances:
    """Facts about the comparison beside its steps; the load is that of the busiest run."""
    loads = [each.others for each in runs.values() if each.others is not None]
    return Circumstances(
        str(plan.plain.way),
        {str(way): each.seconds for way, each in runs.items()},
        {str(way): sum(up for up, _ in each.bytes_by_link.values()) for way, each in runs.items()},
        plan.reason,
        max(loads, default=None),
        processors(),
    )


def _startup_s(run: JobRunResult, record: RunRecord, unit: str) -> float | None:
    """Seconds from the start of the ranks to the first step that is counted."""
    if run.begun_ns is not None and record.begin_ns is not None:
        return max(0.0, (record.begin_ns - run.begun_ns) / 1e9)
    if unit == "epoch" and len(record.seconds) > 1:
        return max(0.0, run.seconds - sum(record.seconds))
    return None


def fabric_of(cluster: Cluster, runs: Mapping[str, JobRunResult]) -> DrawnFabric:
    """Hosts, switches, smartNICs and cards of a cluster, and the bytes that crossed its links in each run."""
    nodes = []
    for each in cluster.by_name.values():
        host = isinstance(each, ClusterHost)
        above = [link.far(each.name).node for link in cluster.links_of[each.name]] if host else []
        nodes.append(FabricMachine(each.name, "host" if host else "switch", above[0] if above else ""))
    links = tuple(
        FabricLink(
            (link.a.node, link.b.node),
            link.rate_bps,
            {str(way): run.links[link] for way, run in runs.items() if link in run.links},
        )
        for link in cluster.links
    )
    return DrawnFabric(tuple(nodes), links)
