# SPDX-License-Identifier: Apache-2.0
"""What a training run yields: one record for each epoch, one for each worker, and the totals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from offramp.workers.traffic import Traffic


@dataclass(frozen=True)
class Epoch:
    """One epoch; the scores are those of its forward pass, the seconds those of its slowest worker.

    ``communication_seconds`` are the exchanges of boundary features, ``reduction_seconds`` the sum of the
    weight gradients over workers. Messages between workers had ``bits`` a value at least, and those of the epoch before
    were taken where ``stale``.
    """

    epoch: int
    loss: float
    train_accuracy: float
    val_accuracy: float
    test_accuracy: float
    seconds: float
    communication_seconds: float
    reduction_seconds: float
    bits: int = 32
    stale: bool = False


@dataclass(frozen=True)
class SwitchTotals:
    """What the switch counted during the run: zero where none took part, None where it cannot tell.

    ``strangers`` are the frames that it dropped since what they named is not of the port that they came by; by port.
    """

    passes: int = 0
    recirculations: int = 0
    aggregators_peak: int | None = 0
    overflows: int = 0
    strangers: dict[str, int] = field(default_factory=dict)


@dataclass
class TrainingResult:
    """A finished run.

    Attributes:
        settings: everything that produced it, with the graph's and the partition's size.
        epochs: one record for each.
        workers: traffic of each worker's link.
        seconds: from the first worker's start of the first epoch to the end of the last.
        switch: what the switch counted.
    """

    settings: dict[str, Any]
    epochs: list[Epoch]
    workers: list[Traffic]
    seconds: float
    switch: SwitchTotals = field(default_factory=SwitchTotals)

    @property
    def test_accuracy(self) -> float:
        """Share of test vertices classified right in the last epoch."""
        return self.epochs[-1].test_accuracy

    @property
    def traffic(self) -> Traffic:
        """Totals over all workers' links."""
        return sum(self.workers, Traffic())

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: totals at top level, then the settings, workers and epochs."""
        total = self.traffic
        return {
            "test_accuracy": self.test_accuracy,
            "loss": self.epochs[-1].loss,
            "epochs": len(self.epochs),
            "bytes_up": total.payload_up,
            "bytes_down": total.payload_down,
            "wire_bytes_up": total.wire_up,
            "wire_bytes_down": total.wire_down,
            "packets": total.packets_up + total.packets_down,
            "lost_frames": total.lost,
            **asdict(self.switch),
            "seconds": self.seconds,
            "settings": self.settings,
            "per_worker": [
                {
                    "bytes_up": worker.payload_up,
                    "bytes_down": worker.payload_down,
                    "wire_bytes_up": worker.wire_up,
                    "wire_bytes_down": worker.wire_down,
                    "packets_up": worker.packets_up,
                    "packets_down": worker.packets_down,
                    "lost_frames": worker.lost,
                }
                for worker in self.workers
            ],
            "per_epoch": [asdict(epoch) for epoch in self.epochs],
        }
