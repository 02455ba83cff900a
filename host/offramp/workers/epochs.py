# SPDX-License-Identifier: Apache-2.0
"""Common parts of training runs: the loop over epochs, a rank's result, and the form of the run's result."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.workers.group import Group

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """Record of one epoch.

    Attributes:
        epoch: its number, from 1.
        loss: mean loss over the training vertices.
        seconds: duration on the slowest worker.
    """

    epoch: int
    loss: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Field names and values for JSON."""
        return asdict(self)

    def progress(self) -> list[str]:
        """Parts of a line of progress besides number and loss."""
        return [f"{self.seconds:.3f} s"]


@dataclass(frozen=True, kw_only=True)
class ScoredEpoch(EpochRecord):
    """One epoch of a classifier, with the fraction of vertices that it classifies correctly."""

    train_accuracy: float
    val_accuracy: float
    test_accuracy: float

    def progress(self) -> list[str]:
        """The accuracy on validation vertices, followed by the rest."""
        return [f"val {100 * self.val_accuracy:.1f} %", *super().progress()]


E = TypeVar("E", bound=EpochRecord)


class EpochLoop(ABC, Generic[E]):
    """One rank's training, epoch by epoch, in step with the others.

    Attributes:
        done: number of epochs trained by an earlier run.
        epochs: the last epoch's number.
    """

    done: int = 0
    epochs: int

    @abstractmethod
    def epoch(self, number: int) -> E:
        """Train one epoch.

        Raises:
            OfframpError: a worker or the switch is gone, or the loss is not finite.
        """

    def keep(self, number: int) -> None:
        """Save an epoch's state if required, before it is reported."""

    def run(self, on_epoch: Callable[[E], None] = lambda _: None) -> list[E]:
        """Train; ``on_epoch`` is called after each epoch.

        Raises:
            OfframpError: as :meth:`epoch`.
        """
        records = []
        for number in range(self.done + 1, self.epochs + 1):
            records.append(self.epoch(number))
            self.keep(number)
            on_epoch(records[-1])
        return records


@dataclass(frozen=True)
class RankResult(Generic[E, R]):
    """The result that rank 0 returns.

    Attributes:
        epochs: one record per epoch.
        ranks: records of each rank, in rank order.
        seconds: time from the start of the first epoch to the end of the last.
    """

    epochs: list[E]
    ranks: list[R]
    seconds: float


def run_epochs(
    loop: EpochLoop[E], group: Group, report: Callable[[Any], None], gathered: Callable[[], R], kind: Any
) -> RankResult[E, R] | None:
    """One rank's whole training; rank 0 reports every epoch and returns the result.

    Args:
        loop: training loop of this rank.
        group: all ranks.
        report: called after each epoch at rank 0.
        gathered: returns what rank 0 gets from this rank after the training.
        kind: its type.
    """
    start = time.perf_counter()
    epochs = loop.run(report if group.rank == 0 else lambda _: None)
    seconds = time.perf_counter() - start
    ranks = group.gather(gathered(), kind)
    return None if ranks is None else RankResult(epochs, ranks, seconds)


def require_finite(epoch: int, loss: float) -> None:
    """Refuse to continue with an invalid loss.

    Raises:
        OfframpError: the loss of the epoch is not finite.
    """
    if not math.isfinite(loss):
        raise OfframpError(f"epoch {epoch}: the loss is {loss:g}; expected a smaller lr")


@dataclass
class RunResult(ABC, Generic[E]):
    """Result of a finished run.

    Attributes:
        settings: everything that produced it, with the size of the graph and of what was derived from it.
        epochs: one record per epoch.
        seconds: duration of the training, from the first epoch's start to the end.
    """

    settings: dict[str, Any]
    epochs: list[E]
    seconds: float

    @abstractmethod
    def scores(self) -> dict[str, Any]:
        """Quality of the model, for JSON."""

    @abstractmethod
    def totals(self) -> dict[str, Any]:
        """Cost of the run, for JSON."""

    def parts(self) -> dict[str, Any]:
        """Records of workers, stages or steps, for JSON."""
        return {}

    def as_dict(self) -> dict[str, Any]:
        """The result for JSON: scores and totals, then the settings, the parts and one record per epoch."""
        return {
            **self.scores(),
            "loss": self.epochs[-1].loss,
            "epochs": len(self.epochs),
            **self.totals(),
            "seconds": self.seconds,
            "settings": self.settings,
            **self.parts(),
            "per_epoch": [epoch.as_dict() for epoch in self.epochs],
        }
