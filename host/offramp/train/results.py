# SPDX-License-Identifier: Apache-2.0
"""Results of a training run: one record per epoch, one per worker, and the totals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from offramp.switchgnn.stats import SwitchTotals
from offramp.workers.epochs import RunResult, ScoredEpoch
from offramp.workers.traffic import Traffic


@dataclass(frozen=True, kw_only=True)
class Epoch(ScoredEpoch):
    """One epoch; the scores are those of its forward pass, the times those of its slowest worker.

    ``communication_seconds`` is the time of the exchanges of boundary features, ``reduction_seconds`` that of summing
    weight gradients over workers, ``processor_seconds`` what all workers' processors took. Messages between workers had
    at least ``bits`` per value, and if ``stale`` those of the previous epoch were used. Under a memory budget no worker
    had more than ``peak_bytes`` beyond what it had before, by the count of what enforces the limit, ``limited_by``.
    """

    communication_seconds: float
    reduction_seconds: float
    processor_seconds: float = 0.0
    bits: int = 32
    stale: bool = False
    peak_bytes: int = 0
    limited_by: str = ""

    def progress(self) -> list[str]:
        """The times, after the other progress."""
        spent = {"comm": self.communication_seconds, "reduce": self.reduction_seconds}
        memory = [f"memory {self.peak_bytes / 1e6:.0f} MB"] if self.limited_by else []
        return [*super().progress(), *(f"{name} {seconds:.3f} s" for name, seconds in spent.items()), *memory]


@dataclass
class TrainingResult(RunResult[Epoch]):
    """A finished run of full-graph training.

    Attributes:
        workers: traffic of each worker's link.
        switch: counts of the switch.
    """

    workers: list[Traffic] = field(default_factory=list)
    switch: SwitchTotals = field(default_factory=SwitchTotals)

    @property
    def test_accuracy(self) -> float:
        """Fraction of test vertices classified correctly in the last epoch."""
        return self.epochs[-1].test_accuracy

    @property
    def traffic(self) -> Traffic:
        """Traffic summed over all workers' links."""
        return sum(self.workers, Traffic())

    def scores(self) -> dict[str, Any]:
        """The last epoch's accuracy on test vertices."""
        return {"test_accuracy": self.test_accuracy}

    def totals(self) -> dict[str, Any]:
        """Traffic of all workers, and counts of the switch."""
        return {**_plain(self.traffic), **asdict(self.switch)}

    def parts(self) -> dict[str, Any]:
        """Traffic of each worker's link."""
        return {
            "per_worker": [
                {**_plain(worker), "packets_up": worker.packets_up, "packets_down": worker.packets_down}
                for worker in self.workers
            ]
        }


def _plain(traffic: Traffic) -> dict[str, int]:
    return {
        "bytes_up": traffic.payload_up,
        "bytes_down": traffic.payload_down,
        "wire_bytes_up": traffic.wire_up,
        "wire_bytes_down": traffic.wire_down,
        "packets": traffic.packets_up + traffic.packets_down,
        "lost_frames": traffic.lost,
    }
