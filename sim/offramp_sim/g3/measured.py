# SPDX-License-Identifier: Apache-2.0
"""Training runs with a process for each worker behind emulated network cards, timed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from offramp.train.run import train

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.train.results import Epoch
    from offramp.train.settings import TrainSettings

WARM_UP: Final = 2
"""Epochs at the start that are not timed."""


@dataclass(frozen=True)
class MeasuredRun:
    """Measured times and traffic of a run.

    Attributes:
        epochs: timed epochs, after the warm-up.
        payload_bytes: that all workers sent, the warm-up included.
        ran: epochs, the warm-up included.
        loss, test_accuracy: those of the last epoch.
    """

    epochs: list[Epoch]
    payload_bytes: int
    ran: int
    loss: float
    test_accuracy: float

    @property
    def epoch_bytes(self) -> float:
        """Mean bytes that all workers sent in an epoch."""
        return self.payload_bytes / self.ran

    @property
    def epoch_s(self) -> float:
        """Median of an epoch of the slowest worker."""
        return median(epoch.seconds for epoch in self.epochs)

    @property
    def waiting_s(self) -> float:
        """Median time that the slowest worker waited for messages."""
        return median(epoch.communication_seconds for epoch in self.epochs)


def run_timed(graph: Graph, settings: TrainSettings) -> MeasuredRun:
    """Train on this machine's cores, which the workers share.

    Raises:
        OfframpError: the settings do not fit the graph, or a worker failed.
    """
    result = train(graph, settings)
    assert result is not None, "not under torchrun"
    last = result.epochs[-1]
    sent = sum(worker.payload_up for worker in result.workers)
    return MeasuredRun(result.epochs[WARM_UP:], sent, len(result.epochs), last.loss, last.test_accuracy)
