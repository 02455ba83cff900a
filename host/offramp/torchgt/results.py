# SPDX-License-Identifier: Apache-2.0
"""Results of a TorchGT run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from offramp.workers.epochs import EpochRecord, RunResult

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.torchgt.parallel import RankAllToAll


@dataclass(frozen=True, kw_only=True)
class TorchGtEpoch(EpochRecord):
    """One epoch; scores are those of the weights after it, times those of the slowest rank.

    Attributes:
        train_score, val_score, test_score: fraction of correct predictions, or mean absolute error.
        seconds: duration of the steps, without the evaluation after them.
        communication_seconds: time in all-to-alls; ``reduction_seconds``: time waiting for sums of gradients.
        sent_bytes: bytes of all ranks' all-to-alls.
        pairs: attended pairs in one layer and head, over all steps.
        full_steps: number of the ``steps`` with full attention.
        beta: threshold of the density; None without reformation.
    """

    train_score: float
    val_score: float
    test_score: float
    communication_seconds: float
    reduction_seconds: float
    sent_bytes: int
    pairs: int
    steps: int
    full_steps: int
    beta: float | None

    def progress(self) -> list[str]:
        """The score, the times, and the kind of attention."""
        spent = {"communication": self.communication_seconds, "reduction": self.reduction_seconds}
        return [
            f"validation {self.val_score:.4f}",
            *super().progress(),
            *(f"{name} {seconds:.3f} s" for name, seconds in spent.items()),
            *([] if self.beta is None else [f"\N{GREEK SMALL LETTER BETA} {self.beta:.2g}"]),
            *([f"full in {self.full_steps} of {self.steps}"] if self.full_steps else []),
        ]


@dataclass(kw_only=True)
class TorchGtResult(RunResult[TorchGtEpoch]):
    """A finished TorchGT run.

    Attributes:
        metric: ``accuracy`` or ``mae``.
        preparation_seconds: time for orders and patterns before the training.
        pattern_bytes: bytes sent to the other ranks before the first step.
        tokens: tokens of each sequence, including padding.
        exchanges: each rank's all-to-alls in the last step.
        weights: weights at the end.
    """

    metric: str
    preparation_seconds: float
    pattern_bytes: int
    tokens: list[int]
    exchanges: list[list[RankAllToAll]]
    weights: dict[str, npt.NDArray[np.float64]]

    def scores(self) -> dict[str, Any]:
        """The last epoch's score on the test part."""
        return {"metric": self.metric, "test_score": self.epochs[-1].test_score}

    def totals(self) -> dict[str, Any]:
        """Bytes, tokens and the preparation time."""
        return {
            "preparation_seconds": self.preparation_seconds,
            "sent_bytes": sum(epoch.sent_bytes for epoch in self.epochs),
            "pattern_bytes": self.pattern_bytes,
            "tokens": self.tokens,
        }

    def parts(self) -> dict[str, Any]:
        """All-to-alls of each rank in the last step."""
        return {"last_step": [[asdict(exchange) for exchange in rank] for rank in self.exchanges]}
