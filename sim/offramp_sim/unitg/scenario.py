# SPDX-License-Identifier: Apache-2.0
"""What is simulated: the pipeline, the language model and the links (specification, sections 3.6 and 3.10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offramp.unitg.schedule import Place
from offramp.unitg.timetable import Timetable, timetable
from offramp_base.errors import OfframpError

SEQUENTIAL, COLOCATED, INTERLEAVED, GATED = "sequential", "colocated", "interleaved", "interleaved+gate"
POLICIES: Final = (SEQUENTIAL, COLOCATED, INTERLEAVED, GATED)
"""The language model before the pipeline; beside it; in its bubbles; in its bubbles, with a switch that serves the
pipeline's packets first and holds what goes to a stage that computes."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Times in seconds, sizes in bytes.

    Attributes:
        stages, microbatches, iterations: of the pipeline.
        forward_s, backward_s: of a stage, for a microbatch.
        activation_bytes: of a microbatch, from stage to stage; its gradient is as large.
        link_bps: of each stage's network card, each way; None: transfers take no time.
        lm_steps: of the language model.
        lm_step_s: of each, on each device.
        lm_modules: its pieces, between which it can be paused.
        gradient_bytes: that data parallelism averages in each step.

    Raises:
        OfframpError: a number out of range.
    """

    stages: int = 4
    microbatches: int = 4
    iterations: int = 3
    forward_s: float = 1.0
    backward_s: float = 2.0
    activation_bytes: float = 0.0
    link_bps: float | None = None
    lm_steps: int = 3
    lm_step_s: float = 9.0
    lm_modules: int = 16
    gradient_bytes: float = 0.0

    def __post_init__(self) -> None:
        for flag, number, least in (
            ("--stages", self.stages, 1),
            ("--microbatches", self.microbatches, 1),
            ("--iterations", self.iterations, 1),
            ("--lm-steps", self.lm_steps, 0),
            ("--lm-modules", self.lm_modules, 1),
        ):
            if number < least:
                raise OfframpError(f"{flag} {number}: expected at least {least}")
        for flag, seconds in (
            ("--forward", self.forward_s),
            ("--backward", self.backward_s),
            ("--lm-step", self.lm_step_s),
        ):
            if not 0 < seconds < float("inf"):
                raise OfframpError(f"{flag} {seconds:g}: expected more than 0 s")
        for flag, size in (("--activation", self.activation_bytes), ("--gradients", self.gradient_bytes)):
            if size < 0:
                raise OfframpError(f"{flag} {size:g}: expected at least 0 bytes")
        if self.link_bps is not None and not self.link_bps > 0:
            raise OfframpError(f"--link {self.link_bps:g}: expected more than 0 bit/s")

    @property
    def transfer_s(self) -> float:
        """What an activation takes on a free link."""
        return 8 * self.activation_bytes / self.link_bps if self.link_bps else 0.0

    def place(self, stage: int) -> Place:
        """Of a stage in the pipeline."""
        return Place(stage, self.stages, self.microbatches)

    def undisturbed(self) -> Timetable:
        """One iteration of the pipeline by itself."""
        p = self.stages
        return timetable([self.forward_s] * p, [self.backward_s] * p, self.microbatches, self.transfer_s)

    def predicted_s(self) -> float:
        """The specification's makespan: the pipeline's, and what of the language model does not fit its bubbles."""
        table = self.undisturbed()
        idle = min(table.makespan - table.busy(stage) for stage in range(self.stages))
        return self.iterations * table.makespan + max(0.0, self.lm_steps * self.lm_step_s - self.iterations * idle)
