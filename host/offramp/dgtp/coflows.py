# SPDX-License-Identifier: Apache-2.0
"""Priorities for the coflows of a training job, in the order that Hermod gives those of language models.

What Hermod orders by (microbatch, type, layer) is here (iteration, type, stage): what an earlier iteration waits for
goes first, then what carries samples before what carries gradients and parameters, then earlier stages. A coflow is
all that a task waits for in an iteration.
"""

from __future__ import annotations

import numpy as np

from offramp.dgtp.problem import IntArray, Problem

Priority = tuple[int, int, int]


def ranks(problem: Problem) -> IntArray:
    """The rank of each edge's coflow among those of an iteration, 0 first; equal for edges into the same task."""
    graph = problem.graph
    stage = [0] * len(graph.tasks)
    for task in graph.order:
        stage[task] = 1 + max(
            (stage[graph.edges[e].source] for e in graph.inputs[task] if graph.edges[e].lag == 0), default=-1
        )
    synchronises = [kind in {"ps", "ring"} for kind in (task.kind for task in graph.tasks)]
    keys = [
        (int(synchronises[edge.source] or synchronises[edge.target]), stage[edge.target], edge.target)
        for edge in graph.edges
    ]
    place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], np.int64)


def priority(problem: Problem, rank: IntArray, edge: int, iteration: int) -> int:
    """A number for a flow's coflow, smaller for what goes first; ``iteration`` is that of its source."""
    consumed = iteration + int(problem.lag[edge])
    return consumed * (int(rank.max(initial=0)) + 1) + int(rank[edge])
