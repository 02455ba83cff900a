# SPDX-License-Identifier: Apache-2.0
"""Runs of a training job on placements: some iterations at a time, from the parameters that the last ones left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from offramp.dgs.shard import Shard, split
from offramp.dgtp.plan import make_plan
from offramp.dgtp.runtime.batch import LossGradient, batch_size
from offramp.dgtp.runtime.job import (
    Doubles,
    MeasuredTimes,
    PlacedTasks,
    ProcessJob,
    ProcessOutcome,
    SamplerContent,
    WorkerContent,
)
from offramp.dgtp.runtime.optimiser import OptimiserState, cuts
from offramp.dgtp.runtime.process import run_process
from offramp.graph.partition import partition
from offramp.workers.processes import run_workers
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.dgs.settings import DgsSettings
    from offramp.dgtp.problem import IntArray, Problem
    from offramp.graph.data import Graph

_NEEDED = ("store", "sampler", "worker")


class HostPlace(NamedTuple):
    """Where processes of a machine run: the address at which they listen, and a network namespace's file, if any."""

    address: str = "127.0.0.1"
    namespace: str = ""


@dataclass(frozen=True, eq=False)
class PlacedTrainingRun:
    """What a run has given.

    Attributes:
        losses: ``(iterations,)`` mean loss over the seeds of an iteration.
        state: parameters and moments at the end.
        times: when tasks and flows began and ended.
        volumes: bytes of each edge's flows; across the network what they were granted, so that latencies count.
        structure_bytes: bytes about neighbours, which no flow carries.
    """

    losses: Doubles
    state: OptimiserState
    times: MeasuredTimes
    volumes: Mapping[int, list[float]]
    structure_bytes: int


