# SPDX-License-Identifier: Apache-2.0
"""DistDGL's placement: as many samplers as possible on their worker's machine (section VI-A)."""

from __future__ import annotations

import numpy as np

from offramp.dgtp.packing import Groups, classes, identities, pack
from offramp.dgtp.problem import IntArray, Problem
from offramp_base.errors import OfframpError


def max_colocated(problem: Problem, seed: int) -> IntArray:
    """Each worker beside its samplers wherever capacities allow; machines are filled in random order.

    Raises:
        OfframpError: no placement is feasible, or the job has no samplers and workers.
    """
    of = classes(problem)
    if of.names.count("worker") != 1 or of.names.count("sampler") != 1:
        raise OfframpError("placement: colocation needs samplers of one demand and workers of one demand")
    w, s = of.names.index("worker"), of.names.index("sampler")
    each = of.sizes[s] / of.sizes[w]
    order = np.random.default_rng(seed).permutation(len(problem.cluster)).tolist()
    counts = pack(problem, order, Groups(s, w, each))
    machine = identities(problem, counts, order)
    for task, m in _attached(problem, machine, of.members[s], of.members[w]).items():
        machine[task] = m
    return machine


def colocated(problem: Problem, machine: IntArray) -> int:
    """Number of samplers that share a machine with their worker."""
    return sum(int(machine[s] == machine[w]) for s, w in _worker_of(problem).items())


def _worker_of(problem: Problem) -> dict[int, int]:
    tasks = problem.graph.tasks
    return {
        e.source: e.target
        for e in problem.graph.edges
        if tasks[e.source].kind == "sampler" and tasks[e.target].kind == "worker"
    }


def _attached(problem: Problem, machine: IntArray, samplers: list[int], workers: list[int]) -> dict[int, int]:
    """A machine for each sampler: its worker's where there is room, then what is left over."""
    room = np.bincount(machine[samplers], minlength=len(problem.cluster))
    owner = _worker_of(problem)
    placed: dict[int, int] = {}
    # Whole groups first, so that groups are split as rarely as can be.
    for partial in (False, True):
        for worker in workers:
            own = [s for s in samplers if owner[s] == worker and s not in placed]
            here = int(machine[worker])
            if partial or len(own) <= room[here]:
                for sampler in own[: int(room[here])]:
                    placed[sampler] = here
                    room[here] -= 1
    left = [m for m in range(len(room)) for _ in range(room[m])]
    rest = [s for s in samplers if s not in placed]
    placed.update(zip(rest, left, strict=True))
    return placed
