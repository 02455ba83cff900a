# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run: jobs, the cluster, links over time; and a timeline for Perfetto."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_sim.cluster.simulate import ClusterRun

Floats = npt.NDArray[np.float64]
_MOST_ROWS: Final = 20_000


def summary(run: ClusterRun) -> dict[str, Any]:
    """The means and percentiles of completion times, waits and slowdowns, and the share of GPU time in use."""
    outcomes = run.outcomes
    completion = np.array([each.completion_s for each in outcomes])
    waits = np.array([each.start_s - each.job.arrival_s for each in outcomes])
    slow = np.array([each.slowdown for each in outcomes])
    used = sum(each.job.gpus * (each.finish_s - each.start_s) for each in outcomes)
    return {
        "jobs": len(outcomes),
        "makespan_s": run.makespan_s,
        "mean_completion_s": float(completion.mean()),
        "p95_completion_s": float(np.percentile(completion, 95)),
        "mean_wait_s": float(waits.mean()),
        "mean_slowdown": float(slow.mean()),
        "p95_slowdown": float(np.percentile(slow, 95)),
        "most_slowdown": float(slow.max()),
        "gpu_share": used / (run.fabric.ranks * run.makespan_s) if run.makespan_s else 0.0,
        "restarts": sum(each.restarts for each in outcomes),
    }


def job_rows(run: ClusterRun) -> list[dict[str, Any]]:
    """A row for each job, by arrival."""
    return [
        {
            "name": each.job.name,
            "gpus": each.job.gpus,
            "hosts": sorted({run.fabric.nodes[host] for host in run.fabric.rank_host[each.ranks].tolist()}),
            "arrival_s": each.job.arrival_s,
            "start_s": each.start_s,
            "finish_s": each.finish_s,
            "completion_s": each.completion_s,
            "alone_s": each.alone_s,
            "slowdown": each.slowdown,
            "network_share": each.network_share,
            "restarts": each.restarts,
        }
        for each in run.outcomes
    ]


def link_use(run: ClusterRun, bins: int = 200, most: int = 40) -> tuple[list[int], Floats]:
    """The links that carried most for their rate, and the share of it that each used: ``(links, bins)`` over time."""
    fabric, end = run.fabric, run.makespan_s
    total = np.zeros(fabric.resources)
    for each in run.stretches:
        total[each.load.resource] += each.iterations * each.load.amount
    busy = total / (fabric.capacity * max(end, 1e-12))
    chosen = [int(i) for i in np.argsort(-busy, kind="stable")[:most] if busy[i] > 0]
    row = np.full(fabric.resources, -1)
    row[chosen] = np.arange(len(chosen))
    use = np.zeros((len(chosen), bins))
    width = end / bins if end else 1.0
    for each in run.stretches:
        rows = row[each.load.resource]
        mine = rows >= 0
        if not mine.any():
            continue
        first, last = each.start_s / width, each.end_s / width
        a, b = int(first), min(int(np.ceil(last)), bins)
        inside = np.clip(np.minimum(np.arange(a, b) + 1, last) - np.maximum(np.arange(a, b), first), 0, 1)
        amount = each.iterations * each.load.amount[mine] / max(last - first, 1e-12)
        use[rows[mine], a:b] += amount[:, None] * inside
    return chosen, use / (fabric.capacity[chosen, None] * width)


def timeline(run: ClusterRun) -> dict[str, Any]:
    """The jobs over time as a trace for Perfetto (Trace Event Format): waiting, and running on their hosts."""
    events: list[dict[str, Any]] = []
    for number, each in enumerate(run.outcomes[:_MOST_ROWS]):
        name = {"name": "thread_name", "ph": "M", "pid": 0, "tid": number, "args": {"name": each.job.name}}
        events.append(name)
        spans = [("waits", each.job.arrival_s, each.start_s), ("runs", each.start_s, each.finish_s)]
        for what, begin, end in spans:
            if end > begin:
                row = {"name": what, "ph": "X", "pid": 0, "tid": number, "ts": begin * 1e6, "dur": (end - begin) * 1e6}
                events.append(row | {"args": {"gpus": each.job.gpus, "slowdown": round(each.slowdown, 4)}})
    chosen, use = link_use(run)
    width = run.makespan_s / use.shape[1] if use.size else 0.0
    for resource, row in zip(chosen, use, strict=True):
        for k, share in enumerate(row.tolist()):
            counter = {"name": run.fabric.shown(resource), "ph": "C", "pid": 1, "ts": k * width * 1e6}
            events.append(counter | {"args": {"share": round(share, 4)}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}
