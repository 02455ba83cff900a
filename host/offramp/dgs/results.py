# SPDX-License-Identifier: Apache-2.0
"""What a run of mini-batch training yields."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from offramp.dgs.ledger import Ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.dgs.masks import Masks


@dataclass(frozen=True, eq=False)
class Progress:
    """What workers report of an epoch; seconds are those of the slowest worker, counts of all together.

    Attributes:
        epoch: from 1.
        loss: mean over the training vertices.
        ledger: bytes of all workers.
        seconds: of the epoch.
        sampling_s: drawing neighbours and fetching features, requests of others included.
        computing_s: forward, backward and the step.
        explaining_s: of the epoch's explanations, where they were made.
        waiting_s: of the trainer for masks.
        vertices: sources of all batches.
        edges: neighbours drawn.
        version: of the masks at the end, of worker 0; 0: none yet.
        explanations: begun, of worker 0.
        weights: of the model at the end.
    """

    epoch: int
    loss: float
    ledger: Ledger
    seconds: float
    sampling_s: float
    computing_s: float
    explaining_s: float
    waiting_s: float
    vertices: int
    edges: int
    version: int
    explanations: int
    weights: npt.NDArray[np.float32]


@dataclass(frozen=True)
class DgsEpoch:
    """One epoch: what was reported, and accuracies by all neighbours and all features."""

    progress: Progress
    train_accuracy: float
    val_accuracy: float
    test_accuracy: float

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        progress = self.progress
        plain = {k: v for k, v in asdict(progress).items() if k not in {"ledger", "weights"}}
        accuracies = {k: v for k, v in asdict(self).items() if k.endswith("accuracy")}
        return plain | accuracies | {"bytes": progress.ledger.as_dict()}


@dataclass(frozen=True)
class DgsResult:
    """A finished run.

    Attributes:
        settings: everything that produced it, and facts of the graph and its partition.
        epochs: one record for each.
        seconds: from the first worker's start of the first epoch to the end of the last.
        masks: of each worker at the end, where there are.
    """

    settings: dict[str, Any]
    epochs: list[DgsEpoch]
    seconds: float
    masks: list[Masks | None]

    @property
    def ledger(self) -> Ledger:
        """Bytes of all workers and epochs."""
        return sum((epoch.progress.ledger for epoch in self.epochs), Ledger())

    @property
    def test_accuracy(self) -> float:
        """Of the epoch with the best accuracy on validation vertices, the last of several."""
        return max(self.epochs, key=lambda epoch: (epoch.val_accuracy, epoch.progress.epoch)).test_accuracy

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: totals at top level, then the settings and epochs."""
        sampling = sum(epoch.progress.sampling_s for epoch in self.epochs)
        last = self.epochs[-1]
        return {
            "test_accuracy": self.test_accuracy,
            "final_test_accuracy": last.test_accuracy,
            "loss": last.progress.loss,
            "epochs": len(self.epochs),
            "bytes": self.ledger.as_dict(),
            "bytes_last_epoch": last.progress.ledger.as_dict(),
            "explanations": last.progress.explanations,
            "edges_sampled": sum(epoch.progress.edges for epoch in self.epochs),
            "edges_sampled_per_s": sum(epoch.progress.edges for epoch in self.epochs) / sampling if sampling else 0.0,
            "seconds": self.seconds,
            "settings": self.settings,
            "per_epoch": [epoch.as_dict() for epoch in self.epochs],
        }
