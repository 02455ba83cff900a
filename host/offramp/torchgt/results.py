# SPDX-License-Identifier: Apache-2.0
"""What a TorchGT run yields."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.torchgt.parallel import Exchange


@dataclass(frozen=True)
class Epoch:
    """One epoch; scores are those of the weights after it, seconds those of the slowest rank.

    Attributes:
        train_score, val_score, test_score: share that is right, or mean absolute error.
        seconds: of the steps, without the evaluation after them.
        communication_seconds: in all-to-alls; ``reduction_seconds``: waiting for sums of gradients.
        sent_bytes: of all ranks' all-to-alls.
        pairs: attended, in one layer and head, all steps together.
        full_steps: of the ``steps`` with full attention.
        beta: threshold of density; None without reformation.
    """

    epoch: int
    loss: float
    train_score: float
    val_score: float
    test_score: float
    seconds: float
    communication_seconds: float
    reduction_seconds: float
    sent_bytes: int
    pairs: int
    steps: int
    full_steps: int
    beta: float | None


@dataclass
class TorchGtResult:
    """A finished run.

    Attributes:
        settings: everything that produced it, with the size of the task.
        metric: ``accuracy`` or ``mae``.
        epochs: one record for each.
        seconds: of training; ``preparation_seconds``: before it, orders and patterns.
        pattern_bytes: handed to the other ranks before the first step.
        tokens: of each sequence, padding included.
        exchanges: each rank's all-to-alls in the last step.
        weights: at the end.
    """

    settings: dict[str, Any]
    metric: str
    epochs: list[Epoch]
    seconds: float
    preparation_seconds: float
    pattern_bytes: int
    tokens: list[int]
    exchanges: list[list[Exchange]]
    weights: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, without weights."""
        last = self.epochs[-1]
        return {
            "metric": self.metric,
            "test_score": last.test_score,
            "loss": last.loss,
            "epochs": len(self.epochs),
            "seconds": self.seconds,
            "preparation_seconds": self.preparation_seconds,
            "sent_bytes": sum(epoch.sent_bytes for epoch in self.epochs),
            "pattern_bytes": self.pattern_bytes,
            "tokens": self.tokens,
            "settings": self.settings,
            "last_step": [[asdict(exchange) for exchange in rank] for rank in self.exchanges],
            "per_epoch": [asdict(epoch) for epoch in self.epochs],
        }
