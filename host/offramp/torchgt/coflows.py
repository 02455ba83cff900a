# SPDX-License-Identifier: Apache-2.0
"""The exchanges of a training step as coflows, with Hermod's priorities (Hermod's specification, sections 2 to 4)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp.hermod import dag as roles
from offramp.hermod.chakra import export_dag
from offramp.hermod.dag import Coflow, Compute, Dag, Flows
from offramp.hermod.dscp import DscpCodec
from offramp.hermod.factors import CType, Factors
from offramp.hermod.plan_file import plan_document
from offramp.hermod.queues import plan_queues
from offramp.hermod.traffic import ring
from offramp.torchgt.settings import ELEMENT

if TYPE_CHECKING:
    from offramp.torchgt.settings import TorchGtSettings

_ENDS: Final = 0.5
"""Fraction of a layer's computation before and after its attention; assumed, only the sum is measured."""


@dataclass(frozen=True, slots=True)
class StepExchanges:
    """Parameters that determine the exchanges of a step.

    Attributes:
        tokens: tokens of the sequence, including padding.
        element, weight: bytes of a number in an all-to-all, and in a weight's gradient.
        layer_parameters, other_parameters: number of parameters of one layer, and outside of all layers.
        seconds: computation time of a rank in the step.
    """

    ranks: int
    tokens: int
    hidden: int
    layers: int
    element: int
    weight: int
    layer_parameters: int
    other_parameters: int
    seconds: float

    @classmethod
    def of(
        cls, settings: TorchGtSettings, tokens: int, layer_parameters: int, others: int, seconds: float
    ) -> StepExchanges:
        """A step of a run."""
        size, weight = settings.size, ELEMENT[settings.dtype]
        shape = (settings.workers, tokens, size.hidden, size.layers)
        return cls(*shape, settings.element, weight, layer_parameters, others, seconds)

    @property
    def part(self) -> float:
        """Bytes from one rank to another for one of Q, K, V or the output."""
        return self.tokens // self.ranks * (self.hidden // self.ranks) * float(self.element)


def step_dag(step: StepExchanges) -> Dag:
    """Computation and coflows of one step; the ranks are workers of one stage.

    All-to-alls count as those of expert parallelism, which also move tokens: Hermod gives them priority over the sums
    of weight gradients (type DP); a layer's sum starts while earlier layers compute their backward pass.
    """
    return _DagWriter(step).write()


class _DagWriter:
    def __init__(self, step: StepExchanges) -> None:
        self._step = step
        self._dag = Dag([], step.ranks, 1, 1, step.layers, 1, interleaved=False)
        self._last: list[int] = []
        rank = np.arange(step.ranks)
        source, sink = np.repeat(rank, step.ranks), np.tile(rank, step.ranks)
        self._others = source != sink
        self._source, self._sink = source[self._others], sink[self._others]

    def write(self) -> Dag:
        step = self._step
        forward = step.seconds / 3 / step.layers  # backward computes twice as much
        for layer in range(step.layers):
            self._compute(layer, forward * _ENDS, backward=False)
            self._exchange(roles.DISPATCH, layer, 3)
            self._compute(layer, forward * (1 - _ENDS), backward=False)
            self._exchange(roles.COMBINE, layer, 1)
        for layer in reversed(range(step.layers)):
            self._compute(layer, 2 * forward * _ENDS, backward=True)
            self._exchange(roles.COMBINE_GRADIENT, layer, 1)
            self._compute(layer, 2 * forward * (1 - _ENDS), backward=True)
            self._exchange(roles.DISPATCH_GRADIENT, layer, 3)
            self._sum(layer, step.layer_parameters + (0 if layer else step.other_parameters))
        return self._dag

    def _compute(self, layer: int, seconds: float, *, backward: bool) -> None:
        tasks = self._dag.tasks
        waits, self._last = self._last, []
        for rank in range(self._step.ranks):
            own = [k for k in waits if not isinstance(before := tasks[k], Compute) or before.worker == rank]
            self._last.append(len(tasks))
            tasks.append(Compute(rank, seconds, 0, 0, (layer, layer + 1), backward, own))

    def _exchange(self, role: str, layer: int, kinds: int) -> None:
        flows = Flows(self._source, self._sink, np.full(len(self._source), kinds * self._step.part))
        self._last = [self._coflow(role, CType.EP, layer, flows, self._last)]

    def _sum(self, layer: int, parameters: int) -> None:
        """Add a ring's reduce-scatter and all-gather, concurrent with what follows."""
        ranks = self._step.ranks
        if ranks == 1:
            return
        flows = ring(np.arange(ranks), parameters * (ranks - 1) / ranks * self._step.weight)
        scattered = self._coflow(roles.REDUCE_SCATTER, CType.DP, layer, flows, self._last)
        self._coflow(roles.ALL_GATHER, CType.DP, layer, flows, [scattered])

    def _coflow(self, role: str, ctype: CType, layer: int, flows: Flows, waits: list[int]) -> int:
        self._dag.tasks.append(Coflow(role, Factors(0, ctype, layer), 0, 0, flows, list(waits)))
        return len(self._dag.tasks) - 1


def priorities(step: StepExchanges, queues: int = 8) -> dict[str, Any]:
    """A plan in the format of ``offramp hermod plan --json``, with the DSCP and queue of every coflow of the step."""
    codec = DscpCodec(1, step.layers)
    plan = plan_queues(codec, queues, job=asdict(step))
    coflows = []
    for number, coflow in step_dag(step).coflows():
        dscp = plan.dscp[codec.code(coflow.factors)]
        flows = coflow.flows
        coflows.append(
            {
                "task": number,
                "role": coflow.role,
                "layer": coflow.factors.lid,
                "dscp": dscp,
                "queue": plan.queue[dscp],
                "bytes": float(flows.size.sum()),
                "flows": [
                    [int(s), int(t), float(b)] for s, t, b in zip(flows.source, flows.sink, flows.size, strict=True)
                ],
            }
        )
    return {**plan_document(plan), "coflows": coflows}


def export_step(step: StepExchanges, folder: Path) -> list[Path]:
    """Write ``trace.RANK.et`` for each rank, for ``offramp simulate hermod`` and other simulators.

    Raises:
        OfframpError: the folder or a file cannot be written.
    """
    return export_dag(step_dag(step), folder)
