# SPDX-License-Identifier: Apache-2.0
"""A pipeline with a language model in its bubbles as computation and coflows, for the simulators of Hermod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offramp.hermod.build import sort_tasks
from offramp.hermod.dag import ACTIVATION, GRADIENT, REDUCE_SCATTER, Coflow, Compute, Dag, Flows, Task
from offramp.unitg.coflows import gradient_factors, transfer_factors
from offramp.unitg.schedule import Op, PipelinePosition


def unitg_dag(
    place: PipelinePosition,
    iterations: int,
    seconds: tuple[float, float, float],
    activation_bytes: float,
    gradient_bytes: float,
) -> Dag:
    """A pipeline with a step of the language model in each iteration's bubbles, as computation and coflows.

    A stage's part of the step follows the operation after which its bubble begins; its gradients go to all others
    directly and back as sums, one coflow. The next part waits for it.

    Args:
        place: any stage of the pipeline.
        iterations: number of the pipeline's iterations.
        seconds: durations of a forward and a backward pass of a microbatch, and of a stage's part of a step.
        activation_bytes: between neighbours, for each microbatch.
        gradient_bytes: bytes of the language model's gradients.
    """
    stages, tasks = place.stages, _Tasks([])
    last: list[int | None] = [None] * stages
    averaged: int | None = None
    for it in range(iterations):
        sent: dict[tuple[int, Op], int] = {}
        parts: dict[int, int] = {}
        for backward in (False, True):
            for stage in range(stages - 1, -1, -1) if backward else range(stages):
                own = PipelinePosition(stage, stages, place.microbatches)
                for op in (op for op in own.order() if op.backward == backward):
                    done = tasks.compute(stage, op, it, seconds[backward], last[stage], sent.get((stage, op)))
                    last[stage] = done
                    peer = stage - 1 if backward else stage + 1
                    if 0 <= peer < stages:
                        sent[peer, op] = tasks.transfer(stage, peer, op, it, activation_bytes, done)
                    if own.resumes_after(op) and stage not in parts:
                        parts[stage] = tasks.compute(stage, op, it, seconds[2], done, averaged, of_text=True)
        if stages > 1:
            averaged = tasks.average(place, it, gradient_bytes, list(parts.values()))
    ordered = sort_tasks(tasks.added, list(range(len(tasks.added))))
    return Dag(ordered, stages, stages, iterations, stages, place.microbatches, interleaved=False)


OF_TEXT = (0, 0)
"""Layers of a task that is the language model's."""


@dataclass
class _Tasks:
    """Tasks as they are made; each method returns the new one's index."""

    added: list[Task]

    def compute(self, stage: int, op: Op, it: int, seconds: float, *waits: int | None, of_text: bool = False) -> int:
        layers = OF_TEXT if of_text else (stage, stage + 1)
        after = [wait for wait in waits if wait is not None]
        return self._add(Compute(stage, seconds, it, op.microbatch, layers, op.backward, after))

    def transfer(self, stage: int, peer: int, op: Op, it: int, size: float, after: int) -> int:
        flows = _flows([(stage, peer, size)])
        role = GRADIENT if op.backward else ACTIVATION
        return self._add(Coflow(role, transfer_factors(op, stage), it, stage, flows, [after]))

    def average(self, place: PipelinePosition, it: int, size: float, after: list[int]) -> int:
        """A part of the gradients to each rank and its sum back: two parts between any two ranks."""
        ranks, part = range(place.stages), size / place.stages
        flows = _flows([(a, b, 2 * part) for a in ranks for b in ranks if a != b])
        factors = gradient_factors(place.microbatches, 0)
        return self._add(Coflow(REDUCE_SCATTER, factors, it, 0, flows, after))

    def _add(self, task: Task) -> int:
        self.added.append(task)
        return len(self.added) - 1


def _flows(moves: Sequence[tuple[int, int, float]]) -> Flows:
    sources, sinks, sizes = zip(*moves, strict=True)
    return Flows(np.array(sources, np.int64), np.array(sinks, np.int64), np.array(sizes, np.float64))
