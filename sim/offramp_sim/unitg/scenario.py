# SPDX-License-Identifier: Apache-2.0
"""A scenario to simulate: pipeline, language model and links (specification, sections 3.6 and 3.10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from offramp.unitg.schedule import PipelinePosition
from offramp.unitg.timetable import Timetable, timetable
from offramp_base.settings.check import check
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND, BYTES

SEQUENTIAL, COLOCATED, INTERLEAVED, GATED = "sequential", "colocated", "interleaved", "interleaved+gate"
POLICIES: Final = (SEQUENTIAL, COLOCATED, INTERLEAVED, GATED)
"""The language model runs before the pipeline; beside it; in its bubbles; in its bubbles, with a switch that serves the
pipeline's packets first and holds back packets to a stage that computes."""


@dataclass(frozen=True, slots=True)
class UnitgScenario:
    """Times in seconds, sizes in bytes, the rate of each stage's network card each way."""

    stages: Annotated[int, Field("Stages of the pipeline", least=1, group="Pipeline")] = 4
    microbatches: Annotated[int, Field("Microbatches of an iteration", least=1)] = 4
    iterations: Annotated[int, Field("Iterations of the graph neural network", least=1)] = 3
    forward_s: Annotated[
        float, Field("Seconds that a stage takes for the forward pass of a microbatch", key="forward", above=0)
    ] = 1.0
    backward_s: Annotated[
        float, Field("Seconds that a stage takes for the backward pass of a microbatch", key="backward", above=0)
    ] = 2.0
    activation_bytes: Annotated[
        float, Field("Size of a microbatch's activations between stages", key="activation", least=0, unit=BYTES)
    ] = 0
    link_bps: Annotated[
        float | None,
        Field(
            "Rate of each network card, such as 1gbit; transfers take no time by default",
            key="link",
            above=0,
            unit=BITS_PER_SECOND,
        ),
    ] = None
    lm_steps: Annotated[int, Field("Steps of the language model", least=0, group="Language model")] = 3
    lm_step_s: Annotated[float, Field("Seconds that a step takes on each device", key="lm_step", above=0)] = 9.0
    lm_modules: Annotated[int, Field("Pieces of a step, between which it can be paused", least=1)] = 64
    gradient_bytes: Annotated[
        float, Field("Size of the language model's gradients", key="gradients", least=0, unit=BYTES)
    ] = 0

    def __post_init__(self) -> None:
        """Refuse a value out of range.

        Raises:
            SettingsError: names the field.
        """
        check(self)

    @property
    def transfer_s(self) -> float:
        """Seconds that an activation takes on a free link."""
        return 8 * self.activation_bytes / self.link_bps if self.link_bps else 0.0

    def place(self, stage: int) -> PipelinePosition:
        """Place of a stage in the pipeline."""
        return PipelinePosition(stage, self.stages, self.microbatches)

    def undisturbed(self) -> Timetable:
        """One iteration of the pipeline by itself."""
        p = self.stages
        return timetable([self.forward_s] * p, [self.backward_s] * p, self.microbatches, self.transfer_s)

    def predicted_s(self) -> float:
        """The specification's makespan: the pipeline's, plus language-model work that does not fit its bubbles."""
        table = self.undisturbed()
        idle = min(table.makespan - table.busy(stage) for stage in range(self.stages))
        return self.iterations * table.makespan + max(0.0, self.lm_steps * self.lm_step_s - self.iterations * idle)
