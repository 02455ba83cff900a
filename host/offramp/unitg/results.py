# SPDX-License-Identifier: Apache-2.0
"""Results of a UniTG run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from offramp.unitg.finetune import FineTuningProgress
from offramp.unitg.gate import Interval
from offramp.unitg.pipeline import Done
from offramp.unitg.schedule import PipelinePosition
from offramp.workers.epochs import RunResult, ScoredEpoch
from offramp.workers.traffic import Traffic
from offramp_base.wire.objects import sendable


@dataclass(frozen=True, kw_only=True)
class UnitgEpoch(ScoredEpoch):
    """One epoch of the graph neural network.

    ``embedded`` vertices had an embedding of the language model as features; new ones arrive ``interval`` epochs later.
    """

    embedded: int = 0
    interval: int = 0


@sendable
@dataclass(frozen=True)
class StageRecord:
    """Record of one stage.

    Attributes:
        place: position in the pipeline.
        spans: operations of training passes.
        openings: times at which its language model could run.
        modules: modules of the language model that ran, with their times.
        live: largest number of microbatches whose activations were held.
        traffic: traffic with neighbouring stages.
        lm_traffic: traffic of the language model: gradients and embeddings.
        progress: progress of the language model.
    """

    place: PipelinePosition
    spans: list[Done]
    openings: list[tuple[float, float]]
    modules: list[Interval]
    live: int
    traffic: Traffic
    lm_traffic: Traffic
    progress: FineTuningProgress

    def idle_share(self) -> float:
        """Fraction of the time from the first to the last operation in which the stage did not compute."""
        if not self.spans:
            return 0.0
        busy = sum(done.end - done.start for done in self.spans)
        return 1 - busy / (self.spans[-1].end - self.spans[0].start)


@dataclass
class UnitgResult(RunResult[UnitgEpoch]):
    """A finished run; ``seconds`` lasts until the language model is done, too.

    Attributes:
        stages: stages in rank order.
        gnn_seconds: time from the start of the first epoch to the end of the last.
        whole: final accuracy of training, validation and test vertices, with the edges between microbatches.
    """

    stages: list[StageRecord]
    gnn_seconds: float
    whole: tuple[float, float, float]

    def scores(self) -> dict[str, Any]:
        """Accuracies on test vertices."""
        return {"test_accuracy": self.epochs[-1].test_accuracy, "test_accuracy_whole_graph": self.whole[2]}

    def totals(self) -> dict[str, Any]:
        """Time of the graph neural network alone."""
        return {"gnn_seconds": self.gnn_seconds}

    def parts(self) -> dict[str, Any]:
        """The language model and each stage, without individual operations."""
        progress = self.stages[0].progress
        return {
            "lm": {
                "steps": progress.steps,
                "losses": progress.losses,
                "seconds": progress.seconds,
                "fault": progress.fault,
            },
            "per_stage": [
                {
                    "idle_share": stage.idle_share(),
                    "live_microbatches": stage.live,
                    "bytes_up": stage.traffic.payload_up,
                    "bytes_down": stage.traffic.payload_down,
                    "lm_bytes_up": stage.lm_traffic.payload_up,
                    "lm_bytes_down": stage.lm_traffic.payload_down,
                }
                for stage in self.stages
            ],
        }