class TrainingJob:
    """A job's tasks with a graph to train on; stores are the machines of the problem.

    Attributes:
        problem: tasks, and cards of which flows may use all.
        settings: model, batches and draws.
    """

    def __init__(self, problem: Problem, graph: Graph, settings: DgsSettings) -> None:
        """Cut the graph.

        Raises:
            OfframpError: the problem is none of a training job, or the graph has no training vertices.
        """
        self.problem, self.settings = problem, settings
        self._kinds = Counter(task.kind for task in problem.graph.tasks)
        _expect_training(problem, self._kinds)
        if not graph.train.any():
            raise OfframpError(f"{graph.name}: expected at least one training vertex")
        owner = partition(graph, settings.workers, settings.partition, settings.seed)
        self._shards: list[Shard] = split(graph, owner, settings)
        train = np.flatnonzero(graph.train)
        self._sampler = SamplerContent(owner, train, graph.labels[train].astype(np.int64), graph.width)
        self.worker = WorkerContent(graph.degrees, graph.width, graph.classes, self._kinds["sampler"], len(train))

    @property
    def initial(self) -> OptimiserState:
        """The state before the first iteration, from the seed."""
        worker = self.worker
        gradient = LossGradient(self.settings, worker.features, worker.classes, worker.degree)
        return OptimiserState.initial(gradient.initial)

    def run(
        self,
        machine: IntArray,
        hosts: Sequence[HostPlace],
        state: OptimiserState,
        *,
        first: int,
        iterations: int,
        policy: str = "oes",
        on_iteration: Callable[[int], None] = lambda _: None,
    ) -> PlacedTrainingRun:
        """Train some iterations with a process for each task on this machine.

        Args:
            machine: ``(tasks,)`` machine of each task.
            hosts: where the processes of each machine run.
            state: parameters and moments to start from.
            first: number of the first iteration, from 0.
            iterations: number of iterations.
            policy: rates of flows.
            on_iteration: called with the number of iterations that are done.

        Raises:
            OfframpError: a process failed or died; no process is left.
        """
        jobs = self.jobs(machine, hosts, state, first, iterations, policy)
        outcomes: list[ProcessOutcome] = run_workers(
            run_process, jobs, on_iteration, names=[f"{job.name} on {self._host(job, machine)}" for job in jobs]
        )
        return self.joined(jobs, outcomes, first)

    def _host(self, job: ProcessJob, machine: IntArray) -> str:
        return self.problem.cluster.machines[int(machine[job.tasks[0]])].name

    def jobs(
        self,
        machine: IntArray,
        hosts: Sequence[HostPlace],
        state: OptimiserState,
        first: int,
        iterations: int,
        policy: str,
    ) -> list[ProcessJob]:
        """The processes of a placement, by rank; arguments as of :meth:`run`."""
        problem, tasks = self.problem, self.problem.graph.tasks
        numbers = Counter[str]()
        task_of = {}
        for task, each in enumerate(tasks):
            if each.follows is None:
                task_of[each.kind, numbers[each.kind]] = task
                numbers[each.kind] += 1
        roles = make_plan(problem, machine, {}).roles
        rank = np.zeros(len(tasks), np.int64)
        for role in roles:
            rank[task_of[role.kind, role.index]] = role.rank
        for task, each in enumerate(tasks):
            if each.follows is not None:
                rank[task] = rank[each.follows]
        placed = PlacedTasks.of(problem, machine, rank)
        places = cuts(len(state.parameters), max(1, self._kinds["ps"]))
        jobs = []
        for role in roles:
            task = task_of[role.kind, role.index]
            own = [task, *(t for t, each in enumerate(tasks) if each.follows == task)]
            m = int(machine[task])
            job = ProcessJob(
                kind=role.kind,
                index=role.index,
                tasks=own,
                placed=placed,
                settings=self.settings,
                first=first,
                iterations=iterations,
                seconds=[float(problem.seconds[t, m]) for t in own],
                policy=policy,
                address=hosts[m].address,
                namespace=hosts[m].namespace,
            )
            if role.kind == "store":
                job = replace(job, store=self._shards[role.index])
            elif role.kind == "sampler":
                job = replace(job, sampler=self._sampler)
            elif role.kind == "worker":
                content = replace(self.worker, position=self._position(task), ring=self._ring)
                job = replace(job, state=state, worker=content)
            else:
                job = replace(job, state=state.part(*places[role.index : role.index + 2]))
            jobs.append(job)
        return jobs

    @property
    def _ring(self) -> int:
        """Workers along the ring; 0 if there is none."""
        return self._kinds["worker"] if self._kinds["ring"] else 0

    def _position(self, worker: int) -> int:
        """Place of a worker along the ring, from the first worker on."""
        tasks, before = self.problem.graph.tasks, {}
        for edge in self.problem.graph.edges:
            source, target = tasks[edge.source], tasks[edge.target]
            if source.kind == "worker" and target.kind == "ring" and edge.volume is not None:
                before[target.follows] = edge.source
        position, at = 0, worker
        while before and at != min(before.values()):
            position, at = position + 1, before[at]
        return position

    def joined(self, jobs: Sequence[ProcessJob], outcomes: Sequence[ProcessOutcome], first: int) -> PlacedTrainingRun:
        """What the processes of :meth:`jobs` have given together."""
        of_workers = [o.losses for job, o in zip(jobs, outcomes, strict=True) if job.kind == "worker"]
        sums: Doubles = np.sum(of_workers, axis=0)
        content = self.worker
        sizes = [batch_size(self.settings, content.samplers, first + n, content.train) for n in range(len(sums))]
        kind = "ps" if self._kinds["ps"] else "worker"
        of_kind = sorted(
            ((j.index, o) for j, o in zip(jobs, outcomes, strict=True) if j.kind == kind), key=lambda e: e[0]
        )
        states = [o.state for _, o in of_kind if o.state is not None]
        times = outcomes[0].times
        assert times is not None
        volumes: dict[int, list[float]] = defaultdict(list)
        flows = [(times.edge, times.flow_granted), *((o.local_edge, o.local_bytes) for o in outcomes)]
        for edges, lengths in flows:
            for edge, size in zip(edges.tolist(), lengths.tolist(), strict=True):
                volumes[edge].append(float(size))
        return PlacedTrainingRun(
            losses=sums / np.array(sizes),
            state=OptimiserState.joined(states) if self._kinds["ps"] else states[0],
            times=times,
            volumes=volumes,
            structure_bytes=sum(outcome.structure_bytes for outcome in outcomes),
        )


def _expect_training(problem: Problem, kinds: Counter[str]) -> None:
    if missing := [kind for kind in _NEEDED if not kinds[kind]]:
        raise OfframpError(f"expected a job, whose tasks are stores, samplers and workers: there is no {missing[0]}")
    if kinds["store"] != len(problem.cluster):
        raise OfframpError(f"expected a store on each of {len(problem.cluster)} machines, found {kinds['store']}")
