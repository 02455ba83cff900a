# SPDX-License-Identifier: Apache-2.0
"""Tasks of a training iteration and what they wait for (section III-A; equations 8 to 12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from offramp.dgtp.volume import FlowVolume
from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Task:
    """A task, which runs once an iteration.

    Attributes:
        name: such as ``sampler 3``.
        kind: tasks of a kind have the same demand and speed up alike.
        seconds: execution time of one iteration on a machine of speed 1.
        demand: demand of each resource, w_j^r.
        home: the machine it is bound to (graph stores), by index.
        follows: the task it shares a machine with (ring tasks), by index.
    """

    name: str
    kind: str
    seconds: float
    demand: Mapping[str, float] = field(default_factory=dict)
    home: int | None = None
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """The result of ``source`` in iteration n is needed by ``target`` in iteration n + ``lag``.

    ``volume`` is what has to travel if they are on two machines; None: an order without bytes, which costs nothing.
    """

    source: int
    target: int
    volume: FlowVolume | None
    lag: int = 0


class TaskGraph:
    """Tasks and edges of every iteration.

    Attributes:
        tasks, edges: as given.
        order: tasks so that everything an iteration needs of itself comes first.
        inputs, outputs: edges of each task, by index.

    Raises:
        OfframpError: a cycle within an iteration, a pair of tasks with two edges, or an index that does not exist.
    """

    def __init__(self, tasks: tuple[Task, ...], edges: tuple[Edge, ...]) -> None:
        self.tasks, self.edges = tasks, edges
        if not tasks:
            raise OfframpError("task graph: expected at least one task")
        self.inputs: list[list[int]] = [[] for _ in tasks]
        self.outputs: list[list[int]] = [[] for _ in tasks]
        seen = set()
        for index, edge in enumerate(edges):
            self._check(edge)
            pair = (edge.source, edge.target)
            if pair in seen:
                raise OfframpError(f"task graph: two edges from {self._name(edge.source)} to {self._name(edge.target)}")
            seen.add(pair)
            self.inputs[edge.target].append(index)
            self.outputs[edge.source].append(index)
        for task in tasks:
            if not 0 <= task.seconds < float("inf"):
                raise OfframpError(f"{task.name}: {task.seconds} s: expected an execution time of at least 0")
            if task.follows is not None and (
                task.home is not None
                or not 0 <= task.follows < len(tasks)
                or tasks[task.follows].follows is not None
                or task.demand
            ):
                raise OfframpError(
                    f"{task.name}: a task that follows another needs nothing and has no machine of its own"
                )
        self.order = self._order()

    def _check(self, edge: Edge) -> None:
        if not (0 <= edge.source < len(self.tasks) and 0 <= edge.target < len(self.tasks)):
            raise OfframpError(f"task graph: an edge from {edge.source} to {edge.target}, of {len(self.tasks)} tasks")
        if edge.lag not in (0, 1):
            raise OfframpError(f"task graph: an edge over {edge.lag} iterations: expected 0 or 1")

    def _name(self, task: int) -> str:
        return self.tasks[task].name

    def _order(self) -> list[int]:
        within: dict[int, set[int]] = {task: set() for task in range(len(self.tasks))}
        for edge in self.edges:
            if edge.lag == 0:
                within[edge.target].add(edge.source)
        try:
            return list(TopologicalSorter(within).static_order())
        except CycleError as error:
            round_trip = " -> ".join(self._name(task) for task in error.args[1])
            raise OfframpError(f"task graph: tasks wait for each other: {round_trip}") from None

    @property
    def movable(self) -> list[int]:
        """Tasks whose machine is to be decided."""
        return [i for i, task in enumerate(self.tasks) if task.home is None and task.follows is None]
