# SPDX-License-Identifier: Apache-2.0
"""What a run of UniTG yields."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from offramp.unitg.finetune import Progress
from offramp.unitg.gate import Interval
from offramp.unitg.pipeline import Done
from offramp.unitg.schedule import Place
from offramp.workers.traffic import Traffic
from offramp_base.wire.objects import sendable


@dataclass(frozen=True)
class UnitgEpoch:
    """One epoch of the graph neural network.

    ``embedded`` vertices had an embedding of the language model as features; new ones come ``interval`` epochs later.
    """

    epoch: int
    loss: float
    train_accuracy: float
    val_accuracy: float
    test_accuracy: float
    seconds: float
    embedded: int = 0
    interval: int = 0


@sendable
@dataclass(frozen=True)
class StageRecord:
    """What one stage did.

    Attributes:
        place: in the pipeline.
        spans: operations of training passes.
        openings: when its language model might run.
        modules: what of the language model ran, and when.
        live: most microbatches whose activations were held.
        traffic: with neighbouring stages.
        lm_traffic: of the language model: gradients and embeddings.
        progress: of the language model.
    """

    place: Place
    spans: list[Done]
    openings: list[tuple[float, float]]
    modules: list[Interval]
    live: int
    traffic: Traffic
    lm_traffic: Traffic
    progress: Progress

    def idle_share(self) -> float:
        """Share of the time from the first to the last operation in which the stage did not compute."""
        if not self.spans:
            return 0.0
        busy = sum(done.end - done.start for done in self.spans)
        return 1 - busy / (self.spans[-1].end - self.spans[0].start)


@dataclass
class UnitgResult:
    """A finished run.

    Attributes:
        settings: everything that produced it, with the graph's facts.
        epochs: one record for each.
        stages: in rank order.
        gnn_seconds: from the start of the first epoch to the end of the last.
        seconds: until the language model was done too.
        whole: accuracy of training, validation and test vertices at the end, with the edges between microbatches.
    """

    settings: dict[str, Any]
    epochs: list[UnitgEpoch]
    stages: list[StageRecord]
    gnn_seconds: float
    seconds: float
    whole: tuple[float, float, float] = (0.0, 0.0, 0.0)
    facts: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, without the single operations."""
        progress = self.stages[0].progress
        return {
            "test_accuracy": self.epochs[-1].test_accuracy,
            "test_accuracy_whole_graph": self.whole[2],
            "loss": self.epochs[-1].loss,
            "gnn_seconds": self.gnn_seconds,
            "seconds": self.seconds,
            "settings": self.settings,
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
            "per_epoch": [asdict(epoch) for epoch in self.epochs],
        }
