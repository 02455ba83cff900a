# SPDX-License-Identifier: Apache-2.0
"""What a process of a run is given: all tasks, flows and machines, its own role, and what its role works on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.dgs.settings import DgsSettings
from offramp.dgs.shard import Shard
from offramp.dgtp.cluster import Machine, MachineCluster
from offramp.dgtp.problem import Problem
from offramp.dgtp.runtime.optimiser import OptimiserState
from offramp.dgtp.taskgraph import Edge, Task, TaskGraph
from offramp.dgtp.volume import FlowVolume
from offramp.graph.csr import IntArray
from offramp_base.wire.objects import sendable

Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]


@sendable
@dataclass(frozen=True, eq=False)
class PlacedTasks:
    """The tasks of an iteration where they are.

    Attributes:
        names: name of each task.
        machine, rank: ``(tasks,)`` machine and process of each task.
        source, target, lag: ``(edges,)`` tasks of each edge, and the iterations between them.
        data: ``(edges,)`` whether the edge carries bytes.
        ingress, egress: ``(machines,)`` bytes per second that flows may use of each card.
    """

    names: list[str]
    machine: IntArray
    rank: IntArray
    source: IntArray
    target: IntArray
    lag: IntArray
    data: Bools
    ingress: Doubles
    egress: Doubles

    @classmethod
    def of(cls, problem: Problem, machine: IntArray, rank: IntArray) -> PlacedTasks:
        """The tasks of a problem on these machines, in the processes of these ranks."""
        names = [task.name for task in problem.graph.tasks]
        edges = problem.source, problem.target, problem.lag, problem.data
        return cls(names, machine, rank, *edges, problem.ingress, problem.egress)

    @cached_property
    def crosses(self) -> Bools:
        """``(edges,)`` whether the edge's bytes cross the network."""
        crosses: Bools = self.data & (self.machine[self.source] != self.machine[self.target])
        return crosses

    @cached_property
    def travels(self) -> Bools:
        """``(edges,)`` whether the edge's bytes go from one process to another."""
        travels: Bools = self.data & (self.rank[self.source] != self.rank[self.target])
        return travels

    def problem(self) -> Problem:
        """The tasks as algorithm 1 takes them; they have no durations here."""
        columns = (self.source.tolist(), self.target.tolist(), self.data.tolist(), self.lag.tolist())
        edges = [Edge(s, t, FlowVolume(0.0) if data else None, lag) for s, t, data, lag in zip(*columns, strict=True)]
        cards = zip(self.ingress.tolist(), self.egress.tolist(), strict=True)
        machines = [Machine(str(m), {}, 8 * into, 8 * out) for m, (into, out) in enumerate(cards)]
        tasks = tuple(Task(name, "task", 0.0) for name in self.names)
        return Problem(TaskGraph(tasks, tuple(edges)), MachineCluster(tuple(machines)))


@sendable
@dataclass(frozen=True, eq=False)
class SamplerContent:
    """What a sampler works on.

    Attributes:
        owner: ``(N,)`` store of each vertex.
        train, labels: ``(n,)`` all training vertices and their labels.
        features: number of features of a vertex.
    """

    owner: npt.NDArray[np.int32]
    train: IntArray
    labels: IntArray
    features: int


@sendable
@dataclass(frozen=True, eq=False)
class WorkerContent:
    """What a worker works on.

    Attributes:
        degree: ``(N,)`` neighbours of each vertex.
        features, classes: features of a vertex, and classes of the graph.
        samplers: number of samplers of the whole job.
        train: number of training vertices.
        position: place along the ring; 0 with parameter servers.
        ring: workers along the ring; 0 with parameter servers.
    """

    degree: IntArray
    features: int
    classes: int
    samplers: int
    train: int
    position: int = 0
    ring: int = 0


@sendable
@dataclass(frozen=True, eq=False)
class ProcessJob:
    """A process of a run.

    Attributes:
        kind, index: kind of its task, and index among that kind.
        tasks: its tasks; those of a ring follow their worker.
        placed: all tasks.
        settings: model, batches and draws.
        first, iterations: number of the first iteration of training, and number of iterations.
        seconds: least seconds of an iteration of each of ``tasks``.
        policy: rates of flows, which rank 0 decides.
        address: address at which it listens.
        namespace: file of the network namespace that it enters; empty for that of the command.
        state: parameters and moments at the start; of a server only its part.
        store, sampler, worker: what its role works on.
    """

    kind: str
    index: int
    tasks: list[int]
    placed: PlacedTasks
    settings: DgsSettings
    first: int
    iterations: int
    seconds: list[float]
    policy: str
    address: str
    namespace: str
    state: OptimiserState | None = None
    store: Shard | None = None
    sampler: SamplerContent | None = None
    worker: WorkerContent | None = None

    @property
    def name(self) -> str:
        """The process in messages."""
        return self.placed.names[self.tasks[0]]

    def edges(self, which: str) -> list[int]:
        """Edges between this process and others: those of its tasks as ``source`` or as ``target``."""
        ends: IntArray = getattr(self.placed, which)
        return np.flatnonzero(self.placed.travels & np.isin(ends, self.tasks)).tolist()


@sendable
@dataclass(frozen=True, eq=False)
class MeasuredTimes:
    """When everything began and ended, by the scheduler's clock, in seconds from the run's beginning.

    Attributes:
        task, task_iteration, task_start, task_end: one entry for each task and iteration.
        task_waited: seconds of it in which the task waited for what no edge brings: a store for requests.
        edge, edge_iteration, flow_bytes, flow_start, flow_end: one entry for each flow across the network.
        flow_granted: bytes that its rates would have carried from its start until the scheduler learnt of its end.
    """

    task: IntArray
    task_iteration: IntArray
    task_start: Doubles
    task_end: Doubles
    task_waited: Doubles
    edge: IntArray
    edge_iteration: IntArray
    flow_bytes: IntArray
    flow_start: Doubles
    flow_end: Doubles
    flow_granted: Doubles

    @property
    def makespan(self) -> float:
        """Seconds until every task had done every iteration."""
        return float(self.task_end.max())


@sendable
@dataclass(frozen=True, eq=False)
class ProcessOutcome:
    """What a process has at the end.

    Attributes:
        losses: ``(iterations,)`` sums of the losses of a worker's seeds.
        state: parameters and moments, of servers and of the ring's workers.
        structure_bytes: bytes of requests for neighbours and of answers, which a sampler counts.
        local_edge, local_bytes: one entry for each flow that came from the same machine.
        times: times that the scheduler has measured, on rank 0 only.
    """

    losses: Doubles = field(default_factory=lambda: np.empty(0))
    state: OptimiserState | None = None
    structure_bytes: int = 0
    local_edge: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    local_bytes: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    times: MeasuredTimes | None = None
