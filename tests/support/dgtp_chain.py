# SPDX-License-Identifier: Apache-2.0
"""A chain of tasks and flows without a gap that spans a run of online execution (lemma 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.dgtp.problem import Problem
from offramp_sim.dgtp.trace import FlowRun, PlacementTrace, TaskRun

Link = TaskRun | FlowRun


def continuous_chain(problem: Problem, machine: Sequence[int], trace: PlacementTrace) -> list[Link]:
    """The links in the order of time, each starting the moment that the one before ends.

    Times must be exact. A task was released last by its own iteration before, by a flow, or by a task on the same
    machine (which the printed proof leaves out); a flow by its source or by the flow of the iteration before.
    """
    tasks = {(run.task, run.iteration): run for run in trace.tasks}
    flows = {(run.edge, run.iteration): run for run in trace.flows}
    remote = problem.remote(np.asarray(machine, np.int64))
    edges = problem.graph.edges

    def before(link: Link) -> list[Link]:
        if isinstance(link, FlowRun):
            earlier: list[Link] = [tasks[edges[link.edge].source, link.iteration]]
            if (link.edge, link.iteration - 1) in flows:
                earlier.append(flows[link.edge, link.iteration - 1])
            return earlier
        links: list[Link] = [tasks[link.task, link.iteration - 1]] if link.iteration else []
        for edge in problem.graph.inputs[link.task]:
            n = link.iteration - edges[edge].lag
            if n >= 0:
                links.append(flows[edge, n] if remote[edge] else tasks[edges[edge].source, n])
        return links

    chain: list[Link] = [max(trace.tasks, key=lambda run: run.end)]
    while releases := [link for link in before(chain[-1]) if link.end == chain[-1].start]:
        chain.append(releases[0])
    return chain[::-1]
