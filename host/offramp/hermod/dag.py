# SPDX-License-Identifier: Apache-2.0
"""The training DAG: computation, coflows and what waits for what (thesis, section 5.2.2; specification section 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.factors import CType, Factors

Indices = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]

DISPATCH: Final = "dispatch"
COMBINE: Final = "combine"
COMBINE_GRADIENT: Final = "combine-gradient"
DISPATCH_GRADIENT: Final = "dispatch-gradient"
ACTIVATION: Final = "activation"
GRADIENT: Final = "gradient"
REDUCE_SCATTER: Final = "reduce-scatter"
ALL_GATHER: Final = "all-gather"
TENSOR: Final = "tensor"


@dataclass(frozen=True, slots=True)
class Flows:
    """The flows of a coflow: ``size[k]`` bytes of every GPU of worker ``source[k]`` go to worker ``sink[k]``."""

    source: Indices
    sink: Indices
    size: Amounts


@dataclass(slots=True)
class Compute:
    """A stretch of computation of one worker; worker -1 is the barrier between iterations.

    Attributes:
        layers: first and one past the last of the model.
        waits: indices of the tasks that end before it starts.
    """

    worker: int
    seconds: float
    iteration: int
    mid: int
    layers: tuple[int, int]
    backward: bool
    waits: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Coflow:
    """Flows that count when all of them have arrived.

    Attributes:
        stage: virtual pipeline stage that sends.
        waits: indices of the tasks that end before it starts.
        latency_s: seconds before its flows start, which take no bandwidth.
    """

    role: str
    factors: Factors
    iteration: int
    stage: int
    flows: Flows
    waits: list[int] = field(default_factory=list)
    latency_s: float = 0.0

    @property
    def ctype(self) -> CType:
        """Kind of parallelism."""
        return self.factors.ctype


Task = Compute | Coflow
Coflows = tuple[list[tuple[str, Factors]], npt.NDArray[Any]]
"""Roles and factors that occur, and which of them each coflow has."""


@dataclass(slots=True)
class Dag:
    """Tasks in an order in which every task comes after those that it waits for.

    Attributes:
        workers, stages: number of workers and stages; a worker's number is ``rank * replicas + replica``.
        iterations: number of iterations in it.
        layers, micro_batches, interleaved: parameters of the priorities.
        captured: whether it is somebody's trace, of which an iteration ends with its last task; of our own DAGs it ends
            with its last computation, as in the thesis, since what is left overlaps with the next one.
    """

    tasks: list[Task]
    workers: int
    stages: int
    iterations: int
    layers: int
    micro_batches: int
    interleaved: bool
    captured: bool = False

    def coflows(self) -> Iterator[tuple[int, Coflow]]:
        """All coflows with their indices."""
        return ((k, task) for k, task in enumerate(self.tasks) if isinstance(task, Coflow))

    def computations(self) -> Iterator[tuple[int, Compute]]:
        """All computation with indices."""
        return ((k, task) for k, task in enumerate(self.tasks) if isinstance(task, Compute))

    def kinds_of_coflows(self) -> Coflows:
        """Role and factors of each coflow."""
        numbers: dict[tuple[str, Factors], int] = {}
        of = [numbers.setdefault((task.role, task.factors), len(numbers)) for _, task in self.coflows()]
        return list(numbers), np.array(of, np.int32)

    def iteration_of_ends(self) -> npt.NDArray[Any]:
        """For each task, the iteration that may end with it, -1 if none does."""
        ending = [self.captured or (isinstance(task, Compute) and task.worker >= 0) for task in self.tasks]
        return np.where(ending, [task.iteration for task in self.tasks], -1)
