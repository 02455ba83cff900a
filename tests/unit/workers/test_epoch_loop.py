# SPDX-License-Identifier: Apache-2.0
"""Epochs in their order: trained, kept, reported; and the result's last loss."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offramp.workers.epochs import EpochLoop, RunResult, require_finite
from offramp_base.errors import OfframpError


class Loop(EpochLoop[Any]):
    def __init__(self, done: int, epochs: int) -> None:
        self.done, self.epochs = done, epochs
        self.log: list[tuple[str, int]] = []

    def epoch(self, number: int) -> Any:
        self.log.append(("trained", number))
        return number

    def keep(self, number: int) -> None:
        self.log.append(("kept", number))


@pytest.mark.parametrize(("done", "epochs"), [(0, 3), (2, 5), (4, 4)])
def test_each_epoch_is_kept_before_it_is_reported(done: int, epochs: int) -> None:
    loop = Loop(done, epochs)
    numbers = [*range(done + 1, epochs + 1)]
    assert loop.run(lambda record: loop.log.append(("reported", record))) == numbers
    assert loop.log == [(what, number) for number in numbers for what in ("trained", "kept", "reported")]


class Result(RunResult[Any]):
    def scores(self) -> dict[str, Any]:
        return {"score": 0.5}

    def totals(self) -> dict[str, Any]:
        return {"bytes": 9}


def test_the_loss_of_a_run_is_its_last() -> None:
    epochs = [SimpleNamespace(loss=loss, as_dict=lambda loss=loss: {"loss": loss}) for loss in (3.0, 2.0, 1.0)]
    assert Result({"seed": 1}, epochs, 7.5).as_dict() == {
        "score": 0.5,
        "loss": 1.0,
        "epochs": 3,
        "bytes": 9,
        "seconds": 7.5,
        "settings": {"seed": 1},
        "per_epoch": [{"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0}],
    }


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_none_ends_the_run(loss: float) -> None:
    with pytest.raises(OfframpError, match=f"epoch 3: the loss is {loss:g}; expected a smaller lr"):
        require_finite(3, loss)
    require_finite(3, 1e308)
