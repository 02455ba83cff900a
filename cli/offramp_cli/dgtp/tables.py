# SPDX-License-Identifier: Apache-2.0
"""Tables of placements for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_cli import show

if TYPE_CHECKING:
    from rich.table import Table

    from offramp.dgtp import Problem
    from offramp.dgtp.problem import IntArray


def machines_table(problem: Problem, machine: IntArray) -> Table:
    """Tasks of each machine by kind, and the share of its resources that they use."""
    from offramp.report.units import tick

    kinds = list(dict.fromkeys(task.kind for task in problem.graph.tasks if task.follows is None))
    table = show.table("machine", *kinds, *problem.resources, "in bit/s", "out bit/s", title="placement")
    used = problem.usage(machine)
    counters: dict[str, int] = {}
    rows: list[dict[str, list[int]]] = [{kind: [] for kind in kinds} for _ in problem.cluster.machines]
    for task, at in zip(problem.graph.tasks, machine, strict=True):
        if task.follows is None:
            counters[task.kind] = counters.get(task.kind, -1) + 1
            rows[at][task.kind].append(counters[task.kind])
    for m, (host, row) in enumerate(zip(problem.cluster.machines, rows, strict=True)):
        shares = [f"{tick(used[m, r])}/{tick(problem.capacity[m, r])}" for r in range(len(problem.resources))]
        rates = [tick(host.ingress_bps), tick(host.egress_bps)]
        table.add_row(host.name, *(_ranges(row[kind]) for kind in kinds), *shares, *rates)
    return table


def _ranges(numbers: list[int]) -> str:
    """Numbers as ranges: ``[0, 1, 2, 5]`` is ``0-2 5``."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and parts[-1][-1] == n - 1:
            parts[-1] = [parts[-1][0], n]
        else:
            parts.append([n])
    return " ".join("-".join(map(str, part)) for part in parts) or "\N{EN DASH}"


def policies_table(numbers: dict[str, Any]) -> Table:
    """Seconds of each placement under each policy, and savings of ours with online execution."""
    from offramp.report.units import percent

    ours = numbers["makespan_s"]
    policies = list(next(iter(numbers["seconds"].values())))
    title = f"seconds for {numbers['iterations']} iterations (in brackets: what our placement saves with oes)"
    table = show.table("flows by", *numbers["seconds"], title=title)
    for policy in policies:
        times = [of_policy[policy] for of_policy in numbers["seconds"].values()]
        table.add_row(policy, *(f"{s:.4g} ({percent(1 - ours / s)})" if s > 0 else "0" for s in times))
    return table
