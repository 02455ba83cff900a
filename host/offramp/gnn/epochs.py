# SPDX-License-Identifier: Apache-2.0
"""What a training run has to say of its epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offramp_base.wire.objects import sendable


@sendable
@dataclass(frozen=True)
class GnnEpoch:
    """One step over the whole graph.

    Attributes:
        epoch: from 1.
        loss: the mean over training vertices.
        train, val, test: the metric.
        lr: learning rate.
        seconds: duration of the step and its evaluation.
    """

    epoch: int
    loss: float
    train: float
    val: float
    test: float
    lr: float
    seconds: float

    def numbers(self, metric: str) -> dict[str, float]:
        """The values for loggers, by name; the three scores form a group of curves."""
        scores = {f"{metric}/{name}": getattr(self, name) for name in ("train", "val", "test")}
        return {"loss": self.loss, **scores, "lr": self.lr, "seconds": self.seconds}


@sendable
@dataclass(frozen=True)
class GnnResult:
    """A training run.

    Attributes:
        epochs: all of them.
        best: the epoch whose weights were kept.
        parameters: parameters of the model.
    """

    epochs: Sequence[GnnEpoch]
    best: int
    parameters: int
