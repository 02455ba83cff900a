# SPDX-License-Identifier: Apache-2.0
"""Results of a run of mini-batch training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from offramp.dgs.ledger import TrafficLedger
from offramp.report.units import si
from offramp.workers.epochs import EpochRecord, RunResult, ScoredEpoch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.dgs.masks import Masks


@dataclass(frozen=True, eq=False, kw_only=True)
class DgsProgress(EpochRecord):
    """An epoch as the workers report it; seconds are those of the slowest worker, counts are of all workers together.

    Attributes:
        ledger: bytes of all workers.
        sampling_s: drawing neighbours and fetching features, requests of others included.
        computing_s: forward, backward and the step.
        explaining_s: time of the epoch's explanations, where they were made.
        waiting_s: time that the trainer waited for masks.
        vertices: sources of all batches.
        edges: neighbours drawn.
        version: version of the masks at the end, of worker 0; 0: none yet.
        explanations: begun, of worker 0.
        weights: weights of the model at the end.
    """

    ledger: TrafficLedger
    sampling_s: float
    computing_s: float
    explaining_s: float
    waiting_s: float
    vertices: int
    edges: int
    version: int
    explanations: int
    weights: npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class DgsEpoch(ScoredEpoch):
    """One epoch: what was reported, and accuracies by all neighbours and all features."""

    reported: DgsProgress

    def progress(self) -> list[str]:
        """The parts of an epoch's line: those of every trainer, then the seconds and bytes of sampling."""
        of = self.reported
        masks = [f"masks {of.version}"] if of.version else []
        return [*super().progress(), f"sampling {of.sampling_s:.3f} s", f"sent {si(of.ledger.total, 'B')}", *masks]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the weights."""
        fields = {**self.reported.as_dict(), **super().as_dict()}
        kept = {name: value for name, value in fields.items() if name not in {"reported", "ledger", "weights"}}
        return kept | {"bytes": self.reported.ledger.as_dict()}


@dataclass
class DgsResult(RunResult[DgsEpoch]):
    """A finished run of mini-batch training.

    Attributes:
        masks: masks of each worker at the end, where there are.
    """

    masks: list[Masks | None]

    @property
    def ledger(self) -> TrafficLedger:
        """Bytes of all workers and epochs."""
        return sum((epoch.reported.ledger for epoch in self.epochs), TrafficLedger())

    @property
    def test_accuracy(self) -> float:
        """Accuracy in the epoch with the best accuracy on validation vertices, the last of several."""
        return max(self.epochs, key=lambda epoch: (epoch.val_accuracy, epoch.epoch)).test_accuracy

    def scores(self) -> dict[str, Any]:
        """Accuracies on test vertices."""
        return {"test_accuracy": self.test_accuracy, "final_test_accuracy": self.epochs[-1].test_accuracy}

    def totals(self) -> dict[str, Any]:
        """Bytes, explanations and sampled edges."""
        last = self.epochs[-1].reported
        sampling = sum(epoch.reported.sampling_s for epoch in self.epochs)
        edges = sum(epoch.reported.edges for epoch in self.epochs)
        return {
            "bytes": self.ledger.as_dict(),
            "bytes_last_epoch": last.ledger.as_dict(),
            "explanations": last.explanations,
            "edges_sampled": edges,
            "edges_sampled_per_s": edges / sampling if sampling else 0.0,
        }
