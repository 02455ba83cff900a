# SPDX-License-Identifier: Apache-2.0
"""Tasks and flows over time as a picture: a row for each task, and for each sender and receiver of flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.volume import FloatArray
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.native.machine import RunTimes
from offramp_sim.figures import save

_COLOURS: Final = {"store": "#7f7f7f", "sampler": "#2ca02c", "worker": "#1f77b4", "ps": "#9467bd", "ring": "#8c564b"}
_OTHER: Final = "#17becf"
_MOST_ROWS: Final = 80


def draw_gantt(problem: Problem, machine: IntArray, times: RunTimes, title: str, path: Path) -> None:
    """Write a PNG: above, tasks by machine, shaded by iteration; below, flows into and out of each machine.

    Raises:
        OfframpError: there are too many tasks to see, or the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [i for i, task in enumerate(problem.graph.tasks) if task.follows is None]
    if len(shown) > _MOST_ROWS:
        raise OfframpError(f"a picture of {len(shown)} tasks: too many to see; expected at most {_MOST_ROWS}")
    shown.sort(key=lambda i: (machine[i], i))
    machines = len(problem.cluster)
    heights = (0.17 * len(shown) + 0.6, 0.5 * machines + 0.6)
    figure = Figure(figsize=(12, sum(heights) + 1), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=heights)
    _tasks(above, problem, machine, times, shown)
    _flows(below, problem, machine, times)
    save(figure, path)


def _tasks(axes: Any, problem: Problem, machine: IntArray, times: RunTimes, shown: list[int]) -> None:
    iterations = len(times.task_start)
    names, seen = [], set()
    for row, task in enumerate(shown):
        kind = problem.graph.tasks[task].kind
        start, end = times.task_start[:, task], times.task_end[:, task]
        for n in range(iterations):
            axes.barh(
                row,
                end[n] - start[n],
                left=start[n],
                height=0.8,
                color=_COLOURS.get(kind, _OTHER),
                alpha=1 - 0.6 * n / max(1, iterations - 1),
                label=kind if kind not in seen else None,
            )
            seen.add(kind)
        names.append(f"{problem.cluster.machines[machine[task]].name}  {problem.graph.tasks[task].name}")
    axes.set_yticks(range(len(shown)), names, fontsize=6)
    axes.invert_yaxis()
    axes.set_title("tasks (later iterations are lighter)", fontsize="medium")
    axes.legend(fontsize="small", loc="lower right", bbox_to_anchor=(1, 1), ncols=6)


def _flows(axes: Any, problem: Problem, machine: IntArray, times: RunTimes) -> None:
    begun = ~np.isnan(times.flow_start)
    edges = np.nonzero(begun)[1]
    start, end = times.flow_start[begun], times.flow_end[begun]
    machines = len(problem.cluster)
    for m in range(machines):
        for sign, colour, label, ends in (
            (1, "#d62728", "in", machine[problem.target[edges]]),
            (-1, "#ff7f0e", "out", machine[problem.source[edges]]),
        ):
            at, count = _under_way(start[ends == m], end[ends == m])
            peak = max(1.0, float(count.max(initial=1)))
            axes.fill_between(
                at, m, m - sign * 0.45 * count / peak, step="post", color=colour, label=label if m == 0 else None
            )
    axes.set_yticks(range(machines), [host.name for host in problem.cluster.machines], fontsize=7)
    axes.invert_yaxis()
    axes.set(xlabel="seconds")
    axes.set_title("active flows at each machine, relative to its maximum", fontsize="medium")
    axes.legend(fontsize="small", loc="lower right", bbox_to_anchor=(1, 1), ncols=6)


def _under_way(start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Number of open intervals, as steps over time."""
    at = np.concatenate([start, end])
    change = np.concatenate([np.ones(len(start)), -np.ones(len(end))])
    order = np.argsort(at, kind="stable")
    return at[order], np.cumsum(change[order])
