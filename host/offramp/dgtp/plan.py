# SPDX-License-Identifier: Apache-2.0
"""A placement as a plan that launchers and training scripts read: the machine of each rank and store."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from offramp.dgtp.problem import IntArray, Problem
from offramp_base.arguments import host_name, label, word
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

FORMAT: Final = "offramp-placement-1"
_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """The part of one process in the job.

    Attributes:
        rank: rank in the whole job; ranks of a machine follow each other.
        machine: name. address: network address. local_rank: rank among the machine's processes.
        kind: ``store``, ``sampler``, ``worker`` or ``ps``. index: among its kind.
        gpu: gpu on the machine, if the task takes any.
        feeds: ranks of the tasks that its results go to over the same iteration.
    """

    rank: int
    machine: str
    address: str
    local_rank: int
    kind: str
    index: int
    gpu: int | None
    feeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """Roles in the order of their ranks, and what is known of the placement (seconds, bounds, settings)."""

    roles: tuple[ProcessRole, ...]
    numbers: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The plan as a value for JSON, which :func:`read_plan` reads."""
        return {"format": FORMAT, "ranks": [asdict(role) for role in self.roles], "numbers": dict(self.numbers)}


def make_plan(problem: Problem, machine: IntArray, numbers: Mapping[str, Any]) -> PlacementPlan:
    """Number the processes of a placement, machine after machine; ring tasks run within their workers."""
    tasks, machines = problem.graph.tasks, problem.cluster.machines
    own = [i for i, task in enumerate(tasks) if task.follows is None]
    placed = sorted((int(machine[i]), i) for i in own)
    rank = {task: r for r, (_, task) in enumerate(placed)}
    kinds: Counter[str] = Counter()
    index = []
    for each in tasks:
        index.append(kinds[each.kind])
        kinds[each.kind] += 1
    roles: list[ProcessRole] = []
    local, gpus = [0] * len(machines), [0] * len(machines)
    for m, task in placed:
        gpu = None
        if tasks[task].demand.get("gpu", 0) > 0:
            gpu = gpus[m]
            gpus[m] += 1
        feeds = (problem.graph.edges[e].target for e in problem.graph.outputs[task] if problem.graph.edges[e].lag == 0)
        roles.append(
            ProcessRole(
                rank=rank[task],
                machine=machines[m].name,
                address=machines[m].address or machines[m].name,
                local_rank=local[m],
                kind=tasks[task].kind,
                index=index[task],
                gpu=gpu,
                feeds=tuple(sorted({rank[t] for t in feeds if t in rank})),
            )
        )
        local[m] += 1
    return PlacementPlan(tuple(roles), numbers)


def read_plan(path: Path) -> PlacementPlan:
    """A plan that was exported.

    Raises:
        OfframpError: no such file, or it is no plan.
    """
    try:
        text = parse_json(read_text(path, _MOST_BYTES))
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    if isinstance(text, dict) and text.get("format") != FORMAT:
        raise OfframpError(f"{path}: expected a plan of format {FORMAT}, found {text.get('format')}")
    try:
        roles = tuple(_role(rank, fields) for rank, fields in enumerate(text["ranks"]))
        return PlacementPlan(roles, dict(text["numbers"]))
    except (ValueError, LookupError, TypeError):
        raise OfframpError(f"{path}: expected a plan, as offramp simulate dgtp exports it") from None


def _role(rank: int, fields: Mapping[str, Any]) -> ProcessRole:
    role = ProcessRole(**{**fields, "feeds": tuple(fields["feeds"])})
    numbers = (role.local_rank, role.index, *role.feeds, *(() if role.gpu is None else (role.gpu,)))
    if not all(isinstance(word, str) for word in (role.machine, role.address, role.kind)):
        raise TypeError("a name that is not text")
    label(role.machine), host_name(role.address), word(role.kind)
    if role.rank != rank or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("a number out of range")
    return role


def my_role(environment: Mapping[str, str] | None = None) -> ProcessRole:
    """The role of this process, from ``OFFRAMP_PLAN`` and the rank that torchrun (``RANK``) or Slurm gave it.

    Raises:
        OfframpError: a variable is missing, or the plan has no such rank.
    """
    variables = os.environ if environment is None else environment
    rank = variables.get("RANK", variables.get("SLURM_PROCID"))
    if "OFFRAMP_PLAN" not in variables or rank is None:
        raise OfframpError("OFFRAMP_PLAN and RANK: expected in the environment; start with the scripts of the export")
    plan = read_plan(Path(variables["OFFRAMP_PLAN"]))
    number = whole_number(rank)
    if number is None or number >= len(plan.roles):
        raise OfframpError(f"RANK {rank}: the plan has ranks 0 to {len(plan.roles) - 1}")
    return plan.roles[number]
